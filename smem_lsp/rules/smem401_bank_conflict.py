"""Lanes of a warp ask for different words of one bank: the access takes several times the wavefronts that it needs.

## Why

Shared memory has 32 banks of 4 bytes, and a bank delivers one word in a wavefront. A column of a tile whose rows are a
multiple of 32 words long lies in one bank: 32 lanes that read it wait for 32 wavefronts where one would do. Another
length of the rows, one column of padding, spreads the column over all banks.

## Example

```cuda
__global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {
  __shared__ float tile[32][32];
  int t = threadIdx.x;
  if (t < 32) for (int i = 0; i < 32; i++) tile[i][t] = in[i * 32 + t];
  __syncthreads();
  for (int i = 0; i < n; i++) out[i * 256 + t] = tile[t % 32][i * 7 % 32];
}
```

## Use instead

```cuda
__global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {
  __shared__ float tile[32][32 + 1];
  int t = threadIdx.x;
  if (t < 32) for (int i = 0; i < 32; i++) tile[i][t] = in[i * 32 + t];
  __syncthreads();
  for (int i = 0; i < n; i++) out[i * 256 + t] = tile[t % 32][i * 7 % 32];
}
```

## Fix

The quick fix makes the rows longer by the padding that was found, in the declaration alone. It is safe when every
launch is in sight and no `#if` hides code of the kernel; else its title names what is assumed. `--fix` applies it when
`--select SMEM401` asks for that. A swizzle of the columns is shown and not written.

## Limits

Accesses to one buffer with the same numbers are one finding, at the first of them. From four times the wavefronts on
that the lanes of the access need: a warning in a loop, else a hint. The count is of the access as written; accesses
that `nvcc` may fuse to a vector with their neighbours have to have the excess in that form too. Silent where the
index, the pitch or a guard depends on what is not known, where lanes of 8- and 16-byte accesses coincide in pairs,
and for shapes of `ldmatrix` other than `m8n8`. Which lane moves what in `load_matrix_sync` and `store_matrix_sync` of
`wmma` is not documented: of those a lower bound is told, by the words that each bank has to deliver, where the
fragment's type and the leading dimension are known. Without a block size only kernels that use `threadIdx.x` alone
are looked at. Padding is proposed only when no other access to the buffer gets worse by it; it moves every row, so
whatever counts with the pitch has to follow: a leading dimension, a pointer, code elsewhere. As an edit it is offered
where nothing does: every use of the buffer has all its subscripts and provably stays in its row. No resident block
may be lost and no conflict of the buffer be left by it; else the title says why not. A swizzle of the columns is
shown and not written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import gcd

from smem_lsp.analysis.banks.conflicts import BankConflict
from smem_lsp.analysis.banks.padding_and_swizzle import LayoutChange
from smem_lsp.analysis.values.block_shape import BlockAssumption
from smem_lsp.ir.nodes import Access, Buffer, walk
from smem_lsp.ir.places import At
from smem_lsp.rules.elements import named, shares_its_name
from smem_lsp.rules.facts import KernelFacts
from smem_lsp.rules.ground import block, condition
from smem_lsp.rules.model import Finding, KernelFinding, Note, PadRows, Severity, ShowSwizzle, kernel_rule
from smem_lsp.rules.padding import block_lost, wider
from smem_lsp.rules.words import Words, said
from smem_lsp.targets.every import BANK_WIDTH, BANKS, WARP_SIZE

_LONGEST = 60  # characters of an expression that a message repeats


@kernel_rule("SMEM401", "bank-conflict", Severity.WARNING)
def RULE(facts: KernelFacts) -> Iterator[KernelFinding]:
    if not facts.banks:
        return
    accesses = {node.point: node for node in walk(facts.kernel.body) if isinstance(node, Access)}
    worst: dict[At, BankConflict] = {}  # of an expression in a helper that is called more than once
    for found in facts.banks:
        span = accesses[found.point].span
        if span is not None and (span not in worst or _weight(found) > _weight(worst[span])):
            worst[span] = found
    alike: dict[tuple[object, ...], list[tuple[At, BankConflict]]] = {}
    for span, found in worst.items():  # of one pattern, as unrolled lines are
        key = found.buffer, found.looped, _count(found), _why(found), found.layout_changes
        alike.setdefault(key, []).append((span, found))
    for (span, found), *others in alike.values():
        yield _finding(facts, span, found, [each for each, _ in others])


def _weight(found: BankConflict) -> tuple[bool, float]:
    return found.looped, found.total_wavefronts / found.total_least


def _finding(facts: KernelFacts, span: At, found: BankConflict, others: Sequence[At]) -> KernelFinding:
    """``others``: accesses with the same numbers."""
    kernel = facts.kernel
    buffer = kernel.buffers[found.buffer]
    name = _name(facts, span, buffer)
    if others:
        name += f" and {len(others)} more access{'es' if len(others) > 1 else ''}, each"
    message = name + f": {_count(found)} ({_why(found)})"
    cures = _cures(facts, buffer, found)
    if cures:
        message += f"; {'; '.join(words for _, words in cures)}"
    if facts.shape is not None:
        message += said(", with ", block(kernel, facts.shape))
    elif not found.at_least:  # lanes in a row
        message += condition(kernel, BlockAssumption(above=WARP_SIZE - 1))
    return Finding(
        "SMEM401",
        message,
        span,
        Severity.WARNING if found.looped else Severity.HINT,
        kernel=kernel.name,
        buffers=(buffer.name,),
        related=tuple(Note(each, "the same here") for each in others),
        data={
            "wavefronts": found.wavefronts,
            "minimum": found.least,
            "stride_words": _words(found),
            "in_loop": found.looped,
            "instructions": found.instructions,
            "total_wavefronts": found.total_wavefronts,
            "total_minimum": found.total_least,
        },
        remedy=_remedy(facts, buffer, found, [cure for cure, _ in cures]),
    )


def _name(facts: KernelFacts, span: At, buffer: Buffer) -> Words:
    text = facts.text(span)
    whole = named(facts, [buffer])
    if len(text) > _LONGEST or "\n" in text or text.startswith(("asm", "__asm")):
        return said("access to ", whole)
    alone = buffer.name in text and not shares_its_name(facts, buffer)
    return said(f"`{text}`") if alone else said(f"`{text}` in ", whole)


def _count(found: BankConflict) -> str:
    if found.at_least:
        return f"at least {found.wavefronts} wavefronts, its bytes need {found.least}"
    if found.alike:
        return f"{found.wavefronts} wavefronts instead of {found.least}"
    return (
        f"up to {found.wavefronts} wavefronts instead of {found.least}, {found.total_wavefronts:,} instead of "
        f"{found.total_least:,} in all {found.instructions:,} instructions of a block"
    )


def _words(found: BankConflict) -> int | None:
    return found.stride // BANK_WIDTH if found.stride is not None and found.stride % BANK_WIDTH == 0 else None


def _why(found: BankConflict) -> str:
    words = _words(found)
    if not words:
        return f"{found.in_bank} different words in one bank"
    if found.at_least:
        return f"rows are {words} words apart, up to {found.in_bank} of them in one bank"
    banks = BANKS // gcd(words, BANKS)
    where = "all in one bank" if banks == 1 else f"in {banks} of the {BANKS} banks"
    return f"lanes are {abs(words)} words apart, {where}"


def _cures(facts: KernelFacts, buffer: Buffer, found: BankConflict) -> list[tuple[LayoutChange, str]]:
    """The change to make, in words, and behind padding that costs a resident block the one that does not."""
    best = found.layout_changes[0] if found.layout_changes else None
    if best is None:
        return []
    lost = block_lost(facts, buffer, best.pad) if best.pad else None
    words = _in_words(buffer, best)
    if lost is None:
        return [(best, words)]
    swizzle = next((each for each in found.layout_changes if not each.pad), None)
    costly = (best, f"{words}, and costs a block: {lost}")
    return [costly] if swizzle is None else [costly, (swizzle, _in_words(buffer, swizzle))]


def _in_words(buffer: Buffer, change: LayoutChange) -> str:
    few = change.pad <= 1
    effect = (
        f"remove{'s' if few else ''} it"
        if change.wavefronts == change.least
        else f"leave{'s' if few else ''} {change.wavefronts} of {change.before} wavefronts"
    )
    if change.pad:
        width = wider(buffer.written.dims[-1], change.pad)
        dims = "".join(f"[{text}]" for text in buffer.written.dims[:-1])
        columns = "one column" if change.pad == 1 else f"{change.pad} columns"
        pitch = f", leading dimension {width}" if change.leading else ""
        return f"{columns} of padding (`{buffer.name}{dims}[{width}]`{pitch}) {effect}"
    return f"a swizzled column ({_swizzle(buffer, change)}) {effect}"


def _swizzle(buffer: Buffer, change: LayoutChange) -> str:
    row = f"row % {change.rows}" if change.unit == 1 else f"row % {change.rows} * {change.unit}"
    return f"`column ^ {row}` in every index of `{buffer.name}`"


def _remedy(
    facts: KernelFacts, buffer: Buffer, found: BankConflict, changes: list[LayoutChange]
) -> PadRows | ShowSwizzle | None:
    if not changes:
        return None
    first, *others = changes
    if not first.pad:
        return ShowSwizzle(facts.index, _swizzle(buffer, first))
    effect = f"{first.before:,} → {first.wavefronts:,} wavefronts in all"
    if first.wavefronts == first.least:
        effect = f"{found.wavefronts} → {found.least} wavefronts"
    instead = f"a swizzled column ({_swizzle(buffer, others[0])})" if others else ""
    return PadRows(facts.index, buffer.index, first.pad, effect, instead)
