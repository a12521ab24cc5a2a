"""The device functions of a file that no kernel of the project calls: each is judged as a kernel of its own."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from smem_lsp.config import Config
from smem_lsp.engine.contexts import Units, compiled_as, read_alone, shown_like
from smem_lsp.engine.readings import KernelConfiguration
from smem_lsp.source import FileReader, SourceText, checkpoint
from smem_lsp.source.budget import look, used_up
from smem_lsp.source.regex import regex
from smem_lsp.syntax.parse import Function
from smem_lsp.unit.device_functions import names_reached, uncalled
from smem_lsp.unit.unit_facts import UnitFacts, kernel_key

_MOST_READ = 4  # main files of a header without kernels that are read for calls of its functions
_MOST_SEARCHED = 64  # that are searched for their names
_WORD = regex(r"[A-Za-z_]\w*")


def readings_of_functions(
    source: SourceText, units: Units, reader: FileReader | None, config: Config, arch: str | None
) -> list[tuple[KernelConfiguration, ...]]:
    """In order. None where files that may call them are not read, and no function that units read differently."""
    if units.left_out or units.more or units.named:
        return []
    first, *others = (_uncalled(around) for around in units.read)
    alike = [each for start, each in first.items() if all(_same(other.get(start), each) for other in others)]
    if not alike:
        return []
    if reader is not None and units.read[0].unit.main == source.path:
        names = {each.function.name for each in alike}
        called = _called_through(names, source, reader, config, arch)
        alike = [each for each in alike if each.function.name not in called]
    return [(each,) for each in alike]


def _uncalled(around: UnitFacts) -> Mapping[int, KernelConfiguration]:
    """By where the function begins."""
    return {each.start: _reading(around, each) for each in uncalled(around)}


def _reading(around: UnitFacts, function: Function) -> KernelConfiguration:
    return KernelConfiguration(around, function, None, kernel_key(around, function, None))


def _same(one: KernelConfiguration | None, other: KernelConfiguration) -> bool:
    return one is not None and one.key.text == other.key.text


def _called_through(
    names: Collection[str], source: SourceText, reader: FileReader, config: Config, arch: str | None
) -> Collection[str]:
    """Those of the ``names`` of functions that files which include ``source`` may call."""
    mains = [main for main in reader.includers(source.path) if reader.real(main) != reader.real(source.path)]
    if not mains:
        return ()
    if len(mains) > _MOST_SEARCHED:
        return names
    left = set(names)
    texts: dict[str, str] = {}
    for main in (shown_like(each, source.path) for each in mains):
        look()
        texts[main] = reader.read(main) or ""
        left.difference_update(_WORD.findall(texts[main]))
    if not left or len(mains) > _MOST_READ:
        return names
    for main, text in texts.items():
        checkpoint()
        if used_up():
            return names
        around = read_alone(SourceText(text, main), reader, compiled_as(main, reader, config), arch)
        left -= names_reached(around, [each for each in around.unit.all_functions if each.is_kernel])
    return set(names) - left
