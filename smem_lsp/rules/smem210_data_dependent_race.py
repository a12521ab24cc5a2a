"""Two threads touch the same shared bytes with nothing between them if loaded values, or parameters, are so.

## Why

A scatter through an index array, a histogram without atomics, a slot that a loaded key names: whether two threads meet
there depends on data that no text shows. The author may know that keys are unique or that an index array is a
permutation; then it is no race, and nothing in the kernel says so. The verdict on such a kernel is "undecided: data
decide". The same goes for parameters that may have such values and need not, where no condition can be solved for that
holds for all large ones.

So does what a function does whose body is not in sight: most hold no barrier, and nothing in the kernel says so. Where
only such a call stands between two accesses that meet, the finding names it. So does, last, who calls a function of a
library: where its last reads of an array of its own meet the first writes of its next call, its callers need a barrier
between the two.

This rule is off by default: `--select SMEM210`, or a severity for it in the settings, switches it on.

## Example

```cuda
static __global__ void __launch_bounds__(256) k(const int* key, const float* in, float* out) {
  __shared__ float s[256];
  int tid = threadIdx.x;
  s[tid] = 0.0f;
  __syncthreads();
  s[key[tid] & 255] = in[tid];
  __syncthreads();
  out[tid] = s[tid];
}
void host(const int* key, const float* in, float* out) {
  k<<<1, 256>>>(key, in, out);
}
```

## Use instead

```cuda
static __global__ void __launch_bounds__(256) k(const int* key, const int* in, int* out) {
  __shared__ int s[256];
  int tid = threadIdx.x;
  s[tid] = 0;
  __syncthreads();
  atomicMax(&s[key[tid] & 255], in[tid]);
  __syncthreads();
  out[tid] = s[tid];
}
void host(const int* key, const int* in, int* out) {
  k<<<1, 256>>>(key, in, out);
}
```

## Fix

No quick fix. Use an atomic operation; or, where the data cannot collide, say so beside the access: `// smem:
ignore[SMEM210] keys are unique`.

## Limits

One finding for each access that loaded values decide, at the first access that it may meet; the others are related
places. Where parameters decide, the message names ordinary values of them: a pitch below the width of a row, and
offsets that put two arrays in one place, are left out. Nothing is said of a pair that SMEM201, SMEM202 or SMEM205
tells, nor of one whose address or guard is not known for another reason: the verdict names those. Values that are
loaded from one address count as one value as long as nobody writes it in between; what a loop carries from load to load
may be any number; a name in capitals that nothing in sight declares is a constant where it is compared. Lanes of one
warp are told only where threads of different warps cannot meet. A call counts as a barrier where its name, or that of
what it is handed, speaks of waiting, of a group, or of what a block does together (`sync`, `mutex`, `BlockReduce`), as
do macros that are not in sight; where a single lane of a warp runs it, it orders nothing. Two calls in a row are asked
about only of functions that no kernel in sight calls, and of static arrays that they declare, for accesses behind the
last barrier and in front of the first one whichever way the function goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence

from smem_lsp.analysis.decision.model import Decision, PairVerdict
from smem_lsp.analysis.values.block_shape import BlockAssumption, BlockShape
from smem_lsp.facts.data_dependence import Decides
from smem_lsp.ir.nodes import Access, AccessKind, walk
from smem_lsp.rules import ground, racing
from smem_lsp.rules.decision_words import when
from smem_lsp.rules.elements import named
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.model import DataValue, Finding, KernelFinding, Severity, kernel_rule
from smem_lsp.rules.places import DOES, line_of, related, where
from smem_lsp.rules.words import Words, said
from smem_lsp.source import checkpoint, listed

_MOST_NAMED = 2  # calls in one message
_PLAIN = {AccessKind.READ: "read", AccessKind.WRITE: "write", AccessKind.UPDATE: "update"}


@kernel_rule("SMEM210", "data-dependent-race", Severity.INFO, portable=True, optional=True, of_functions=True)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if not racing.followed(facts):
        return
    decides = facts.analysis.data_dependences
    for decisions in _by_cause(facts, decides):
        checkpoint()
        yield _finding(facts, decisions, _message, _ground(facts, decisions))
    for decisions in _by_buffer(facts.analysis.called_again):
        yield _finding(facts, decisions, _again, BlockAssumption())


def _by_cause(facts: KernelFacts, decides: Mapping[int, Decides]) -> Iterator[list[Decision]]:
    """The pairs that data decide and no other rule tells, those together that the same accesses are the cause of."""
    told = {frozenset(race.pair) for race in facts.hazards.races}
    found = [each for verdict in facts.analysis.verdicts for each in verdict.decisions]
    handed = {each.index for each in facts.kernel.buffers if each.handed}  # whose memory it is, is not known
    found = [each for each in found if _rests_on_values(each) and each.first.buffer not in handed]
    open_ = [each for each in found if frozenset(_pair(each)) not in told]
    causes: dict[object, list[Decision]] = {}
    for each in sorted(open_, key=lambda decision: (decision.lanes, _pair(decision))):
        if each.calls:
            causes.setdefault((each.first.buffer, each.calls), []).append(each)
            continue
        accesses = (each.first, each.second)
        deciding = [access for access in accesses if access.point in decides] or accesses
        statements = frozenset((access.line, access.span) for access in deciding)
        key = each.first.buffer, statements, each.answer is PairVerdict.SIZES
        causes.setdefault(key, []).append(each)
    yield from causes.values()


def _by_buffer(decisions: Sequence[Decision]) -> Iterator[list[Decision]]:
    """In the next call, all that meet in one array have one cause."""
    for buffer in dict.fromkeys(each.first.buffer for each in decisions):
        yield [each for each in decisions if each.first.buffer == buffer]


def _rests_on_values(decision: Decision) -> bool:
    """Do data decide, be it data of no special kind that make a race which no block is named for, or parameters that
    have ordinary values, or a call that is presumed to order nothing?"""
    if decision.answer is PairVerdict.SIZES:
        return decision.witness is not None
    return decision.answer in (PairVerdict.DATA, PairVerdict.LIKELY, PairVerdict.PRESUMED)


def _pair(decision: Decision) -> tuple[int, int]:
    return decision.first.point, decision.second.point


def _finding(
    facts: KernelFacts,
    decisions: Sequence[Decision],
    message: Callable[[KernelFacts, Decision, Access, Access], Words],
    of: BlockAssumption,
) -> KernelFinding:
    decision, places = decisions[0], _present(facts, decisions)
    first, second = (places[point] for point in _pair(decision))
    others = [places[point] for each in decisions for point in _pair(each)]
    return Finding(
        "SMEM210",
        message(facts, decision, first, second) + ground.condition(facts.kernel, of),
        where(facts, second),
        Severity.INFO,
        kernel=facts.kernel.name,
        buffers=tuple(dict.fromkeys(facts.kernel.buffers[each.buffer].name for each in others)),
        verdict="likely",
        related=related(facts, where(facts, second), [first, *others]),
        data=_numbers(decision),
    )


def _present(facts: KernelFacts, decisions: Sequence[Decision]) -> dict[int, Access]:
    """The accesses where their kernel stands now."""
    points = {point for each in decisions for point in _pair(each)}
    nodes = (node for node in walk(facts.kernel.body) if isinstance(node, Access))
    return {node.point: node for node in nodes if node.point in points}


def _again(facts: KernelFacts, decision: Decision, first: Access, second: Access) -> Words:
    """Of two calls in a row."""
    name = named(facts, [facts.kernel.buffers[first.buffer]])
    or_calls = f", or {_calls(decision.calls)} one" if decision.calls else ""
    return said(
        *(f"one thread may {_PLAIN[first.kind]} the element of ", name, " (", line_of(first)),
        *(
            f") that another one {DOES[second.kind]} in the next call of `{facts.kernel.name}` (",
            line_of(second),
        ),
        f") with nothing between them unless its caller has a barrier{or_calls}",
    )


def _message(facts: KernelFacts, decision: Decision, first: Access, second: Access) -> Words:
    decides = facts.analysis.data_dependences
    name = named(facts, [facts.kernel.buffers[first.buffer]])
    who, one = ("lanes of one warp", "one lane of a warp") if decision.lanes else ("threads", "one thread")
    does = _PLAIN[first.kind], DOES[second.kind]
    if first.point == second.point:
        words = said(f"two {who} may {does[0]} the same element of ", name, " (", line_of(first), ")")
    else:
        again = " in a later iteration" if decision.back else ""
        words = said(
            *(f"{one} may {does[0]} the element of ", name, " (", line_of(first)),
            *(
                f") that another one {does[1]}{again} (",
                line_of(second),
                ") with nothing between them",
            ),
        )
    if decision.calls:
        under = f", {when(decision.condition)}" if decision.condition is not None else ""
        return words + f" unless {_calls(decision.calls)} a barrier{under}"
    if decision.answer is PairVerdict.SIZES and decision.witness is not None:
        values = [
            f"{name} = {number}" for name, number in sorted(decision.witness.sizes.items()) if "." not in name
        ]
        condition = decision.condition
        solved = f"{when(condition)}, " if condition is not None and condition.is_solved else ""
        return words + f": {solved}for {listed(values)}, say"
    kinds = {decides[access.point] for access in (first, second) if access.point in decides}
    if not kinds:  # several threads store one value
        return words + ": it matters if another value was there before"
    guard = kinds == {Decides.GUARD}
    return words + (
        ": loaded values decide " + ("whether they come there" if guard else "which elements they touch")
    )


def _calls(names: Sequence[str]) -> str:
    """``a() holds``, ``a(), b() or one of 3 other calls holds``."""
    if len(names) > _MOST_NAMED:
        return f"{', '.join(f'`{name}()`' for name in names[:_MOST_NAMED])} or another of {len(names)} calls holds"
    return " or ".join(f"`{name}()`" for name in names) + " holds"


def _ground(facts: KernelFacts, decisions: Sequence[Decision]) -> BlockAssumption:
    """The named blocks under which data decide."""
    wanted = set(map(_pair, decisions))
    verdicts = facts.analysis.verdicts
    named: list[BlockShape] = [
        shape
        for verdict in verdicts
        for shape in verdict.blocks
        if any(_rests_on_values(each) and _pair(each) in wanted for each in verdict.decisions)
    ]
    return BlockAssumption(tuple(named), len(named) == len(verdicts))


def _numbers(decision: Decision) -> dict[str, DataValue]:
    """The witness, for tools: which data it needs is not said."""
    witness = decision.witness
    if witness is None:
        return {}
    return {
        "threads": " x ".join(map(str, witness.dims)),
        "thread_first": witness.threads[0],
        "thread_second": witness.threads[1],
        **racing.sizes(witness),
    }
