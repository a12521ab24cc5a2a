"""What ptxas says, and what may reach nvcc."""

from __future__ import annotations

import os
import re
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from toolchain import nvcc, require

from smem_lsp.environment.compiler_commands import CompilerCommands
from smem_lsp.environment.compiler_flags import allowed_flags, command_flags, prepare
from smem_lsp.environment.compiler_process import (
    CompileError,
    CompileStopped,
    ProcessLimits,
    Stop,
    fixed_folders,
)
from smem_lsp.environment.nvcc import (
    compile_statistics,
    compile_text,
    demangled_name,
    find_nvcc,
    parse_statistics,
    supported_targets,
)

OUTPUT = """\
ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function '_Z1aPf' for 'sm_90'
ptxas info    : Function properties for _Z1aPf
    8 bytes stack frame, 12 bytes spill stores, 16 bytes spill loads
ptxas info    : Used 34 registers, used 2 barriers, 8192 bytes smem, 380 bytes cmem[0]
ptxas info    : Compiling entry function '_Z1bPf' for 'sm_90'
ptxas info    : Function properties for _Z1bPf
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 6 registers, used 0 barriers, 360 bytes cmem[0]
"""


def test_statistics_of_each_kernel() -> None:
    found = parse_statistics(OUTPUT)
    a, b = found["_Z1aPf"], found["_Z1bPf"]
    assert (a.name, a.arch, a.shared_bytes, a.registers, a.spill_bytes, a.barriers) == (
        "a",
        "sm_90",
        8192,
        34,
        28,
        2,
    )
    assert (b.shared_bytes, b.registers, b.spill_bytes, b.barriers) == (0, 6, 0, 0)


@pytest.mark.parametrize(
    ("mangled", "name"),
    [
        ("_Z4gemmPKfPf", "gemm"),
        ("_ZN2ns5inner4gemmEPf", "ns::inner::gemm"),
        ("_Z4gemmIfLi32EEvPT_", "gemm"),
        ("_ZN1a41_GLOBAL__N__84408b7c_9_kernel_cu_577533661kILi64EEEvPf", "a::k"),
        ("plain_c", "plain_c"),
        ("_Z", "_Z"),
    ],
)
def test_names(mangled: str, name: str) -> None:
    assert demangled_name(mangled) == name


def test_only_harmless_flags_reach_nvcc() -> None:
    flags = ["-DX=1", "-D", "Y", "-Iinc", "-isystem", "sys", "-std=c++17", "--expt-relaxed-constexpr"]
    harmful = [
        "-ccbin",
        "evil",
        "-o",
        "out",
        "@file",
        "-Xcompiler",
        "-fplugin=x",
        "--options-file",
        "f",
        "a.cu",
        "-D",
    ]
    assert allowed_flags([*flags, *harmful]) == tuple(flags)


def test_a_setting_that_leads_nowhere_finds_nothing(tmp_path: Path) -> None:
    assert find_nvcc(str(tmp_path / "nvcc")) is None


SIZED = """\
template <int N> __global__ void k(float* p) {
  __shared__ float s[N];
  s[threadIdx.x] = p[1];
  __syncthreads();
  p[0] = s[3];
}
template __global__ void k<SIZE>(float*);
"""


def test_compiles() -> None:
    found = compile_statistics(str(require(nvcc(), "no nvcc here")), SIZED, "sm_80", ["-DSIZE=64"])
    assert [(s.name, s.shared_bytes, s.arch) for s in found.values()] == [("k", 256, "sm_80")]


def test_an_error_is_one_line() -> None:
    compiler = str(require(nvcc(), "no nvcc here"))
    with pytest.raises(CompileError, match=r'^kernel\.cu\(1\): error: identifier "x" is undefined$'):
        compile_statistics(compiler, "__global__ void k() { x; }\n", "sm_80")


def test_a_compiler_that_never_ends_is_stopped(tmp_path: Path) -> None:
    slow = tmp_path / "nvcc"
    slow.write_text("#!/bin/sh\nsleep 60 & echo $! > pid; cp pid '%s'; wait\n" % (tmp_path / "pid"))
    slow.chmod(0o755)
    for seconds in (1.0, 5.0, 50.0):  # a busy machine may take more than one to start it
        with pytest.raises(CompileError, match="did not finish"):
            compile_statistics(str(slow), "", "sm_80", timeout=seconds)
        if (tmp_path / "pid").exists():
            break
    child = int((tmp_path / "pid").read_text())
    state = Path(f"/proc/{child}/stat")
    assert not state.exists() or state.read_text().split()[2] == "Z" or os.getpgid(child) != child


def test_a_compiler_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="No such file"):
        compile_statistics(str(tmp_path / "none"), "", "sm_80")


def script(place: Path, text: str) -> str:
    """A program that is called nvcc."""
    place.write_text(f"#!/bin/sh\n{text}\n")
    place.chmod(0o755)
    return str(place)


def alive(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    return state.exists() and state.read_text().rpartition(")")[2].split()[0] != "Z"


def gone(process: int) -> bool:
    """Does it end soon?"""
    limit = time.monotonic() + 120
    while alive(process) and time.monotonic() < limit:
        time.sleep(0.02)
    return not alive(process)


def test_what_a_compiler_leaves_behind_is_ended_too(tmp_path: Path) -> None:
    fake = script(tmp_path / "nvcc", f"sleep 600 & echo $! > {tmp_path}/pid; exit 0")
    assert compile_statistics(fake, "", "sm_80") == {}
    assert gone(int((tmp_path / "pid").read_text()))


def test_stopped_from_another_thread_with_its_children(tmp_path: Path) -> None:
    fake = script(
        tmp_path / "nvcc", f"sleep 600 & echo $! > {tmp_path}/new; mv {tmp_path}/new {tmp_path}/pid; wait"
    )
    stop = Stop()
    with ThreadPoolExecutor(1) as pool:
        running = pool.submit(compile_statistics, fake, "", "sm_80", stop=stop)
        while not (tmp_path / "pid").exists():
            time.sleep(0.01)
        stop.set()
        with pytest.raises(CompileStopped):
            running.result(300)
    assert gone(int((tmp_path / "pid").read_text()))


def test_stopped_before_it_began(tmp_path: Path) -> None:
    stop = Stop()
    stop.set()
    with pytest.raises(CompileStopped):
        compile_statistics(script(tmp_path / "nvcc", f"touch {tmp_path}/ran"), "", "sm_80", stop=stop)
    assert not (tmp_path / "ran").exists()


def test_output_without_end(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="printed more than 16 MB"):
        compile_statistics(script(tmp_path / "nvcc", "exec yes"), "", "sm_80")


def test_a_file_without_end(tmp_path: Path) -> None:
    few = ProcessLimits(file=2 << 20)
    with pytest.raises(CompileError, match="wrote a file of more than 2 MB"):
        compile_text(script(tmp_path / "nvcc", "exec cat /dev/zero > big"), "", "sm_90", limits=few)


def test_the_system_itself_ends_a_file_without_end(tmp_path: Path) -> None:
    """Outside of the folder, too, where nobody looks."""
    place = tmp_path / "big"
    body = (
        f"sleep 0.3; head -c 100000000 /dev/zero > {place}; echo error: $? File size limit exceeded; exit 1"
    )
    with pytest.raises(CompileError, match="wrote a file of more than 2 MB"):
        compile_text(script(tmp_path / "nvcc", body), "", "sm_90", limits=ProcessLimits(file=2 << 20))
    assert place.stat().st_size == 2 << 20


def test_files_without_end(tmp_path: Path) -> None:
    body = "mkdir below; i=0; while :; do i=$((i+1)); head -c 500000 /dev/zero > below/$i; done"
    outside = f"( {body} ) & wait"
    with pytest.raises(CompileError, match="wrote more than 4 MB"):
        compile_text(script(tmp_path / "nvcc", outside), "", "sm_90", limits=ProcessLimits(folder=4 << 20))


def test_what_lies_behind_a_link_is_not_counted(tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    (tmp_path / "large" / "file").write_bytes(bytes(5 << 20))
    body = f"ln -s {tmp_path}/large link; ln -s {tmp_path}/large/file other; sleep 0.3"
    found = compile_text(
        script(tmp_path / "nvcc", body), "", "sm_90", limits=ProcessLimits(file=4 << 20, folder=4 << 20)
    )
    assert not found.kernels


def test_an_include_bomb(tmp_path: Path) -> None:
    """Text that is read 2^20 times, behind a condition that only a compiler sees as true."""
    compiler = require(nvcc(), "no nvcc")
    (tmp_path / "h0.h").write_text("int x(int a, int b, int c);\n" * 50)
    for level in range(20):
        (tmp_path / f"h{level + 1}.h").write_text(f'#include "h{level}.h"\n' * 2)
    text = '#if __CUDACC_VER_MAJOR__ > 1\n#include "h20.h"\n#endif\n__global__ void k() {}\n'
    with pytest.raises(CompileError, match=r"wrote (?:a file of )?more than 4 MB"):
        limits = ProcessLimits(file=4 << 20, folder=4 << 20)
        compile_text(str(compiler), text, "sm_90", ["-I", str(tmp_path)], limits=limits)


@pytest.mark.parametrize("output", ["printf '\\377\\376\\000'", "echo 'ptxas info : Used x registers'", ""])
def test_garbage_is_no_kernel(tmp_path: Path, output: str) -> None:
    assert compile_statistics(script(tmp_path / "nvcc", output), "", "sm_80") == {}


def test_a_failure_without_a_word(tmp_path: Path) -> None:
    with pytest.raises(CompileError, match="nvcc failed without a message"):
        compile_statistics(script(tmp_path / "nvcc", "exit 3"), "", "sm_80")


def test_targets_of_a_compiler_that_does_not_say(tmp_path: Path) -> None:
    assert supported_targets(script(tmp_path / "nvcc", "echo garbage; echo sm_x")) == frozenset()
    assert supported_targets(script(tmp_path / "nvcc", "exit 1")) == frozenset()
    assert supported_targets(script(tmp_path / "nvcc", "echo sm_75; echo sm_90a; echo 75")) == {75, 90}


def test_targets_of_the_real_one() -> None:
    found = supported_targets(str(require(nvcc(), "no nvcc here")))
    assert {80, 90} <= found and 50 not in found


def test_nothing_out_of_the_current_folder_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script(tmp_path / "nvcc", "exit 0")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PATH", f".{os.pathsep}{os.pathsep}")
    monkeypatch.setenv("CUDA_HOME", ".")
    monkeypatch.setattr("sys.path", ["", "."])
    assert find_nvcc() is None
    assert find_nvcc("./nvcc") is None
    assert find_nvcc(str(tmp_path / "nvcc")) == str(tmp_path / "nvcc")


# ---- flags -----------------------------------------------------------------------------------------------------------

HOSTILE = [
    "-D",
    "A=`touch ran1`",
    "-DB=$(touch ran2)",
    '-DC=1";touch ran3;"',
    "-DD=1;touch ran4",
    "-DE=1|touch ran5",
    "-U",
    "X`touch ran6`",
    "-std=c++17;touch ran7",
    "-maxrregcount=32$(touch ran8)",
    "-D",
    "-ccbin=/tmp/evil",
    "-ccbin",
    "evil",
    "--options-file",
    "evil",
    "-Xcompiler",
    "-fplugin=evil.so",
    "-rdc=true`touch ran9`",
]


def test_no_word_for_nvcc_means_anything_to_a_shell() -> None:
    prepared = prepare(["-I", "/x/$(touch a)", "-include", "/x/`b`.h", *HOSTILE, "-DOK=1", "-std=c++20"])
    for word in prepared.words:
        assert re.fullmatch(r"[\w./+=:@-]+", word, re.A), word
    assert "evil" not in " ".join(prepared.words)
    assert {"-DOK=1", "-std=c++20"} <= set(prepared.words)
    assert "#define A `touch ran1`\n" in prepared.prelude


def test_hostile_flags_run_nothing_in_a_real_nvcc(tmp_path: Path) -> None:
    """nvcc 13 hands macros to a shell: ``-DX='`touch ran`'`` makes the file."""
    compiler = str(require(nvcc(), "no nvcc here"))
    folder = tmp_path / "inc $(touch ran0) `touch ran00`"
    folder.mkdir()
    (folder / "size.h").write_text("#define SIZE 48\n")
    (folder / "forced.h").write_text("#define FORCED 1\n")
    text = (
        '#include "size.h"\n#ifndef FORCED\n#error no\n#endif\n'
        + SIZED
        + "template <> void k<NUMBER>(float*);\n"
    )
    flags = ["-I", str(folder), "-include", str(folder / "forced.h"), "-DNUMBER=(1 ? 16 : 2)", *HOSTILE]
    before = set(Path.cwd().iterdir())
    found = compile_statistics(compiler, text, "sm_80", flags)
    assert [s.shared_bytes for s in found.values()] == [192]
    assert not list(tmp_path.rglob("ran*"))
    assert set(Path.cwd().iterdir()) == before


def test_flags_of_a_compile_command(tmp_path: Path) -> None:
    command = (
        "nvcc -ccbin g++ -DN=4 -I inc -isystem ../sys -include pre.h -arch=sm_80 -gencode arch=compute_90,code=sm_90"
        " --expt-relaxed-constexpr -maxrregcount 64 -rdc=true -use_fast_math -Xptxas -O0 -o k.o -c k.cu"
    )
    found = command_flags(command, str(tmp_path))
    assert found == (
        *("-DN=4", "-I", str(tmp_path / "inc"), "-isystem", str(tmp_path.parent / "sys")),
        *("-include", str(tmp_path / "pre.h"), "--expt-relaxed-constexpr", "-maxrregcount", "64"),
        "-use_fast_math",
    )
    assert command_flags("nvcc 'never closed", str(tmp_path)) == ()


def test_the_command_of_a_file_reaches_the_compiler(tmp_path: Path) -> None:
    (tmp_path / "compile_commands.json").write_text(
        '[{"file": "k.cu", "directory": ".", "command": "nvcc -DSIZE=40 -ccbin evil -c k.cu"}]'
    )
    assert CompilerCommands().nvcc_flags(str(tmp_path / "k.cu")) == ("-DSIZE=40",)
    (tmp_path / "compile_commands.json").write_text("[")
    assert CompilerCommands().nvcc_flags(str(tmp_path / "k.cu")) == ()


def test_only_folders_that_are_the_same_everywhere_are_looked_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "bin").mkdir()
    other = tmp_path / "link"
    other.symlink_to(tmp_path)
    words = ["", ".", "bin", "./bin", "..", str(tmp_path), str(other), str(tmp_path / "bin"), "/usr/bin"]
    assert fixed_folders(os.pathsep.join(words)).split(os.pathsep) == [str(tmp_path / "bin"), "/usr/bin"]
    script(tmp_path / "nvcc", "exit 1")
    real = tmp_path / "real"
    real.mkdir()
    (real / "nvcc").symlink_to("/bin/true")
    for name in ("CUDA_HOME", "CUDA_PATH"):
        monkeypatch.delenv(name, raising=False)
    for first in ("", ".", f"{tmp_path}"):
        monkeypatch.setenv("PATH", f"{first}{os.pathsep}{real}")
        assert find_nvcc() == str(real / "nvcc")
