"""The bytes that the tool claims to be exact are those that ptxas reports, on real files that compile on their own."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator

import pytest
from alone import Standalone, compile_command, resolved, salted, sources, standalone
from fetch import cache_folder
from ptxas import Entry, compile_entries, demangled, normal, spelled_instances
from toolchain import nvcc, require

from smem_lsp.config import Config
from smem_lsp.engine import KernelReport, check
from smem_lsp.engine.measured import Measured, MeasuredFacts
from smem_lsp.environment import DiskReader
from smem_lsp.environment.compiler import Compiler
from smem_lsp.environment.compiler_process import Stop
from smem_lsp.environment.compiler_store import CompilerStore


def compared(reports: list[KernelReport], compiled: list[Entry]) -> Iterator[tuple[KernelReport, Entry]]:
    """Kernels and instances of templates with what ptxas says of them. Overloads are not told apart."""
    plain = Counter(report.kernel.name for report in reports if report.kernel.instance is None)
    spelled = spelled_instances(compiled)
    for report in reports:
        kernel = report.kernel
        if kernel.instance is not None:
            named = spelled.get(normal(kernel.instance), [])
        elif kernel.template or plain[kernel.name] > 1:
            continue
        else:
            named = [entry for entry in compiled if entry.name == kernel.name and not entry.template]
        if len(named) == 1:
            yield report, named[0]


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("file", standalone(), ids=lambda file: file.path.rpartition("/")[2])
def test_exact_bytes_are_those_of_ptxas(file: Standalone, capfd: pytest.CaptureFixture[str]) -> None:
    compiler = require(nvcc(), "nvcc is not installed")
    corpus, folder = sources(file.corpus)
    flags, folders, defines = resolved(file, folder)
    path = file.place(folder)
    salt = salted(corpus)
    compiled = compile_entries(compiler, path, flags, cache_folder() / "compiled", salt)
    assert not isinstance(compiled, str), compiled
    config = Config(include_dirs=tuple(folders), defines=tuple(defines))
    text = path.read_text(encoding="utf-8", errors="replace")
    report = check(text, path=str(path), config=config, reader=DiskReader())
    pairs = list(compared(list(report.kernels), compiled))
    exact = [(ours, entry) for ours, entry in pairs if ours.exact]
    line = f"\n{path.name}: {len(exact)} of {len(pairs)} kernels claimed exact, {len(compiled)} entries\n"
    with capfd.disabled():
        os.write(2, line.encode())
    assert compiled, "no kernel was compiled"
    wrong = [(e.name, ours.static_bytes, e.shared) for ours, e in exact if ours.static_bytes != e.shared]
    assert wrong == []


@pytest.mark.sampled(one_in=6)
@pytest.mark.parametrize("file", standalone(), ids=lambda file: file.path.rpartition("/")[2])
def test_the_background_says_what_ptxas_says(file: Standalone, capfd: pytest.CaptureFixture[str]) -> None:
    """Registers and static bytes on the way that they take to an editor, against another run of nvcc."""
    compiler = require(nvcc(), "nvcc is not installed")
    corpus, folder = sources(file.corpus)
    flags, folders, defines = resolved(file, folder)
    path = file.place(folder)
    salt = salted(corpus)
    compiled = compile_entries(compiler, path, flags, cache_folder() / "compiled", salt)
    assert not isinstance(compiled, str), compiled
    config = Config(arch=("sm_90",), include_dirs=tuple(folders), defines=tuple(defines))
    text = path.read_text(encoding="utf-8", errors="replace")
    background = Compiler(CompilerStore(cache_folder() / "answers"))
    request = background.request(
        text,
        str(path),
        ["sm_90"],
        setting=str(compiler),
        compile_commands=compile_command(file, path),
        include_dirs=folders,
        defines=defines,
    )
    assert request is not None
    background.compile(request, Stop(), lambda arch: None)
    measured = Measured(background.known(request), request.under)
    assert len(measured.kernels) == len(compiled)
    report = check(text, path=str(path), config=config, reader=DiskReader(), measured=measured)
    facts = {id(kernel.kernel): facts for kernel, facts in zip(report.kernels, report.facts)}
    told = 0
    for ours, entry in compared(list(report.kernels), compiled):
        found = facts[id(ours.kernel)]
        if isinstance(found, MeasuredFacts):
            told += 1
            assert found.static_bytes == found.measured_bytes == entry.shared, entry
            assert {each.registers for each in found.measured} == {entry.registers}, entry
            assert {row.registers for row in found.occupied} <= {entry.registers}, entry
    with capfd.disabled():
        os.write(2, f"\n{path.name}: {told} kernels measured, {len(compiled)} entries\n".encode())
    assert told


@pytest.mark.parametrize(
    ("mangled", "name", "template"),
    [
        ("_Z1kPfi", "k", False),
        ("_ZN2ns1kEPf", "k", False),
        ("_Z1kILi4EfEvPT0_", "k", True),
        ("_ZN2ns1kIfEEvPT_", "k", True),
        ("_ZL6statiki", "statik", False),
        ("_ZN12_GLOBAL__N_14kernEv", "kern", False),
        ("plain_c", "plain_c", False),
    ],
)
def test_names_of_entries(mangled: str, name: str, template: bool) -> None:
    assert demangled(mangled) == (name, template)
