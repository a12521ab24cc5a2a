"""``check --executor dask://HOST:PORT`` on a real cluster: a scheduler and two workers on this machine."""

from __future__ import annotations

import importlib.util
import json
import re
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
import toolchain

from smem_lsp.cli.cluster import address
from smem_lsp.cli.errors import UsageError

KERNEL = """\
__global__ void k{n}(const float* in, float* out) {{
  __shared__ float a[1024];
  __shared__ float b[1024];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float x = a[1023 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = b[1023 - threadIdx.x];
}}
"""
FILES = 6

Command = Callable[..., tuple[int, str, str]]


@dataclass
class Cluster:
    port: int
    folder: Path
    processes: list[subprocess.Popen[str]] = field(default_factory=list)

    @property
    def url(self) -> str:
        return f"dask://127.0.0.1:{self.port}"

    def start(self, module: str, *arguments: str, folder: Path | None = None) -> subprocess.Popen[str]:
        log = (self.folder / f"{len(self.processes)}.log").open("w")
        process = subprocess.Popen(
            [sys.executable, "-m", f"distributed.cli.{module}", *arguments],
            cwd=folder or self.folder,
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            text=True,
        )
        self.processes.append(process)
        return process

    def worker(self, folder: Path | None = None) -> subprocess.Popen[str]:
        flags = "--no-nanny --nthreads 1 --no-dashboard --memory-limit 0".split()
        place = str(self.folder / "spill")
        server = f"tcp://127.0.0.1:{self.port}"
        return self.start("dask_worker", server, *flags, "--local-directory", place, folder=folder)

    def log(self, number: int) -> str:
        return (self.folder / f"{number}.log").read_text()


def until(true: Callable[[], object], seconds: float = 300) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end
        time.sleep(0.05)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    found = importlib.util.find_spec("distributed")
    toolchain.require(
        Path(found.origin) if found and found.origin else None, "no Dask here: pip install '.[dask]'"
    )
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = Cluster(port, tmp_path_factory.mktemp("cluster"))
    made.start("dask_scheduler", "--host", "127.0.0.1", "--port", str(port), "--no-dashboard")
    for _ in range(2):
        made.worker()
    try:
        until(lambda: made.log(0).count("Register worker") == 2)
        yield made
    finally:
        for process in reversed(made.processes):
            process.kill()
            process.wait()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "src").mkdir()
    for number in range(FILES):
        text = "".join(KERNEL.format(n=each) for each in range(1 + number % 5))
        (tmp_path / "src" / f"f{number:02}.cu").write_text(text)
    (tmp_path / "src" / "shared.cuh").write_text(KERNEL.format(n="h"))
    (tmp_path / "src" / "main.cu").write_text(
        '#include "shared.cuh"\nint main() { kh<<<1, 1024>>>(0, 0); }\n'
    )
    (tmp_path / "src" / "bytes.cu").write_bytes(b"\0")
    return tmp_path


def start(folder: Path, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-I", "-X", "utf8", "-m", "smem_lsp", "check", "src", *arguments],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        encoding="utf-8",
    )


def run(folder: Path, *arguments: str) -> tuple[int, str, str]:
    process = start(folder, *arguments)
    out, err = process.communicate(timeout=120)
    return process.returncode, out, err


@pytest.mark.slow(seconds=20)
def test_the_output_is_that_of_one_process_even_if_a_worker_dies(cluster: Cluster, project: Path) -> None:
    alone = run(project, "--format", "json", "--jobs", "1")
    assert alone[0] == 2  # bytes.cu is no text
    assert len(json.loads(alone[1])["files"]) == FILES + 3
    assert run(project, "--format", "json", "--executor", cluster.url) == alone

    concise = ("--format", "concise", "--no-cache")
    alone = run(project, *concise, "--jobs", "1")
    killed, process = cluster.processes[-1], start(project, *concise, "--executor", cluster.url)
    assert process.stdout is not None
    first = process.stdout.readline()  # results stream: the others are still to come
    killed.kill()
    rest = process.stdout.read()  # not `communicate`, which would lose what was read ahead
    _, err = process.communicate(timeout=120)
    assert (process.returncode, first + rest, err) == alone
    killed.wait()
    cluster.worker()
    until(lambda: cluster.log(0).count("Register worker") == 3)


@pytest.mark.slow(seconds=10)
def test_a_worker_that_was_started_in_the_project_runs_nothing_of_it(cluster: Cluster, project: Path) -> None:
    log = project / "log"
    for name in ("smem_lsp", "lark", "z3"):
        (project / f"{name}.py").write_text(f"open({str(log)!r}, 'a').write('{name}')\n")
    before = cluster.log(0).count("Register worker")
    worker = cluster.worker(project)  # `python -m` puts this folder first
    try:
        until(lambda: cluster.log(0).count("Register worker") > before)
        done = run(project, "--format", "concise", "--no-cache", "--executor", cluster.url)
    finally:
        worker.kill()
        worker.wait()
    assert not log.exists(), log.read_text()
    assert done == run(project, "--format", "concise", "--no-cache", "--jobs", "1")


@pytest.mark.slow(seconds=5)
def test_a_cluster_with_other_code_is_refused(
    cluster: Cluster, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = (
        "import sys\nfrom smem_lsp.cli import main, cluster\ncluster._digest_of_code = lambda: 'another'\n"
        "sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "check", "src", "--executor", cluster.url],
        cwd=project,
        capture_output=True,
        encoding="utf-8",
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stdout) == (2, "")
    line = r"smem-lsp: --executor \S+: worker tcp://\S+ has another code of smem-lsp: [0-9a-f]{12}, here another\n"
    assert re.fullmatch(line, done.stderr), done.stderr


@pytest.mark.slow(seconds=3)
def test_a_cluster_that_is_not_there(cluster: Cluster, project: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        url = f"dask://127.0.0.1:{free.getsockname()[1]}"
    code, out, err = run(project, "--executor", url)
    assert (code, out) == (2, "")
    assert err == f"smem-lsp: --executor {url}: no scheduler answers: Connection refused\n"


@pytest.mark.slow(seconds=5)
def test_a_cluster_without_workers(cluster: Cluster, project: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    cluster.start("dask_scheduler", "--host", "127.0.0.1", "--port", port, "--no-dashboard")
    number = len(cluster.processes) - 1
    until(lambda: "Scheduler at" in cluster.log(number))
    code, out, err = run(project, "--executor", f"dask://127.0.0.1:{port}")
    assert (code, out) == (2, "")
    assert err == f"smem-lsp: --executor dask://127.0.0.1:{port}: the cluster has no workers\n"


@pytest.mark.parametrize(
    "written", ["tcp://a:1", "dask://a", "dask://:1", "dask://a:b", "a:1", "dask://a:1234567"]
)
def test_an_address_that_is_none(written: str) -> None:
    with pytest.raises(UsageError, match="not of the form dask://HOST:PORT"):
        address(written)


def test_an_address() -> None:
    assert address("dask://node-3.lab:8786/") == "tcp://node-3.lab:8786"


@pytest.mark.parametrize("flags", [("--fix",), ("--jobs", "2")])
def test_what_a_cluster_does_not_do(smem: Command, flags: tuple[str, ...]) -> None:
    Path("a.cu").write_text("BUG\n")
    code, out, err = smem("check", "a.cu", "--executor", "dask://a:1", *flags)
    assert (code, out) == (2, "") and f"--executor and {flags[0]} contradict each other" in err
    assert Path("a.cu").read_text() == "BUG\n"


def test_a_config_file_names_no_cluster(smem: Command) -> None:
    Path("a.cu").write_text("BUG\n")
    Path("smem.toml").write_text('executor = "dask://127.0.0.1:1"\n')
    code, _, err = smem("check", "a.cu")
    assert code == 2 and "executor" in err
