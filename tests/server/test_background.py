"""Registers from a compiler in the background: a fake one that misbehaves, and the real one."""

from __future__ import annotations

import json
import re
import time
from pathlib import Path
from typing import Any

import pytest
from server.client import Client, replacing, serving
from server.samples import MERGEABLE, place
from toolchain import nvcc, require

REFRESH = {
    "window": {"workDoneProgress": True},
    "workspace": {
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
        "diagnostics": {"refreshSupport": True},
    },
}
SUM = "_Z3sumPKfPf"


def fake(folder: Path, body: str) -> str:
    """An nvcc in shell; ``$ARCH`` is the target, and every run leaves a line in ``runs``."""
    place = folder / "nvcc"
    place.write_text(
        "#!/bin/sh\n"
        'if [ "$1" = --list-gpu-code ]; then echo sm_80; echo sm_90; exit 0; fi\n'
        'for word; do case "$word" in -arch=*) ARCH="${word#-arch=}";; esac; done\n'
        f"echo $ARCH $$ >> {folder}/runs\n"
        f"{body}\n"
    )
    place.chmod(0o755)
    return str(place)


def says(registers: int, shared: int = 5280, spills: int = 0) -> str:
    """What ptxas prints for the kernel of MERGEABLE."""
    return (
        f"echo \"ptxas info    : Compiling entry function '{SUM}' for '$ARCH'\"\n"
        f"echo '    0 bytes stack frame, {spills} bytes spill stores, 0 bytes spill loads'\n"
        f"echo 'ptxas info    : Used {registers} registers, used 1 barriers, {shared} bytes smem'\n"
    )


def runs(folder: Path) -> list[str]:
    """The targets that were compiled for, in order."""
    place = folder / "runs"
    return [line.split()[0] for line in place.read_text().splitlines()] if place.exists() else []


def settings(compiler: str, **others: Any) -> dict[str, Any]:
    arch = others.pop("arch", ["sm_90"])
    return {"trusted": True, "settings": {"nvcc": compiler, "arch": arch, "logLevel": "debug", **others}}


def lens(client: Client, uri: str) -> str:
    """The title of the only one; it may come late."""
    found: list[Any] = []

    def came() -> bool:
        found[:] = client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
        return bool(found)

    client.until(came)
    (only,) = found
    title: str = only["command"]["title"]
    return title


def quiet(seconds: float = 2.0) -> None:
    """Time in which the server would start another compiler."""
    time.sleep(seconds)


def gone(process: int) -> bool:
    state = Path(f"/proc/{process}/stat")
    limit = time.monotonic() + 300
    while time.monotonic() < limit:
        if not state.exists() or state.read_text().rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_registers_arrive_and_the_client_is_told_to_ask_again(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    compiler = fake(tmp_path, says(40, spills=316))
    with serving(REFRESH, initializationOptions=settings(compiler)) as client:
        client.open(uri, MERGEABLE)
        assert "registers not known" in lens(client, uri)
        for what in ("diagnostic", "codeLens", "inlayHint"):
            client.wait_for(f"workspace/{what}/refresh")
        client.until(lambda: "6 blocks/SM" in lens(client, uri), "blocks with 40 registers")
        assert lens(client, uri).endswith("6 blocks/SM, limited by registers · race-free ✓")
        line = next(i for i, text in enumerate(MERGEABLE.splitlines()) if "sum(" in text)
        hover = client.hover(uri, line, MERGEABLE.splitlines()[line].index("sum("))
        assert hover is not None
        assert "40 registers nvcc" in hover and "Spilled: 316 B with 40 registers on sm_90" in hover
        quiet()
        assert runs(tmp_path) == ["sm_90"]
        ends = [p["value"] for p in client.all_of("$/progress") if p["value"]["kind"] == "end"]
        assert ends == [{"kind": "end"}]


def test_what_was_measured_of_a_kernel_outlives_an_edit_elsewhere(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    gate = tmp_path / "gate"
    first = fake(tmp_path, f"if [ -e {gate} ]; then exit 1; fi\n{says(40)}")
    with serving(REFRESH, initializationOptions=settings(first)) as client:
        client.open(uri, MERGEABLE)
        client.until(lambda: "limited by registers" in lens(client, uri))
        gate.touch()  # from now on nothing compiles
        client.change(uri, 2, replacing((0, 0), (0, 0), "// above\n"))
        assert "limited by registers" in lens(client, uri)
        client.change(uri, 3, replacing((7, 0), (7, 0), "  out[0] = 2;\n"))  # in the kernel
        assert "limited by registers before this edit" in lens(client, uri)  # the numbers stay, and say so
        line, column = place(MERGEABLE, "sum(")
        assert "registers nvcc before this edit" in (client.hover(uri, line + 1, column) or "")


def test_bytes_that_differ_are_not_hidden(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, says(32, shared=6000)))) as client:
        client.open(uri, MERGEABLE)
        assert "SMEM301" in {d["code"] for d in client.published(uri, 1)}
        client.until(lambda: "5.9 KiB" in lens(client, uri), "ptxas's bytes")
        line = next(i for i, text in enumerate(MERGEABLE.splitlines()) if "sum(" in text)
        hover = client.hover(uri, line, MERGEABLE.splitlines()[line].index("sum("))
        assert hover is not None and "ptxas reports 6,000 B of static shared memory; 5,248 B" in hover
        last = client.all_of("textDocument/publishDiagnostics")[-1]["diagnostics"]
        assert "SMEM301" not in {d["code"] for d in last}  # a proof of ours is wrong somewhere


@pytest.mark.parametrize(
    ("body", "reason"),
    [
        ("echo 'kernel.cu(3): error: no such thing'; exit 2", "kernel.cu(3): error: no such thing"),
        ("exit 7", "nvcc failed without a message"),
        ("exec yes", "nvcc printed more than 16 MB"),
    ],
)
def test_a_failure_is_one_line_and_is_not_repeated(tmp_path: Path, body: str, reason: str) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, body))) as client:
        client.open(uri, MERGEABLE)
        before = client.published(uri, 1)
        client.logged(f"no registers from nvcc for k.cu: {reason} (sm_90)")
        client.until(lambda: any(p["value"]["kind"] == "end" for p in client.all_of("$/progress")))
        (end,) = [p["value"] for p in client.all_of("$/progress") if p["value"]["kind"] == "end"]
        assert reason in end["message"]
        assert lens(client, uri).startswith("5.1 → 4.1 KiB")
        client.change(uri, 2, {"text": MERGEABLE + "//\n"})
        client.change(uri, 3, {"text": MERGEABLE})  # as it was
        assert {d["code"] for d in client.published(uri, 3)} == {d["code"] for d in before}
        quiet()
        assert runs(tmp_path) == ["sm_90"]
        assert client.log.count("no registers from nvcc") == 1


def test_garbage_says_nothing(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    body = "printf '\\377\\000 Used registers'; head -c 100000 /dev/urandom"
    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, body))) as client:
        client.open(uri, MERGEABLE)
        client.until(lambda: any(p["value"]["kind"] == "end" for p in client.all_of("$/progress")))
        assert "registers not known" in lens(client, uri)
        assert not client.all_of("workspace/inlayHint/refresh")


def test_a_compiler_that_hangs_blocks_nothing_and_goes_with_the_text(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    body = f"sleep 900 & echo $! >> {tmp_path}/children\nwait"

    def children() -> list[str]:
        return (tmp_path / "children").read_text().split()

    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, body))) as client:
        client.open(uri, MERGEABLE)
        client.until(lambda: (tmp_path / "children").exists())
        assert lens(client, uri)  # answered while it hangs
        client.change(uri, 2, {"text": MERGEABLE + "// more\n"})
        assert gone(int(children()[0]))
        client.until(lambda: len(children()) == 2, "a run for the new text")
        client.close(uri)
        assert gone(int(children()[1]))
        client.open(uri, MERGEABLE + "// and more\n", version=3)
        client.until(lambda: len(children()) == 3)
    assert gone(int(children()[2]))  # the server is gone, too


def test_never_while_somebody_types(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, says(40)))) as client:
        client.open(uri, MERGEABLE)
        for version in range(2, 12):
            client.change(uri, version, replacing((0, 0), (0, 0), " "))
            time.sleep(0.2)
        assert runs(tmp_path) == []
        client.until(lambda: runs(tmp_path) == ["sm_90"], "the compiler, once nobody types")


def test_one_at_a_time_and_only_targets_that_it_knows(tmp_path: Path) -> None:
    first, second = (tmp_path / "a.cu").as_uri(), (tmp_path / "b.cu").as_uri()
    body = f"mkdir {tmp_path}/lock || touch {tmp_path}/two\nsleep 0.3\nrmdir {tmp_path}/lock\n{says(40)}"
    options = settings(fake(tmp_path, body), arch=["sm_80", "sm_70", "sm_90"])
    with serving(REFRESH, initializationOptions=options) as client:
        client.open(first, MERGEABLE)
        client.open(second, MERGEABLE + "//\n")
        client.until(lambda: len(client.all_of("workspace/inlayHint/refresh")) == 2)
        assert sorted(runs(tmp_path)) == ["sm_80", "sm_80", "sm_90", "sm_90"]
        assert not (tmp_path / "two").exists()
        assert client.log.count("this nvcc does not compile for it (sm_70)") == 1


def test_a_text_without_shared_memory_is_not_compiled(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, says(40)))) as client:
        client.open(uri, "__global__ void k(float* p) { p[0] = 1; }\n")
        client.published(uri, 1)
        quiet()
        assert runs(tmp_path) == []


@pytest.mark.parametrize("trusted", [False, None, "yes"])
def test_a_compiler_that_the_workspace_names_needs_trust(tmp_path: Path, trusted: object) -> None:
    fake(tmp_path, says(40))
    (tmp_path / "smem.toml").write_text('nvcc = "./nvcc"\narch = ["sm_90"]\n')
    (tmp_path / ".vscode").mkdir()
    uri = (tmp_path / "k.cu").as_uri()
    # A client's settings may come out of a file of the workspace, too.
    options = {"trusted": trusted, "settings": {"nvcc": str(tmp_path / "nvcc"), "logLevel": "debug"}}
    with serving(REFRESH, folders=(tmp_path.as_uri(),), initializationOptions=options) as client:
        client.open(uri, MERGEABLE)
        client.published(uri, 1)
        client.logged("is not used: the workspace is not trusted")
        quiet()
        assert runs(tmp_path) == []


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("options", [{}, {"trusted": False}, {"trusted": 1}])
@pytest.mark.parametrize("where", ["CUDA_HOME", "PATH"])
def test_no_compiler_runs_without_trust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, options: dict[str, Any]
) -> None:
    """That of the machine neither, whatever the workspace and its settings say."""
    (tmp_path / "bin").mkdir()
    fake(tmp_path / "bin", says(40))
    monkeypatch.setenv(where, str(tmp_path if where == "CUDA_HOME" else tmp_path / "bin"))
    (tmp_path / "smem.toml").write_text('nvcc = "nvcc"\narch = ["sm_90"]\n')
    uri = (tmp_path / "k.cu").as_uri()
    given = {"settings": {"logLevel": "debug"}, **options}
    with serving(REFRESH, folders=(tmp_path.as_uri(),), initializationOptions=given) as client:
        client.settings = {"nvcc": "nvcc", "trusted": True}
        client.open(uri, MERGEABLE)
        client.published(uri, 1)
        quiet()
        assert runs(tmp_path / "bin") == []


def test_a_compiler_that_a_trusted_workspace_names_is_used(tmp_path: Path) -> None:
    fake(tmp_path, says(40))
    (tmp_path / "smem.toml").write_text('nvcc = "./nvcc"\narch = ["sm_90"]\n')
    uri = (tmp_path / "k.cu").as_uri()
    with serving(REFRESH, folders=(tmp_path.as_uri(),), initializationOptions={"trusted": True}) as client:
        client.open(uri, MERGEABLE)
        client.until(lambda: "limited by registers" in lens(client, uri))


def test_off(tmp_path: Path) -> None:
    uri = (tmp_path / "k.cu").as_uri()
    with serving(REFRESH, initializationOptions={"settings": {"nvcc": "off", "logLevel": "debug"}}) as client:
        client.open(uri, MERGEABLE)
        client.published(uri, 1)
        quiet()
        assert "compiling" not in client.log and not client.all_of("$/progress")


def test_hostile_settings_run_nothing(tmp_path: Path) -> None:
    """Macros and folders of a workspace reach the compiler as words that mean nothing to a shell."""
    body = f'for word; do printf "%s\\n" "$word" >> {tmp_path}/words; done\n{says(40)}'
    folder = tmp_path / "a $(touch ran)"
    folder.mkdir()
    uri = (folder / "k.cu").as_uri()
    hostile = {"defines": ["X=`touch ran`"], "includeDirs": ["$(touch ran)"]}
    (folder / "compile_commands.json").write_text(
        json.dumps(
            [{"file": "k.cu", "directory": ".", "command": "nvcc -ccbin evil -DY='$(touch ran)' -c k.cu"}]
        )
    )
    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, body), **hostile)) as client:
        client.open(uri, MERGEABLE)
        client.wait_for("workspace/inlayHint/refresh")
    words = (tmp_path / "words").read_text().splitlines()
    assert all(re.fullmatch(r"[\w./+=:@-]+", word, re.A) for word in words), words
    assert "evil" not in " ".join(words)


def test_a_header_that_nvcc_would_read_otherwise(tmp_path: Path) -> None:
    """An unsaved header, and one that is no regular file: nothing is compiled, nothing is claimed."""
    header, uri = tmp_path / "size.h", (tmp_path / "k.cu").as_uri()
    header.write_text("#define SIZE 8\n")
    text = '#include "size.h"\n' + MERGEABLE
    with serving(REFRESH, initializationOptions=settings(fake(tmp_path, says(40)))) as client:
        client.open(header.as_uri(), "#define SIZE 9\n")
        client.open(uri, text)
        client.published(uri, 1)
        quiet()
        assert runs(tmp_path) == []
        header.write_text("#define SIZE 9\n")
        client.change(uri, 2, {"text": text + "//\n"})
        client.wait_for("workspace/inlayHint/refresh")
        assert runs(tmp_path) == ["sm_90"]
        header.unlink()
        header.symlink_to("/dev/zero")
        client.close(header.as_uri())
        client.change(uri, 3, {"text": text + "///\n"})
        client.published(uri, 3)
        quiet()
        assert runs(tmp_path) == ["sm_90"]


def test_the_real_one(tmp_path: Path) -> None:
    compiler = str(require(nvcc(), "no nvcc: the background is not tried with it"))
    uri = (tmp_path / "k.cu").as_uri()
    (tmp_path / "size.h").write_text("#define SIZE 256\n")
    text = '#include "size.h"\n' + MERGEABLE.replace("red[256]", "red[SIZE]")
    with serving(REFRESH, initializationOptions=settings(compiler, arch=["sm_80", "sm_90"])) as client:
        client.open(uri, text)
        client.wait_for("workspace/inlayHint/refresh")
        line = next(i for i, text in enumerate(text.splitlines()) if "sum(" in text)
        column = text.splitlines()[line].index("sum(")
        client.until(lambda: "registers nvcc" in (client.hover(uri, line, column) or ""))
        hover = client.hover(uri, line, column) or ""
        assert len(re.findall(r"\(sm_\d+, 256 threads, \d+ registers nvcc\)", hover)) == 2
        assert "ptxas reports" not in hover  # its bytes are those that were worked out


def test_a_merge_that_costs_a_block_is_withdrawn(tmp_path: Path) -> None:
    """The text after the merge is compiled too, after the text itself."""
    uri = (tmp_path / "k.cu").as_uri()
    body = f'if grep -q "(&red)" kernel.cu; then\n{says(56, 4224)}else\n{says(40, 5248)}fi'
    compiler = fake(tmp_path, body)
    with serving(REFRESH, initializationOptions=settings(compiler)) as client:
        client.open(uri, MERGEABLE)
        at = place(MERGEABLE, "red[256]")
        client.until(lambda: len(runs(tmp_path)) == 2, "a run for the text after the merge")
        client.until(
            lambda: not [a for a in client.actions(uri, at) if a["title"].startswith("Merge tile + red")],
            "no merge is offered any more",
        )
        hover = client.hover(uri, *at)
        assert hover is not None
        assert "it costs 16 registers: 6 → 4 blocks/SM on sm_90" in hover
        quiet()
        assert runs(tmp_path) == ["sm_90", "sm_90"]
