"""A search that is asked about some pairs of accesses tells of these what one that looks at everything tells."""

from __future__ import annotations

from unittest.mock import patch

from executor.racy_kernels import Generator
from turns import share

from smem_lsp.analysis.execution.conflicting_accesses import Pair
from smem_lsp.analysis.execution.program import NOTHING_ADDED, Added
from smem_lsp.analysis.hazards.model import Hazards, pairs_of
from smem_lsp.analysis.hazards.races import find_hazards
from smem_lsp.engine import check
from smem_lsp.facts import kernel_analysis


def test_pairs_that_are_asked_about_race_as_in_a_search_for_all() -> None:
    """With the barriers that are tried for random kernels."""
    tried = ended = 0

    def both(
        *arguments: object,
        added: Added = NOTHING_ADDED,
        asked: frozenset[Pair] | None = None,
        **named: object,
    ) -> Hazards:
        nonlocal tried, ended
        found = find_hazards(*arguments, added=added, asked=asked, **named)  # type: ignore[arg-type]
        if asked is not None:
            everything = find_hazards(*arguments, added=added, **named)  # type: ignore[arg-type]
            still = pairs_of(found.races) & asked
            assert still == pairs_of(everything.races) & asked
            if not still:
                assert found.split >= everything.split & added.in_warps
            tried += 1
            ended += not still
        return found

    with patch.object(kernel_analysis, "find_hazards", both):
        for seed in share(range(60), 3, "barriers that are tried"):
            assert check(Generator(seed).kernel().text).kernels
    assert ended > 6
    assert tried > ended
