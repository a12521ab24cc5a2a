"""Files: found, read, written back."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from smem_lsp.environment import DiskReader, SourceError, collect, read_source, write_source
from smem_lsp.source import MAX_BYTES
from smem_lsp.source.queries import KEPT

KERNEL = "__global__ void k() {}\n"


def touch(folder: Path, *names: str, text: str = KERNEL) -> None:
    for name in names:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)


def found(*paths: str, excluded: tuple[str, ...] = ()) -> tuple[list[str], list[str]]:
    result = collect(paths, lambda path: Path(path).name in excluded)
    return result.files, [str(error) for error in result.errors]


@pytest.fixture(autouse=True)
def _inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def test_folder_is_searched_in_order(tmp_path: Path) -> None:
    touch(tmp_path, "s/b.cu", "s/a.cuh", "s/deep/c.cu", "s/plain.cpp")
    assert found("s") == (["s/a.cuh", "s/b.cu", "s/deep/c.cu"], [])


def test_current_folder_needs_no_prefix(tmp_path: Path) -> None:
    touch(tmp_path, "a.cu", "x/b.cu")
    assert found(".") == (["a.cu", "x/b.cu"], [])
    assert found("./x") == (["./x/b.cu"], [])


def test_headers_count_when_they_hold_device_code(tmp_path: Path) -> None:
    touch(tmp_path, "a.h", "b.hpp", "c.inl", "d.hu")
    touch(tmp_path, "host.h", text="int main();\n")
    assert found(".")[0] == ["a.h", "b.hpp", "c.inl", "d.hu"]


def test_hidden_vendor_and_virtual_environments_are_skipped(tmp_path: Path) -> None:
    touch(
        tmp_path,
        ".git/a.cu",
        "node_modules/a.cu",
        "venv/a.cu",
        "env/a.cu",
        "env/pyvenv.cfg",
        "ok.cu",
        "skip/a.cu",
    )
    assert found(".", excluded=("skip",))[0] == ["ok.cu"]


def test_named_file_is_taken_whatever_it_is_called(tmp_path: Path) -> None:
    touch(tmp_path, "kernel.txt")
    assert found("kernel.txt", excluded=("kernel.txt",))[0] == ["kernel.txt"]


def test_a_file_is_checked_once(tmp_path: Path) -> None:
    touch(tmp_path, "s/a.cu")
    assert found("s/a.cu", "s", "./s/a.cu")[0] == ["s/a.cu"]


def test_folder_without_cuda(tmp_path: Path) -> None:
    touch(tmp_path, "empty/readme.md")
    collected = collect(["empty"], lambda path: False)
    assert (collected.files, collected.errors, collected.empty) == ([], [], ["empty"])


def test_links_in_a_circle(tmp_path: Path) -> None:
    touch(tmp_path, "s/a.cu")
    (tmp_path / "s/up").symlink_to("..", target_is_directory=True)
    (tmp_path / "s/self").symlink_to("self")
    files, _ = found("s")
    assert files == ["s/a.cu"]


def test_a_file_that_links_lead_to_is_checked_once(tmp_path: Path) -> None:
    touch(tmp_path, "s/inc/k.cu")
    (tmp_path / "s/a.cu").symlink_to("inc/k.cu")
    (tmp_path / "s/far").symlink_to("inc", target_is_directory=True)
    assert found("s")[0] == ["s/inc/k.cu"]
    assert found("s/a.cu", "s")[0] == ["s/a.cu"]
    touch(tmp_path, "out/m.cu")
    (tmp_path / "s/m1.cu").symlink_to("../out/m.cu")
    (tmp_path / "s/m2.cu").symlink_to("../out/m.cu")
    assert found("s")[0] == ["s/inc/k.cu", "s/m1.cu"]


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"\x7fELF\0\0", "a binary file, not source text"),
        (b"\xef\xbb\xbfint \xff;", "not UTF-8 text, though its byte order mark says so (byte 4)"),
        (b"\xff\xfea\0b", "not UTF-16-LE text, though its byte order mark says so (byte 2)"),
    ],
)
def test_not_text(data: bytes, problem: str) -> None:
    Path("x.cu").write_bytes(data)
    with pytest.raises(SourceError) as error:
        read_source("x.cu")
    assert str(error.value) == f"x.cu: {problem}"


def test_missing_and_special_files() -> None:
    with pytest.raises(SourceError, match=r"^none\.cu: no such file or folder$"):
        read_source("none.cu")
    with pytest.raises(SourceError, match="is a directory"):
        read_source(".")
    os.mkfifo("pipe.cu")
    with pytest.raises(SourceError, match=r"pipe\.cu: cannot be read: is not a regular file"):
        read_source("pipe.cu")
    with pytest.raises(SourceError, match="larger than 8 MB"):
        Path("big.cu").write_bytes(b" " * (MAX_BYTES + 1))
        read_source("big.cu")
    with pytest.raises(SourceError, match="cannot be read"):
        read_source("a\0b")


def test_unreadable() -> None:
    Path("x.cu").write_text(KERNEL)
    Path("x.cu").chmod(0)
    user = os.geteuid()
    if user == 0:
        os.seteuid(65534)  # root reads everything
    try:
        with pytest.raises(SourceError, match=r"x\.cu: cannot be read: permission denied"):
            read_source("x.cu")
    finally:
        os.seteuid(user)


@pytest.mark.parametrize(
    "data",
    [
        b"// a\r\nint x;\r\n",
        b"\xef\xbb\xbf// bom\nint x;",
        "// zwölf\nint x;\n".encode("latin-1"),
        b"\xff\xfe" + "int x; // ü\n".encode("utf-16-le"),
        b"\xfe\xff" + "int x;\n".encode("utf-16-be"),
        "int x; // \x0c \u2028 \U0001f600\n".encode(),
        b"",
    ],
)
def test_bytes_survive_a_change(data: bytes) -> None:
    Path("x.cu").write_bytes(data)
    source = read_source("x.cu")
    write_source(source, source.text.replace("x", "yy"))
    codec = source.encoding.codec
    assert Path("x.cu").read_bytes() == data.replace("x".encode(codec), "yy".encode(codec))


def test_mode_and_link_survive(tmp_path: Path) -> None:
    touch(tmp_path, "real/x.cu")
    (tmp_path / "real/x.cu").chmod(0o640)
    Path("link.cu").symlink_to("real/x.cu")
    write_source(read_source("link.cu"), "new\n")
    assert Path("link.cu").is_symlink()
    assert Path("real/x.cu").read_text() == "new\n"
    assert Path("real/x.cu").stat().st_mode & 0o777 == 0o640
    assert sorted(p.name for p in Path("real").iterdir()) == ["x.cu"]


def test_a_file_that_changed_is_left_alone() -> None:
    Path("x.cu").write_text("a\n")
    source = read_source("x.cu")
    Path("x.cu").write_text("b\n")
    with pytest.raises(SourceError, match="changed while it was checked"):
        write_source(source, "c\n")
    assert Path("x.cu").read_text() == "b\n"


def test_a_character_the_encoding_has_not() -> None:
    Path("x.cu").write_bytes("// \xfc\n".encode("latin-1"))
    with pytest.raises(SourceError, match="latin-1 has no"):
        write_source(read_source("x.cu"), "// →\n")


def test_reader_follows_the_disk_and_open_buffers() -> None:
    reader = DiskReader()
    assert reader.read("a.cuh") is None
    Path("a.cuh").write_text("one")
    assert reader.read("a.cuh") == "one"
    Path("a.cuh").write_text("three")
    assert reader.read("./a.cuh") == "three"
    reader.show("a.cuh", "typed")
    assert reader.read("a.cuh") == "typed"
    reader.hide("a.cuh")
    assert reader.read("a.cuh") == "three"


def test_reader_refuses_what_is_no_text_file(tmp_path: Path) -> None:
    reader = DiskReader()
    os.mkfifo("pipe.h")
    Path("zero.h").write_bytes(b"a\0b")
    Path("big.h").write_bytes(b" " * (MAX_BYTES + 1))
    Path("old.h").write_bytes(b"// \xe9\n")
    assert [reader.read(n) for n in ("pipe.h", "zero.h", "big.h", ".", "/dev/zero", "a\0b")] == [None] * 6
    assert reader.read("old.h") == "// é\n"


def test_a_trusted_file_is_not_looked_at_again() -> None:
    reader = DiskReader(fresh_for=60)
    Path("a.cuh").write_text("one")
    assert reader.read("a.cuh") == "one"
    Path("a.cuh").write_text("three")
    assert reader.read("a.cuh") == "one"
    reader.forget()
    assert reader.read("a.cuh") == "three"
    reader.show("a.cuh", "typed")
    assert reader.read("a.cuh") == "typed"


def test_the_texts_of_files_are_part_of_the_budget(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = DiskReader()
    KEPT.rest()
    before = KEPT.bytes
    for number in range(10):
        Path(f"{number}.h").write_text("x" * 3_000)
        assert reader.read(f"{number}.h") == "x" * 3_000
    assert KEPT.bytes - before >= 30_000
    monkeypatch.setattr(KEPT, "most", 0)
    KEPT.rest()
    assert KEPT.bytes == 0 and reader.read("1.h") == "x" * 3_000


def test_a_text_that_was_let_go_is_read_again_while_it_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    reader = DiskReader(fresh_for=60)
    Path("a.cuh").write_text("one")
    assert reader.read("a.cuh") == "one" and reader.read("missing.cuh") is None
    monkeypatch.setattr(KEPT, "most", 0)
    KEPT.rest()
    assert reader.read("a.cuh") == "one" and reader.read("missing.cuh") is None
    reader.show("a.cuh", "typed")
    assert reader.read("a.cuh") == reader.read("a.cuh") == "typed"


@pytest.mark.parametrize(
    ("data", "text"),
    [
        ("// ü\n".encode("utf-8-sig"), "// ü\n"),
        ("// ü\n".encode("utf-16"), "// ü\n"),
        (b"\xfe\xff" + "// \U0001f600".encode("utf-16-be"), "// \U0001f600"),
        (b"\xff\xfe\0\0" + "// ü".encode("utf-32-le"), "// ü"),
        (b"\0\0\xfe\xff" + "// ü".encode("utf-32-be"), "// ü"),
        ("// ü".encode("cp1252"), "// ü"),
        (b"// \x93x\x94", "// \x93x\x94"),
    ],
)
def test_encodings(data: bytes, text: str) -> None:
    Path("x.cu").write_bytes(data)
    assert read_source("x.cu").text == text
    assert DiskReader().read("x.cu") == text


def test_a_link_to_itself_and_a_device() -> None:
    Path("loop.cu").symlink_to("loop.cu")
    with pytest.raises(SourceError, match=r"^loop\.cu: cannot be read: "):
        read_source("loop.cu")
    with pytest.raises(SourceError, match=r"^/dev/zero: cannot be read: is not a regular file$"):
        read_source("/dev/zero")


def test_utf16_without_a_mark_is_a_binary_file() -> None:
    Path("x.cu").write_bytes("int x;".encode("utf-16-le"))
    with pytest.raises(SourceError, match="a binary file, not source text"):
        read_source("x.cu")
