"""What the comments of a file state of its kernels."""

from __future__ import annotations

import math
from collections.abc import Mapping

from smem_lsp.ir.author_facts import NOTHING_STATED, Annotations
from smem_lsp.rules.suppressions import Suppressions, assumed_dims
from smem_lsp.syntax.parse import Function
from smem_lsp.targets.every import MAX_BLOCK, MAX_THREADS
from smem_lsp.unit.author_expressions import stated_value, stated_words
from smem_lsp.unit.instances import InstanceArguments
from smem_lsp.unit.kernel_asserts import asserted_block
from smem_lsp.unit.unit_facts import UnitFacts


def stated_of(
    function: Function, suppressions: Suppressions, around: UnitFacts, binding: InstanceArguments | None
) -> Annotations:
    """Everything about one instance of a kernel; of several facts of one kind about one thing the last holds."""
    facts = suppressions.about(function.span, around.unit.source)
    asserted, most = asserted_block(function, around, binding)
    if not (facts or asserted or most):
        return NOTHING_STATED
    dims: dict[str, int] = {}
    dynamic = None
    for fact in facts:
        if fact.name == "assume":
            dims |= assumed_dims(fact.text)
        elif fact.name == "dynamic_bytes":
            value = stated_value(fact.text, around, function, binding)
            dynamic = fact.text, None if value is None or value < 0 else value
    uniform = frozenset(stated_words(fact.text, around.unit) for fact in facts if fact.name == "uniform")
    if not _can_run(dims):
        dims = {}
    if not _can_run(dict(asserted)):
        asserted = ()
    return Annotations(tuple(sorted(dims.items())), uniform, dynamic, asserted, most)


def _can_run(dims: Mapping[str, int]) -> bool:
    """Has a device blocks of so many threads by axis? What is stated of others says nothing, and is too much to try."""
    fits = all(dims.get(axis, 1) <= most for axis, most in zip("xyz", MAX_BLOCK))
    return fits and math.prod(dims.values()) <= MAX_THREADS
