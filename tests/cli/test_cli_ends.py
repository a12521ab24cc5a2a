"""How a run ends: interrupted, with nowhere to write to, or by a defect of ours. Real processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import pytest

COMMAND = (sys.executable, "-m", "smem_lsp")
KERNEL = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[1024];
  __shared__ float b[1024];
  __shared__ int spare[8];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float x = a[1023 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = b[1023 - threadIdx.x];
}
"""
PATIENCE = 300  # seconds of the clock; only what hangs needs them
SOON = (
    3.0  # seconds of processor time, which others do not take away; the work that is left takes twice as long
)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Some seconds of work, the first file of which has a finding."""
    place = tmp_path / "files"
    place.mkdir()
    (place / "a.cu").write_text(KERNEL)
    (tmp_path / "one.cu").write_text(KERNEL)
    (tmp_path / "few").mkdir()
    for number in range(4):
        (tmp_path / "few" / f"c{number}.cu").write_text(KERNEL)
    for number in range(60):
        kernels = (KERNEL.replace("void k(", f"void k{each}(") for each in range(30))
        (place / f"b{number}.cu").write_text("".join(kernels))
    return tmp_path


def children(process: int) -> set[int]:
    """Every process below this one."""
    found: set[int] = set()
    for place in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(place.read_text().rpartition(")")[2].split()[1])
        except OSError:
            continue
        if parent == process:
            found |= {int(place.parent.name), *children(int(place.parent.name))}
    return found


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        assert time.monotonic() < end
        time.sleep(0.02)


def state(process: int) -> str:
    """As Linux has it: R ready to run, S asleep, Z gone but not forgotten; "" for none."""
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0]
    except OSError:
        return ""


def running(process: int) -> bool:
    return state(process) not in ("", "Z")


def obey_interrupts() -> None:
    """A job that a shell has put in the background hands on that SIGINT is ignored."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*COMMAND, *arguments],
        cwd=folder,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=obey_interrupts,
    )


def processor_time(*processes: int) -> float:
    """Seconds, of them and of all below."""
    ticks = 0
    for each in {*processes}.union(*map(children, processes)):
        with suppress(OSError):
            fields = Path(f"/proc/{each}/stat").read_text().rpartition(")")[2].split()
            ticks += int(fields[11]) + int(fields[12])
    return ticks / os.sysconf("SC_CLK_TCK")


def waits(process: int) -> bool:
    """It has started, and does nothing: for a reader of what it has found. A process that others keep from running is
    ready to run."""
    before = processor_time(process)
    ready = False
    for _ in range(6):
        time.sleep(0.05)
        ready = ready or any(state(each) == "R" for each in (process, *children(process)))
    return not ready and processor_time(process) == before > 0.05


def ended_processor_time() -> float:
    """Seconds of all processes that have ended."""
    import resource  # there is none on Windows

    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def end(processes: set[int]) -> None:
    """They end without doing what they still had to do."""
    before = processor_time(*processes)

    def gone() -> bool:
        assert processor_time(*processes) - before < SOON
        return not any(map(running, processes))

    until(gone)


def interrupt(process: subprocess.Popen[str]) -> None:
    """As a terminal does it, the whole group at once; nothing may be left of it."""
    below = children(process.pid)
    before = processor_time(process.pid) + ended_processor_time()
    os.killpg(process.pid, signal.SIGINT)
    _, err = process.communicate(timeout=PATIENCE)
    assert ended_processor_time() - before < SOON
    assert process.returncode == 130, err
    assert [line for line in err.splitlines() if not line.startswith("INFO ")] == ["smem-lsp: interrupted"]
    end(below)


@pytest.mark.sampled(one_in=4)
@pytest.mark.slow(seconds=2)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "arguments",
    [
        ("--jobs", "1"),
        ("--jobs", "2"),
        ("--jobs", "2", "--output-format", "json"),
        ("--diff",),
    ],
    ids=" ".join,
)
@pytest.mark.parametrize("seconds", [0.4, 1.0])
def test_ctrl_c(folder: Path, arguments: tuple[str, ...], seconds: float) -> None:
    process = start(folder, "check", "files", *arguments)
    until(lambda: processor_time(process.pid) > seconds or waits(process.pid))
    interrupt(process)


def is_answered(server: subprocess.Popen[str]) -> None:
    """Until the server has answered the first request of a client."""
    assert server.stdin is not None and server.stdout is not None
    asked = '{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {"processId": null, "capabilities": {}}}'
    server.stdin.write(f"Content-Length: {len(asked)}\r\n\r\n{asked}")
    server.stdin.flush()
    assert server.stdout.readline().startswith("Content-Length: ")


def listens(server: subprocess.Popen[str]) -> None:
    """Until the server has said where it listens."""
    assert server.stderr is not None
    assert "listening on 127.0.0.1 port" in server.stderr.readline()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    ("arguments", "ready"), [((), is_answered), (("--tcp", "127.0.0.1:0"), listens)], ids=["pipes", "tcp"]
)
def test_ctrl_c_in_a_server(
    folder: Path, arguments: tuple[str, ...], ready: Callable[[subprocess.Popen[str]], None]
) -> None:
    process = start(folder, "server", *arguments)
    ready(process)
    interrupt(process)


@pytest.mark.slow(seconds=3)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.parametrize(
    "arguments", [("check", "files", "--jobs", "2"), ("check", "one.cu"), ("verify", "one.cu")], ids=" ".join
)
def test_ctrl_c_ends_the_compilers(folder: Path, arguments: tuple[str, ...]) -> None:
    compiler = folder / "nvcc"
    compiler.write_text('#!/bin/sh\n[ "$1" = --list-gpu-code ] && exit\nsleep 100 & wait\n')
    compiler.chmod(0o755)
    (folder / "my.toml").write_text(f'nvcc = "{compiler}"\narch = ["sm_90"]\n')
    process = start(folder, *arguments, "--config", "my.toml")

    def sleepers() -> int:
        names = (Path(f"/proc/{each}/comm") for each in children(process.pid))
        return sum(name.exists() and "sleep" in name.read_text() for name in names)

    until(lambda: sleepers() == (2 if "2" in arguments else 1))
    interrupt(process)


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_children_do_not_outlive_their_parent(folder: Path) -> None:
    process = start(folder, "check", "files", "--jobs", "2")
    until(lambda: len(children(process.pid)) == 2)
    time.sleep(0.7)
    below = children(process.pid)
    process.kill()
    process.wait()
    end(below)


@pytest.mark.slow(seconds=15)
@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_child_that_dies_costs_one_file(folder: Path) -> None:
    process = start(folder, "check", "files", "--jobs", "2", "--output-format", "concise")
    until(lambda: len(children(process.pid)) == 2)
    time.sleep(0.7)
    os.kill(min(children(process.pid)), signal.SIGKILL)
    out, err = process.communicate(timeout=PATIENCE)
    assert process.returncode == 2
    (line,) = err.splitlines()[:1]
    lost = re.fullmatch(r"smem-lsp: (.*): not checked, the process that was checking it died", line)
    assert lost is not None, err
    assert {each.partition(":")[0] for each in out.splitlines()} == {
        *(f"files/b{number}.cu" for number in range(60)),
        "files/a.cu",
    } - {lost[1]}
    in_one = start(folder, "check", "files", "--jobs", "1", "--output-format", "concise").communicate()[0]
    assert out == "".join(
        line for line in in_one.splitlines(keepends=True) if line.partition(":")[0] != lost[1]
    )


EVERY = [
    ("check", "one.cu"),
    ("check", "few", "--jobs", "2"),
    ("check", "one.cu", "--output-format", "json"),
    ("check", "one.cu", "--diff", "--select", "SMEM101"),
    ("layout", "one.cu"),
    ("trace", "one.cu"),
    ("explain", "--all"),
    ("rules",),
    ("config", "one.cu"),
    ("--version",),
    ("--help",),
    ("check", "--help"),
]


def in_shell(folder: Path, arguments: tuple[str, ...], redirected: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr of a command line with this behind it."""
    script = f'"$@" {redirected}; echo "=$?" >&3'
    with (folder / "code").open("w") as code:
        done = subprocess.run(
            ["bash", "-c", f"exec 3>&{code.fileno()}; {script}", "bash", *COMMAND, *arguments],
            cwd=folder,
            pass_fds=[code.fileno()],
            capture_output=True,
            text=True,
            check=False,
        )
    return int((folder / "code").read_text().strip("=\n")), done.stdout, done.stderr


@pytest.mark.sampled(one_in=4)
@pytest.mark.slow(seconds=4)
@pytest.mark.skipif(sys.platform != "linux", reason="needs /dev/full")
@pytest.mark.parametrize("arguments", EVERY, ids=" ".join)
def test_stdout_that_takes_nothing(folder: Path, arguments: tuple[str, ...]) -> None:
    full = "smem-lsp: stdout cannot be written: No space left on device\n"
    code, out, err = in_shell(folder, arguments, ">/dev/full")
    assert (code, out) == (2, "") and err.endswith(full) and "Traceback" not in err
    assert in_shell(folder, arguments, ">&-") == (2, "", "smem-lsp: stdout is closed\n")
    assert in_shell(folder, arguments, ">&- 2>&-") == (2, "", "")
    assert in_shell(folder, arguments, ">/dev/full 2>&1") == (2, "", "")


@pytest.mark.slow(seconds=9)
@pytest.mark.parametrize("where", ["2>&-", "2>/dev/full"])
def test_stderr_that_takes_nothing_costs_its_lines_only(folder: Path, where: str) -> None:
    for arguments in EVERY[:4]:
        expected = in_shell(folder, arguments, "2>/dev/null")
        assert in_shell(folder, arguments, where) == expected
        assert expected[0] == 1
    for wrong in (("nonsense",), (), ("check", "none.cu"), ("check", "--nonsense")):
        assert in_shell(folder, wrong, where) == (2, "", "")


@pytest.mark.parametrize("arguments", [("check", "-"), ("server",)])
def test_stdin_that_is_closed(folder: Path, arguments: tuple[str, ...]) -> None:
    code, _, err = in_shell(folder, arguments, "<&-")
    assert code == 2
    assert err.count("\n") == 1 and "stdin is closed" in err


@pytest.mark.slow(seconds=4)
def test_a_reader_that_has_seen_enough(folder: Path) -> None:
    for jobs in ("1", "2"):
        piped = "| head -1; (exit ${PIPESTATUS[0]})"
        assert in_shell(folder, ("check", "files", "--jobs", jobs), piped)[::2] == (141, "")


DEFECTS = {
    "RecursionError": "def f(*a, g=lambda g: g(g), **k): return g(g)",
    "MemoryError": "def f(*a, **k): return bytearray(1 << 60)",
    "ZeroDivisionError": "def f(*a, **k): return 1 // 0",
    "OSError": "def f(*a, **k): raise OSError(5, 'Input/output error')",
    "UnicodeDecodeError": "def f(*a, **k): return b'\\xff'.decode()",
}


@pytest.mark.parametrize("defect", DEFECTS)
@pytest.mark.parametrize("place", ["smem_lsp.cli.layout.run", "smem_lsp.cli.parser.parse"])
def test_a_defect_of_ours_is_one_line(folder: Path, defect: str, place: str) -> None:
    module, _, name = place.rpartition(".")
    program = (
        f"import sys, importlib\n{DEFECTS[defect]}\nmodule = importlib.import_module({module!r})\n"
        f"module.{name} = f\nsys.argv = ['smem-lsp', 'layout', 'one.cu']\n"
        "from smem_lsp.cli import main\nsys.exit(main())\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (2, "")
    expected = (
        rf"smem-lsp: internal error: {defect} at <string>:\d+, "
        r"called at smem_lsp/cli/__init__\.py:\d+(: .+)? \(Python [\d.]+\)"
        r"; please report this line \(smem-lsp [\d.]+\)\n"
    )
    assert re.fullmatch(expected, done.stderr), done.stderr
