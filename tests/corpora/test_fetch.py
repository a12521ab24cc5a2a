"""What comes out of an archive, and what never does."""

from __future__ import annotations

import io
import os
import subprocess
import sys
import tarfile
from pathlib import Path

import fetch
import pytest
from fetch import Corpus, Unavailable, corpora, safe_path, unpack


def archive(path: Path, *members: tarfile.TarInfo) -> Path:
    with tarfile.open(path, "w:gz") as tar:
        for member in members:
            member.size = 4 if member.isreg() else 0
            tar.addfile(member, io.BytesIO(b"code") if member.isreg() else None)
    return path


def link(name: str, target: str, kind: bytes) -> tarfile.TarInfo:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member


def test_only_sources_below_the_folder(tmp_path: Path) -> None:
    made = archive(
        tmp_path / "a.tar.gz",
        tarfile.TarInfo("p/src/k.cu"),
        tarfile.TarInfo("p/setup.py"),
        tarfile.TarInfo("p/PKG-INFO"),
        tarfile.TarInfo("p/p.egg-info/PKG-INFO"),
        tarfile.TarInfo("../out.cu"),
        tarfile.TarInfo("p/../../out.cu"),
        tarfile.TarInfo("/absolute.cu"),
        link("p/link.cu", "/etc/passwd", tarfile.SYMTYPE),
        link("p/hard.cu", "p/src/k.cu", tarfile.LNKTYPE),
        link("p/pipe.cu", "", tarfile.FIFOTYPE),
        link("p/folder.cu", "", tarfile.DIRTYPE),
    )
    unpack(made, tmp_path / "into" / "here")
    written = [
        path.relative_to(tmp_path / "into") for path in (tmp_path / "into").rglob("*") if path.is_file()
    ]
    assert sorted(written) == [Path("here/p/PKG-INFO"), Path("here/p/src/k.cu")]
    assert not (tmp_path / "out.cu").exists()


def test_a_link_to_a_folder_is_not_followed(tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    made = archive(
        tmp_path / "a.tar.gz", link("p/d", str(outside), tarfile.SYMTYPE), tarfile.TarInfo("p/d/k.cu")
    )
    unpack(made, tmp_path / "into")
    assert list(outside.iterdir()) == []
    assert (tmp_path / "into/p/d/k.cu").read_bytes() == b"code"


@pytest.mark.parametrize(
    "name", ["/a.cu", "../a.cu", "a/../b.cu", "..", "", ".", "a\\..\\b.cu", "C:/a.cu", "a\0.cu"]
)
def test_unsafe_paths(name: str) -> None:
    assert safe_path(name) is None


def test_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fetch, "MAX_TOTAL", 7)
    made = archive(tmp_path / "a.tar.gz", tarfile.TarInfo("p/a.cu"), tarfile.TarInfo("p/b.cu"))
    with pytest.raises(Unavailable, match=r"a\.tar\.gz: more than"):
        unpack(made, tmp_path / "into")


def test_a_cached_corpus_needs_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = corpora()[0]
    monkeypatch.setenv("SMEM_CORPORA", str(tmp_path))
    (tmp_path / corpus.folder).mkdir()
    assert fetch.fetch(corpus) == tmp_path / corpus.folder


def sdist(folder: Path, name: str, files: dict[str, str]) -> Corpus:
    """A source distribution for pip to find in ``folder``."""
    path = folder / f"{name}-1.0.tar.gz"
    files = {"PKG-INFO": f"Metadata-Version: 1.0\nName: {name}\nVersion: 1.0\n", "k.cu": "kernel", **files}
    with tarfile.open(path, "w:gz") as tar:
        for file, text in files.items():
            member = tarfile.TarInfo(f"{name}-1.0/{file}")
            member.size = len(text)
            tar.addfile(member, io.BytesIO(text.encode()))
    return Corpus(f"{name}==1.0", fetch.hashlib.sha256(path.read_bytes()).hexdigest(), (), True)


@pytest.fixture
def index(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that is all pip looks at."""
    folder = tmp_path / "index"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", "/dev/null")
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    monkeypatch.setenv("SMEM_CORPORA", str(tmp_path / "cache"))
    return folder


def test_nothing_of_the_package_runs(index: Path, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')"
    corpus = sdist(index, "some-package", {"setup.py": trap, "setuptools.py": trap, "sitecustomize.py": trap})
    assert [path.name for path in fetch.fetch(corpus).rglob("*.cu")] == ["k.cu"]
    assert not (tmp_path / "ran").exists()


def test_a_backend_inside_the_package_is_not_run(index: Path, tmp_path: Path) -> None:
    trap = f"open({str(tmp_path / 'ran')!r}, 'w')"
    corpus = sdist(
        index,
        "some-package",
        {
            "pyproject.toml": '[build-system]\nrequires = ["x"]\nbuild-backend = "mine"\nbackend-path = ["."]\n',
            "mine.py": trap,
            "stand_in_backend.py": trap,
            "sitecustomize.py": trap,
        },
    )
    assert [path.name for path in fetch.fetch(corpus).rglob("*.cu")] == ["k.cu"]
    assert not (tmp_path / "ran").exists()


def test_a_pip_that_asks_in_another_way_gets_no_answer(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(fetch._GUARD)
    hook = tmp_path / "_in_process.py"
    hook.write_text("print('ran')")
    known = {name: value for name, value in os.environ.items() if "BACKEND" not in name}
    for told, output in (({}, ""), ({"PEP517_BUILD_BACKEND": "mine"}, "ran\n")):
        done = subprocess.run(
            [sys.executable, str(hook)],
            env={**known, **told, "PYTHONPATH": str(tmp_path)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.stdout == output
        assert ("nothing was run" in done.stderr) == (not told)


def test_a_network_that_fails_is_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SMEM_CORPORA", str(tmp_path))
    asked: list[int] = []

    def fail(*args: object) -> subprocess.CompletedProcess[str]:
        asked.append(1)
        return subprocess.CompletedProcess([], 1, "", "ERROR: Connection reset by peer")

    monkeypatch.setattr(fetch, "_run", fail)
    with pytest.raises(Unavailable, match="Connection reset"):
        fetch.fetch(corpora()[0])
    assert len(asked) == 2


def test_another_archive_is_refused(index: Path) -> None:
    corpus = sdist(index, "some-package", {})
    sdist(index, "some-package", {"k.cu": "another kernel"})
    with pytest.raises(Unavailable, match=r"some-package==1\.0: .*(?i:hash)"):
        fetch.fetch(corpus)


def test_no_such_package(index: Path) -> None:
    with pytest.raises(Unavailable, match=r"nothing-here==1\.0: ERROR"):
        fetch.fetch(Corpus("nothing-here==1.0", "0" * 64, (), True))


def test_pip_is_here() -> None:
    assert (
        subprocess.run(
            [sys.executable, "-m", "pip", "--version"], capture_output=True, check=False
        ).returncode
        == 0
    )
