"""The one list of rules. Codes are never reused."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from smem_lsp.rules import (
    smem001_unparsed_code,
    smem002_unused_suppression,
    smem003_unknown_code,
    smem004_analysis_stopped,
    smem101_unused_buffer,
    smem102_never_read,
    smem103_uninitialized_read,
    smem104_oversized_buffer,
    smem201_missing_barrier,
    smem202_reuse_without_barrier,
    smem203_divergent_barrier,
    smem204_redundant_barrier,
    smem205_missing_warp_sync,
    smem206_async_copy_not_waited,
    smem207_named_barrier_count,
    smem208_warp_mask_mismatch,
    smem209_missing_proxy_fence,
    smem210_data_dependent_race,
    smem301_mergeable_buffers,
    smem302_mergeable_with_barrier,
    smem303_padding_waste,
    smem401_bank_conflict,
    smem402_out_of_bounds,
    smem501_occupancy_limited_by_shared,
    smem502_static_limit_exceeded,
    smem503_device_limit_exceeded,
    smem504_launch_size_mismatch,
    smem505_launch_bounds_mismatch,
    smem506_launch_bounds_unreachable,
    smem507_cluster_launch,
    smem601_stream_leak,
    smem602_managed_access_race,
    smem603_async_free_order,
    smem604_unchecked_launch,
)
from smem_lsp.rules.model import Rule

_ALL = (
    smem001_unparsed_code.RULE,
    smem002_unused_suppression.RULE,
    smem003_unknown_code.RULE,
    smem004_analysis_stopped.RULE,
    smem101_unused_buffer.RULE,
    smem102_never_read.RULE,
    smem103_uninitialized_read.RULE,
    smem104_oversized_buffer.RULE,
    smem201_missing_barrier.RULE,
    smem202_reuse_without_barrier.RULE,
    smem203_divergent_barrier.RULE,
    smem204_redundant_barrier.RULE,
    smem205_missing_warp_sync.RULE,
    smem206_async_copy_not_waited.RULE,
    smem207_named_barrier_count.RULE,
    smem208_warp_mask_mismatch.RULE,
    smem209_missing_proxy_fence.RULE,
    smem210_data_dependent_race.RULE,
    smem301_mergeable_buffers.RULE,
    smem302_mergeable_with_barrier.RULE,
    smem303_padding_waste.RULE,
    smem401_bank_conflict.RULE,
    smem402_out_of_bounds.RULE,
    smem501_occupancy_limited_by_shared.RULE,
    smem502_static_limit_exceeded.RULE,
    smem503_device_limit_exceeded.RULE,
    smem504_launch_size_mismatch.RULE,
    smem505_launch_bounds_mismatch.RULE,
    smem506_launch_bounds_unreachable.RULE,
    smem507_cluster_launch.RULE,
    smem601_stream_leak.RULE,
    smem602_managed_access_race.RULE,
    smem603_async_free_order.RULE,
    smem604_unchecked_launch.RULE,
)

RULES: Mapping[str, Rule] = MappingProxyType({rule.code: rule for rule in _ALL})

ALL_NAMES: Mapping[str, str] = MappingProxyType({code: rule.name for code, rule in RULES.items()})


def find_rule(code_or_name: str) -> Rule | None:
    """A rule by its code or its name, in any case."""
    return next((rule for rule in _ALL if rule.is_called(code_or_name)), None)
