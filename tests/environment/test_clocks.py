"""What is remembered of files when times say nothing: one that is set back, or a clock that jumps."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from smem_lsp.cli.progress import Progress, bar
from smem_lsp.cli.watch import _Watched
from smem_lsp.environment import CompileCommands, writing
from smem_lsp.environment.disk_reader import DiskReader, Indexing
from smem_lsp.environment.index_store import IndexStore
from smem_lsp.server.client_settings import ClientSettings
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.unit.file_index import summarise

YEAR = 365 * 24 * 3600.0  # seconds


class Clock:
    """What a module takes for the module `time`."""

    def __init__(self) -> None:
        self.now = YEAR

    def time(self) -> float:
        return self.now

    monotonic = time

    def sleep(self, seconds: float) -> None:
        assert seconds >= 0
        self.now += seconds


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def clock_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Clock]:
    def put(module: str) -> Clock:
        clock = Clock()
        monkeypatch.setattr(f"{module}.time", clock)
        return clock

    return put


def rewrite(path: Path, text: str) -> None:
    """As an archive that is unpacked does: as many bytes, and the time of the last change that there was."""
    before = path.stat()
    assert len(text) == before.st_size
    path.write_text(text)
    while True:
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        if path.stat().st_ctime_ns != before.st_ctime_ns:  # the clock of a file system goes in steps
            break


def test_a_text_whose_time_was_set_back_is_read_again(tmp_path: Path) -> None:
    place = tmp_path / "size.cuh"
    place.write_text("#define N 1\n")
    reader = DiskReader()
    assert reader.read("size.cuh") == "#define N 1\n"
    rewrite(place, "#define N 2\n")
    assert reader.read("size.cuh") == "#define N 2\n"


def test_an_index_reads_it_again_too(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "a.cuh").write_text("__global__ void k();\n")
    (tmp_path / "b.cuh").write_text("__global__ void m();\n")
    main = tmp_path / "main.cu"
    main.write_text('#include "a.cuh"\n')
    store = IndexStore(tmp_path / "cache")

    def run() -> tuple[list[str], list[str]]:
        reader = DiskReader(indexing=Indexing(summarise, store))
        return tuple([Path(each).name for each in reader.includers(name)] for name in ("a.cuh", "b.cuh"))  # type: ignore[return-value]

    assert run() == (["main.cu"], [])
    rewrite(main, '#include "b.cuh"\n')
    assert run() == ([], ["main.cu"])


def test_compile_commands_are_read_again_too(tmp_path: Path) -> None:
    place = tmp_path / "compile_commands.json"
    text = '[{"directory": ".", "file": "a.cu", "command": "nvcc -DN=1"}]'
    place.write_text(text)
    commands = CompileCommands()
    assert commands.command("a.cu").flags.defines == ("N=1",)
    rewrite(place, text.replace("N=1", "N=2"))
    assert commands.command("a.cu").flags.defines == ("N=2",)


@pytest.mark.parametrize("jump", [-YEAR, -1.0, YEAR])
def test_a_file_that_was_just_looked_at_is_trusted_only_as_long_as_the_clock_goes_on(
    jump: float, tmp_path: Path, clock_of: Callable[[str], Clock]
) -> None:
    clock = clock_of("smem_lsp.environment.disk_reader")
    place = tmp_path / "a.cu"
    place.write_text("old")
    reader = DiskReader(fresh_for=0.5)
    assert reader.read("a.cu") == "old"
    place.write_text("new text")
    clock.now += 0.25
    assert reader.read("a.cu") == "old"
    clock.now += jump
    assert reader.read("a.cu") == "new text"


@pytest.mark.parametrize("jump", [-YEAR, YEAR])
def test_settings_are_trusted_only_as_long_as_the_clock_goes_on(
    jump: float, tmp_path: Path, clock_of: Callable[[str], Clock]
) -> None:
    clock = clock_of("smem_lsp.server.config_files")
    place = tmp_path / "smem.toml"
    place.write_text("threads = 32\n")
    files = ConfigFiles()

    def threads() -> object:
        return files.resolve(str(tmp_path / "a.cu"), None, ClientSettings()).config.threads

    assert threads() == 32
    place.write_text("threads = 64\n")
    clock.now += 1
    assert threads() == 32
    clock.now += jump
    assert threads() == 64


@pytest.mark.parametrize("jump", [-YEAR, -1.0, YEAR])
def test_who_watches_goes_on(jump: float, tmp_path: Path, clock_of: Callable[[str], Clock]) -> None:
    clock = clock_of("smem_lsp.cli.watch")

    class Jumping(_Watched):
        def __init__(self) -> None:
            self._looks = 0

        def state(self) -> dict[str, tuple[tuple[int, int, int], int]]:
            clock.now += jump
            self._looks += 1
            return {"a.cu": ((min(self._looks, 3), 0, 0), 0)}

    watched = Jumping()
    watched.wait({"a.cu": ((1, 0, 0), 0)})
    assert watched._looks == 4  # one as before, two changes, and one look at which nothing changes any more


@pytest.mark.parametrize("jump", [-YEAR, YEAR])
def test_a_progress_bar_is_a_line(
    jump: float, clock_of: Callable[[str], Clock], monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = clock_of("smem_lsp.cli.progress")
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    progress = Progress(4, enabled=True)
    clock.now += jump
    progress.show(2)
    assert "2/4 files" in bar(2, 4, jump)


@pytest.mark.parametrize("jump", [-2 * YEAR, YEAR])
def test_a_file_that_a_run_is_writing_stays(
    jump: float, tmp_path: Path, clock_of: Callable[[str], Clock]
) -> None:
    clock = clock_of("smem_lsp.environment.writing")
    written = tmp_path / f".a.cu.smem-lsp-{os.getpid()}-0123abcd"
    written.touch()
    clock.now = written.stat().st_mtime + jump
    writing.Leftovers([str(tmp_path)]).remove_beside(str(tmp_path / "a.cu"))
    assert written.exists()
