"""Settings, whichever way the client sends them, and files that change."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from server.client import PATIENCE, Client, ResponseError, held_back, serving, span
from server.samples import MERGEABLE, PULL, PUSH, UNUSED, diagnostic_codes, place

URI = "file:///k.cu"


def able(capabilities: dict[str, Any], **workspace: Any) -> dict[str, Any]:
    found = copy.deepcopy(capabilities)
    found["workspace"].update(workspace)
    return found


ASKING = able(PUSH, configuration=True, didChangeConfiguration={"dynamicRegistration": True})
WATCHING = able(PUSH, didChangeWatchedFiles={"dynamicRegistration": True})


def last(client: Client, uri: str = URI) -> list[object]:
    """Codes of the diagnostics published last."""
    published = [p for p in client.all_of("textDocument/publishDiagnostics") if p["uri"] == uri]
    return diagnostic_codes(published[-1]["diagnostics"]) if published else [None]


def severity(client: Client) -> int | None:
    published = client.all_of("textDocument/publishDiagnostics")
    found: dict[object, int] = (
        {d["code"]: d["severity"] for d in published[-1]["diagnostics"]} if published else {}
    )
    return found.get("SMEM101")


def test_in_the_initialization_options() -> None:
    with serving(PUSH, initializationOptions={"settings": {"severity": {"SMEM101": "hint"}}}) as client:
        client.open(URI, UNUSED)
        assert client.published(URI, 1)[0]["severity"] == 4


def test_asked_for_and_asked_for_again() -> None:
    with serving(ASKING, settings={"ignore": ["SMEM101"]}) as client:
        registered = client.wait_for("client/registerCapability")["registrations"]
        assert [r["method"] for r in registered] == ["workspace/didChangeConfiguration"]
        client.open(URI, MERGEABLE)
        client.until(lambda: last(client) == ["SMEM301"])
        client.settings = {"ignore": []}
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        client.until(lambda: "SMEM101" in last(client))


def test_settings_that_are_in_force_already_change_nothing() -> None:
    """Most clients send the same at the start and when they are asked: the file is not analysed a second time."""
    section = {"severity": {"SMEM101": "info"}, "logLevel": "debug"}
    capabilities = able(PULL, configuration=True, didChangeConfiguration={"dynamicRegistration": True})
    options = {"settings": section}
    with serving(capabilities, settings=section, hold_settings=True, initializationOptions=options) as client:
        client.open(URI, UNUSED)
        assert client.pulled(URI)["items"][0]["severity"] == 3
        client.wait_for("workspace/configuration")
        client.release()
        client.logged("the client's settings are the ones in force")
        client.notify("workspace/didChangeConfiguration", {"settings": None})
        client.until(lambda: client.log.count("are the ones in force") == 2)
        assert client.pulled(URI)["items"]
        assert client.log.count(f"{URI}, version 1") == 1
        assert not [m["method"] for m in client.received if m["method"].endswith("/refresh")]


def test_actions_asked_for_at_once_are_those_of_settings_that_come_late() -> None:
    """The first analysis is under way when the settings arrive: its place is taken by another one of the same text."""
    text = "".join(MERGEABLE.replace("sum", f"sum{n}") for n in range(40))
    with serving(ASKING, settings={"ignore": ["SMEM301"]}, hold_settings=True) as client:
        client.wait_for("workspace/configuration")
        client.open(URI, text)
        whole = span((0, 0), (len(text.splitlines()), 0))
        asked = {"textDocument": {"uri": URI}, "range": whole, "context": {"diagnostics": []}}
        answer = client.ask("textDocument/codeAction", asked)
        client.release()
        titles = {action["title"] for action in answer.result(PATIENCE)}
        assert "Remove the declaration of `spare`" in titles
        client.until(lambda: last(client) == ["SMEM101"] * 40)
        titles = {action["title"] for action in client.request("textDocument/codeAction", asked)}
        assert "Remove the declaration of `spare`" in titles
        assert "Suppress SMEM301 here" not in titles


def test_actions_for_a_text_that_gets_another_number_only(tmp_path: Path) -> None:
    text = MERGEABLE + "// slow\n"
    with serving(PUSH, command=held_back(tmp_path / "gate")) as client:
        client.open(URI, text)
        client.logged("under way")
        asked = {"textDocument": {"uri": URI}, "range": span((1, 0), (4, 0)), "context": {"diagnostics": []}}
        answer = client.ask("textDocument/codeAction", asked)
        client.change(URI, 2, {"text": text})
        (tmp_path / "gate").touch()
        actions = answer.result(PATIENCE)
        (remove,) = [action for action in actions if action["title"].startswith("Remove")]
        assert client.request("codeAction/resolve", remove)["edit"]


def test_an_action_is_done_although_the_settings_have_changed_since() -> None:
    """Registers change what the title says and not what is done; a rule that is ignored is another matter."""
    with serving(ASKING, settings={"ignore": ["SMEM301"], "registers": 40}, hold_settings=True) as client:
        client.wait_for("workspace/configuration")
        client.open(URI, MERGEABLE)
        actions = client.actions(URI, place(MERGEABLE, "red["), place(MERGEABLE, "spare"))
        fixes = [action for action in actions if action["kind"] == "quickfix"]
        (merge,) = (action for action in fixes if action["title"].startswith("Merge tile + red"))
        (everywhere,) = client.actions(URI, (5, 0), only=["refactor"])
        (remove,) = (action for action in fixes if action["title"].startswith("Remove"))
        client.release()
        client.until(lambda: last(client) == ["SMEM101"])
        assert client.request("codeAction/resolve", remove)["edit"]
        assert client.request("codeAction/resolve", everywhere)["edit"]
        with pytest.raises(ResponseError) as caught:
            client.request("codeAction/resolve", merge)
        assert caught.value.code == -32801


@pytest.mark.parametrize(
    ("level", "shown"), [("error", ""), ("warning", "W"), ("info", "WI"), ("debug", "WID"), ("loud", "WI")]
)
def test_as_much_is_logged_as_the_client_asks_for(level: str, shown: str) -> None:
    client = Client()
    try:
        client.initialize(PUSH, initializationOptions={"settings": {"logLevel": level}})
        client.open(URI, UNUSED)
        client.published(URI, 1)
        client.change(URI, 1, {"text": UNUSED})  # a version that does not rise is a warning
        client.notify("no/such")  # information
        assert client.shut_down() == 0
        client.join()
    finally:
        client.kill()
    found = {line.split()[0][0] for line in client.log.splitlines() if " smem_lsp." in line}
    assert found == set(shown), client.log


def test_the_log_level_can_change() -> None:
    with serving(PUSH, initializationOptions={"settings": {"logLevel": "error"}}) as client:
        client.open(URI, UNUSED)
        client.published(URI, 1)
        client.notify("workspace/didChangeConfiguration", {"settings": {"smem": {"logLevel": "debug"}}})
        client.logged("the client's settings are the ones in force")
        client.change(URI, 2, {"text": MERGEABLE})
        client.logged(f"{URI}, version 2: 2 findings in ")


def test_pushed_by_a_client_that_cannot_be_asked() -> None:
    with serving(PUSH) as client:
        client.open(URI, UNUSED)
        client.published(URI, 1)
        client.notify(
            "workspace/didChangeConfiguration", {"settings": {"smem": {"severity": {"SMEM101": "info"}}}}
        )
        client.until(lambda: severity(client) == 3)
        assert "workspace/configuration" not in [m["method"] for m in client.received]


def test_null_leaves_the_initialization_options_in_force() -> None:
    with serving(
        ASKING, settings=None, initializationOptions={"settings": {"ignore": ["SMEM101"]}}
    ) as client:
        client.wait_for("workspace/configuration")
        client.open(URI, MERGEABLE)
        client.until(lambda: last(client) == ["SMEM301"])


def test_each_folder_has_its_own(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    folders = (one.as_uri(), two.as_uri())

    def settings(item: dict[str, Any]) -> object:
        return {"ignore": ["SMEM101"]} if item.get("scopeUri") == folders[1] else {}

    with serving(ASKING, settings=settings, folders=folders) as client:
        first, second = (one / "a.cu").as_uri(), (two / "a.cu").as_uri()
        client.open(first, UNUSED)
        client.open(second, UNUSED)
        client.until(lambda: last(client, first) == ["SMEM101"] and last(client, second) == [])


def test_a_file_under_the_clients_settings(tmp_path: Path) -> None:
    (tmp_path / "smem.toml").write_text('severity.SMEM101 = "hint"\nignore = ["SMEM301"]\n')
    uri = (tmp_path / "k.cu").as_uri()
    with serving(PUSH, folders=(tmp_path.as_uri(),)) as client:
        client.open(uri, MERGEABLE)
        assert [(d["code"], d["severity"]) for d in client.published(uri, 1)] == [("SMEM101", 4)]


def test_a_wrong_file_is_reported_once(tmp_path: Path) -> None:
    config = tmp_path / "smem.toml"
    config.write_text("thread = 5\n")
    uri = (tmp_path / "k.cu").as_uri()
    with serving(WATCHING) as client:
        client.open(uri, UNUSED)
        assert diagnostic_codes(client.published(uri, 1)) == ["SMEM101"]
        client.change(uri, 2, {"text": UNUSED + "\n"})
        client.published(uri, 2)
        (shown,) = client.all_of("window/showMessage")
        assert shown["type"] == 2 and 'unknown key "thread"' in shown["message"]
        config.write_text("ignore = ['SMEM101']\n")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 2}]})
        client.until(lambda: last(client, uri) == [])
        config.write_text("threads = 'x'\n")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": config.as_uri(), "type": 2}]})
        client.until(lambda: len(client.all_of("window/showMessage")) == 2)
        client.until(lambda: last(client, uri) == ["SMEM101"])


def test_wrong_settings_of_the_client_are_reported_once() -> None:
    with serving(PUSH, initializationOptions={"settings": {"threads": -1, "arch": ["sm_0"]}}) as client:
        for number in range(3):
            client.open(f"file:///{number}.cu", UNUSED)
            client.published(f"file:///{number}.cu", 1)
        assert len(client.all_of("window/showMessage")) == 2


def test_a_header_that_changes_on_the_disk(tmp_path: Path) -> None:
    header = tmp_path / "n.cuh"
    header.write_text("#define N 64\n")
    uri = (tmp_path / "k.cu").as_uri()
    with serving(WATCHING) as client:
        watchers = client.wait_for("client/registerCapability")["registrations"][0]["registerOptions"][
            "watchers"
        ]
        assert "**/{smem,pyproject}.toml" in [watcher["globPattern"] for watcher in watchers]
        client.open(uri, '#include "n.cuh"\n' + UNUSED.replace("256", "N"))
        client.published(uri, 1)
        assert "256 B" in str(client.hover(uri, 2, 20))
        header.write_text("#define N 3200\n")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": header.as_uri(), "type": 2}]})
        client.until(lambda: "12,800 B" in str(client.hover(uri, 2, 20)))


def test_a_file_is_read_as_it_is_compiled(tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("#ifdef WIDE\n" + UNUSED + "#endif\n")
    database = tmp_path / "compile_commands.json"
    entry = {"directory": str(tmp_path), "file": "k.cu", "command": "nvcc -c k.cu"}
    database.write_text(json.dumps([entry]))
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(source.as_uri(), source.read_text())
        client.until(lambda: last(client, source.as_uri()) == [])
        database.write_text(json.dumps([{**entry, "command": "nvcc -DWIDE -c k.cu"}]))
        change = {"uri": database.as_uri(), "type": 2}
        client.notify("workspace/didChangeWatchedFiles", {"changes": [change]})
        client.until(lambda: last(client, source.as_uri()) == ["SMEM101"])


def test_a_header_that_appears(tmp_path: Path) -> None:
    source, header = tmp_path / "k.cu", tmp_path / "size.cuh"
    source.write_text('#include "size.cuh"\n#ifdef WIDE\n' + UNUSED + "#endif\n")
    with serving(WATCHING, folders=(tmp_path.as_uri(),)) as client:
        client.open(source.as_uri(), source.read_text())
        client.until(lambda: last(client, source.as_uri()) == [])
        header.write_text("#define WIDE\n")
        client.notify("workspace/didChangeWatchedFiles", {"changes": [{"uri": header.as_uri(), "type": 1}]})
        client.until(lambda: last(client, source.as_uri()) == ["SMEM101"])


def test_clients_are_asked_to_ask_again() -> None:
    with serving(PULL) as client:
        client.open(URI, UNUSED)
        client.pulled(URI)
        client.notify("workspace/didChangeConfiguration", {"settings": {"smem": {"ignore": ["SMEM101"]}}})
        for name in ("diagnostic", "codeLens", "inlayHint"):
            client.wait_for(f"workspace/{name}/refresh")
        assert client.pulled(URI)["items"] == []


@pytest.mark.parametrize(("name", "method"), [("codeLens", "codeLens"), ("inlayHints", "inlayHint")])
def test_lenses_and_hints_can_be_switched_off(name: str, method: str) -> None:
    params = {
        "textDocument": {"uri": URI},
        "range": {"start": {"line": 0, "character": 0}, "end": {"line": 9, "character": 0}},
    }
    with serving(PUSH, initializationOptions={"settings": {name: {"enable": False}}}) as client:
        client.open(URI, MERGEABLE)
        assert client.request(f"textDocument/{method}", params) == []


def test_excluded_files_have_no_findings(tmp_path: Path) -> None:
    (tmp_path / "smem.toml").write_text('exclude = ["vendor"]\n')
    uri = (tmp_path / "vendor" / "k.cu").as_uri()
    with serving(PUSH) as client:
        client.open(uri, UNUSED)
        assert client.published(uri, 1) == []


def test_folders_come_and_go(tmp_path: Path) -> None:
    with serving(PUSH) as client:
        uri = (tmp_path / "k.cu").as_uri()
        client.open(uri, UNUSED)
        client.published(uri, 1)
        event = {"added": [{"uri": tmp_path.as_uri(), "name": "w"}], "removed": []}
        client.notify("workspace/didChangeWorkspaceFolders", {"event": event})
        client.until(lambda: len(client.all_of("textDocument/publishDiagnostics")) == 2)


@pytest.mark.parametrize(
    "options", [None, 5, [], {"settings": 5}, {"settings": {"smem": 5}}, {"trusted": "yes"}]
)
def test_initialization_options_of_a_wrong_type(options: object) -> None:
    with serving(PUSH, initializationOptions=options) as client:
        client.open(URI, UNUSED)
        assert diagnostic_codes(client.published(URI, 1)) == ["SMEM101"]
