"""Static buffers that are more than ptxas accepts move to dynamic shared memory, with every launch in the file."""

from __future__ import annotations

from collections import Counter

from smem_lsp.fixes.byte_buffer import merge_as_bytes, size_in_full
from smem_lsp.fixes.cure import CheckedKernel, Cure
from smem_lsp.fixes.declarations import Refused, element_type, indentation, require_editable
from smem_lsp.fixes.launches import configuration
from smem_lsp.fixes.merge import whole
from smem_lsp.fixes.model import Fix, Safety, Title
from smem_lsp.ir.nodes import AddressSpace, LaunchSite
from smem_lsp.rules.model import MoveToDynamic
from smem_lsp.source import SourceText, Span, TextEdit
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import LAUNCH_OPENING
from smem_lsp.syntax.parse import TranslationUnit
from smem_lsp.targets import target

_CHECKED = regex(r"\b(\w+)\s*\(\s*cuda[A-Z]\w*\s*\(")  # CHECK(cudaMalloc(...
_WORD = regex(r"[A-Za-z_]\w*")


def _fix(remedy: MoveToDynamic, at: CheckedKernel) -> Fix:
    """Host code changes with it, so it is never safe."""
    facts, source, unit = at.facts, at.source, at.unit
    kernel = facts.kernel
    if kernel.instance is not None or kernel.template:
        raise Refused("it is a template, and a launch may name any instance of it")
    if kernel.helper_bytes or any(buffer.function != kernel.name for buffer in kernel.buffers):
        raise Refused("functions that it calls have shared arrays of their own")
    if any(buffer.space is AddressSpace.DYNAMIC for buffer in kernel.buffers):
        raise Refused("it uses dynamic shared memory already")
    group = whole(facts, facts.best[0])
    for buffer in group.buffers:
        require_editable(kernel, source, buffer)
        local = kernel.places.names.keys() & set(
            _WORD.findall(f"{element_type(buffer)} {buffer.written.dims}")
        )
        if local:
            raise Refused(
                f"the size of `{buffer.name}` is spelled with `{min(local)}`, which launches cannot name"
            )
    most = min(target(arch).shared_per_block_opt_in for arch in facts.targets)
    total = facts.best[0].plan.bytes
    if total > most:
        raise Refused(f"{total:,} B are more than the {most:,} B that a block can have")
    if not kernel.launches:
        raise Refused("no launch is in this file")
    elsewhere = next((launch for launch in kernel.launches if launch.path is not None), None)
    if elsewhere is not None:
        raise Refused(f"the launch at {elsewhere.place} is in another file")
    taken = set(kernel.identifiers) | set(unit.preprocessed.macros) | set(_WORD.findall(source.text))
    bytes_ = size_in_full(group)
    edits = list(merge_as_bytes(kernel, source, group, taken, dynamic=True).edits)
    for launch in kernel.launches:
        edits += _launched(source, unit, launch, bytes_)
    assert facts.declared is not None
    launches = "1 launch" if len(kernel.launches) == 1 else f"{len(kernel.launches)} launches"
    before, limit = facts.total(facts.declared.bytes), facts.static_limit // 1024
    title = Title(
        f"Move {before:,} B to dynamic shared memory",
        detail=f" (limit {limit} KiB) and raise the limit at {launches}",
    )
    return Fix(title, Safety.UNSAFE, tuple(sorted(edits)), 0)


def _launched(source: SourceText, unit: TranslationUnit, launch: LaunchSite, bytes_: str) -> list[TextEdit]:
    """The opt-in above a launch, and its third argument."""
    arguments = None if launch.extended else configuration(source, launch.span)
    if arguments is None or len(arguments) != 2:
        raise Refused(f"the launch at line {launch.line} is not one with two arguments")
    start = source.line_start(launch.span.start)
    before = source.text[:start].rstrip()
    if source.text[start : launch.span.start].strip() or not before.endswith((";", "{", "}")):
        raise Refused(f"the launch at line {launch.line} is not a statement on a line of its own")
    name = LAUNCH_OPENING.split(source.text[launch.span.start : launch.span.end])[0].strip()
    call = f"cudaFuncSetAttribute({name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {bytes_})"
    check = _check_macro(source, unit)
    line = f"{indentation(source, launch.span.start)}{f'{check}({call})' if check else call};{source.newline}"
    end = arguments[1].end
    return [TextEdit(Span(start, start), line), TextEdit(Span(end, end), f", {bytes_}")]


def _check_macro(source: SourceText, unit: TranslationUnit) -> str | None:
    """The macro that the file puts most of its calls of the runtime into."""
    used = Counter(_CHECKED.findall(source.text))
    return next((name for name, _ in used.most_common() if name in unit.preprocessed.macros), None)


CURE = Cure(
    MoveToDynamic, lambda remedy, kernel: "move the buffers to dynamic shared memory", _fix, compiled=True
)
