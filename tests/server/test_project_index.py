"""A header is read as the files of its project include it: found in the background, renewed when they change."""

from __future__ import annotations

from pathlib import Path

from server.client import Client, replacing, serving
from server.samples import PUSH

WATCHING = {**PUSH, "workspace": {"didChangeWatchedFiles": {"dynamicRegistration": True}}}
KERNEL = """\
__global__ void k(float* out) {
  __shared__ float scratch[TILE];
  scratch[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = scratch[TILE - 1 - threadIdx.x];
}
"""


def told(client: Client, path: Path, size: str) -> bool:
    """Does the hover of the buffer name this size?"""
    return size in str(client.hover(path.as_uri(), 1, 20))


def changed(client: Client, path: Path, kind: int) -> None:
    client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": path.as_uri(), "type": kind}]})


def test_a_header_gets_its_context_and_follows_it(tmp_path: Path) -> None:
    header, runner = tmp_path / "k.cuh", tmp_path / "runner.cu"
    header.write_text(KERNEL)
    runner.write_text('#define TILE 64\n#include "k.cuh"\n')
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(header.as_uri(), KERNEL)
        client.until(lambda: told(client, header, "256 B"), "the context found in the background")
        runner.write_text('#define TILE 128\n#include "k.cuh"\n')
        changed(client, runner, 2)
        client.until(lambda: told(client, header, "512 B"), "the changed context")
        client.open(runner.as_uri(), '#define TILE 32\n#include "k.cuh"\n')
        client.until(lambda: told(client, header, "128 B"), "the context of an open buffer")
        client.close(runner.as_uri())
        runner.rename(tmp_path / "other.cu")
        changed(client, runner, 3)
        client.until(lambda: not told(client, header, "12"), "the end of the context")
        changed(client, tmp_path / "other.cu", 1)
        client.until(lambda: told(client, header, "512 B"), "the context under its new name")


def test_a_file_that_begins_to_include_the_header(tmp_path: Path) -> None:
    header, runner = tmp_path / "k.cuh", tmp_path / "runner.cu"
    header.write_text(KERNEL)
    runner.write_text("int a;\n")
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(header.as_uri(), KERNEL)
        client.published(header.as_uri(), 1)
        client.open(runner.as_uri(), "int a;\n")
        client.change(runner.as_uri(), 2, {"text": '#define TILE 64\n#include "k.cuh"\n'})
        client.until(lambda: told(client, header, "256 B"), "the new context")


def lenses(client: Client, path: Path) -> list[str]:
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
    return [lens["command"]["title"] for lens in found or ()]


def contexts(client: Client, path: Path) -> list[str]:
    """The files that the lens of the context offers."""
    found = client.request("textDocument/codeLens", {"textDocument": {"uri": path.as_uri()}})
    offered = [lens["command"] for lens in found or () if lens["command"]["command"] == "smem.chooseContext"]
    return [Path(each["path"]).name for lens in offered for each in lens["arguments"][0]["contexts"]]


def test_a_lens_names_the_context_and_a_setting_chooses_it(tmp_path: Path) -> None:
    header = tmp_path / "k.cuh"
    header.write_text(KERNEL)
    for name, size in (("one", 64), ("two", 128)):
        main = f'#define TILE {size}\n#include "k.cuh"\nvoid go(float* p) {{ k<<<1, TILE>>>(p); }}\n'
        (tmp_path / f"{name}.cu").write_text(main)
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(header.as_uri(), KERNEL)
        both = ["TILE=64 · one.cu:3 ▾", "TILE=128 · two.cu:3 ▾"]
        client.until(lambda: len(contexts(client, header)) == 2, "both contexts, once nobody types")
        assert both[0] in lenses(client, header)
        settings = {"smem": {"contexts": {"k.cuh": "two.cu"}}}
        client.notify("workspace/didChangeConfiguration", {"settings": settings})
        client.until(lambda: told(client, header, "512 B"), "the chosen context")
        client.until(lambda: both[0] not in lenses(client, header), "the chosen context alone")
        assert both[1] in lenses(client, header)


def test_a_keystroke_in_a_header_is_answered_through_one_context_first(tmp_path: Path) -> None:
    header = tmp_path / "k.cuh"
    header.write_text(KERNEL)
    for size in (64, 128):
        (tmp_path / f"m{size}.cu").write_text(f'#define TILE {size}\n#include "k.cuh"\n')
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(header.as_uri(), KERNEL)
        client.until(lambda: len(contexts(client, header)) == 2, "two contexts")
        client.change(header.as_uri(), 2, {"text": KERNEL.replace("TILE - 1", "TILE - 2")})
        assert len(contexts(client, header)) == 1
        client.until(lambda: len(contexts(client, header)) == 2, "both contexts again")


def test_a_key_in_a_launcher_renews_the_lens_of_the_header_at_once(tmp_path: Path) -> None:
    """The first answer after the key is the new one: it does not wait until nobody types. While the launcher does not
    parse, the lens stays as it was."""
    header, main = tmp_path / "k.cuh", tmp_path / "main.cu"
    text = '#define TILE 64\n#include "k.cuh"\nvoid go(float* p) { k<<<1, TILE>>>(p); }\n'
    header.write_text(KERNEL)
    main.write_text(text)
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(main.as_uri(), text)
        client.open(header.as_uri(), KERNEL)
        client.until(lambda: contexts(client, header) == ["main.cu"], "the context")
        client.published(main.as_uri(), 1)
        at = len("#define TILE ")
        client.change(main.as_uri(), 2, replacing((0, at), (0, at + 2), "32"))
        assert "TILE=32 · main.cu:3 ▾" in lenses(client, header)
        client.change(main.as_uri(), 3, replacing((2, 20), (2, 20), "{"))
        assert "TILE=32 · main.cu:3 ▾" in lenses(client, header)
        client.change(main.as_uri(), 4, replacing((2, 20), (2, 21), ""))
        client.change(main.as_uri(), 5, replacing((0, at), (0, at + 2), "16"))
        assert "TILE=16 · main.cu:3 ▾" in lenses(client, header)


def test_the_hover_of_a_kernel_shows_its_unit(tmp_path: Path) -> None:
    header = tmp_path / "k.cuh"
    header.write_text(KERNEL)
    main = '#define TILE 64\n#include "k.cuh"\nvoid go(float* p, int n) { k<<<1, dim3(n, 2)>>>(p); }\n'
    (tmp_path / "main.cu").write_text(main)
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(header.as_uri(), KERNEL)
        client.until(lambda: "main.cu" in str(client.hover(header.as_uri(), 0, 16)), "the unit")
        hover = str(client.hover(header.as_uri(), 0, 16))
    assert "with `TILE=64`" in hover
    assert "Launched at `main.cu:3`: block `n x 2 x 1`" in hover


def test_a_keystroke_in_the_file_that_calls_the_launcher(tmp_path: Path) -> None:
    ops, caller = tmp_path / "ops.cu", tmp_path / "main.cpp"
    kernel = KERNEL.replace("TILE", "64")
    ops.write_text(kernel + "void run(float* p, int threads) { k<<<1, threads>>>(p); }\n")
    call = "void run(float*, int);\nint main() { run(nullptr, 64); }\n"
    caller.write_text("int main() {}\n")

    def says(words: str) -> bool:
        return words in str(client.hover(ops.as_uri(), 0, 16))

    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(ops.as_uri(), ops.read_text())
        client.until(lambda: says("block is not known"), "a launch that nobody leads to")
        assert says("At most 64 threads in x, if no index leaves `scratch[64]`")
        client.open(caller.as_uri(), caller.read_text())
        client.change(caller.as_uri(), 2, {"text": call})
        client.until(lambda: says("64×1×1 block of line 7, called from main.cpp"), "a caller that is typed")
        client.change(caller.as_uri(), 3, {"text": call.replace("64", "32")})
        client.until(lambda: says("32×1×1 block"), "another number")
        client.change(caller.as_uri(), 4, {"text": "int main() {}\n"})
        client.until(lambda: says("block is not known"), "the end of the call")
        client.close(caller.as_uri())
        caller.write_text(call)
        changed(client, caller, 2)
        client.until(lambda: says("64×1×1 block"), "a caller on the disk")
