"""The conversation with VS Code, Neovim and Emacs, by the capabilities they were recorded with.

pytest-lsp's client also checks every message of the server against what the client said it can take.
"""

from __future__ import annotations

import asyncio
import sys
import warnings
from typing import Any

import pytest

pytest_lsp = pytest.importorskip("pytest_lsp", reason="pytest-lsp is not installed: no recorded capabilities")

from lsprotocol import types  # noqa: E402
from server.client import PATIENCE, ROOT  # noqa: E402
from server.samples import FIXED, MERGEABLE, UNUSED, place  # noqa: E402

URI = "file:///work/k.cu"
CLIENTS = ("visual-studio-code@v1.65.2", "neovim@v0.7.0", "neovim@v0.10.0", "neovim@v0.11.0", "emacs@v29.1")


def talk(capabilities: types.ClientCapabilities, text: str) -> dict[str, Any]:
    return asyncio.run(asyncio.wait_for(conversation(capabilities, text), PATIENCE))


async def conversation(capabilities: types.ClientCapabilities, text: str) -> dict[str, Any]:
    """Open a file, take its findings, ask for everything an editor asks for."""
    client = pytest_lsp.make_test_lsp_client()
    await client.start_io(sys.executable, "-m", "smem_lsp", "server", cwd=str(ROOT))
    found: dict[str, Any] = {}
    try:
        result = await client.initialize_session(
            types.InitializeParams(capabilities=capabilities, root_uri="file:///work", process_id=None)
        )
        found["offered"] = result.capabilities
        client.text_document_did_open(
            types.DidOpenTextDocumentParams(types.TextDocumentItem(URI, "cuda-cpp", 1, text))
        )
        identity = types.TextDocumentIdentifier(URI)
        if result.capabilities.diagnostic_provider:
            report = await client.text_document_diagnostic_async(types.DocumentDiagnosticParams(identity))
            found["diagnostics"] = report.items
        else:
            await client.wait_for_notification(types.TEXT_DOCUMENT_PUBLISH_DIAGNOSTICS)
            found["diagnostics"] = client.diagnostics[URI]
        where = types.Position(*place(text, "[256]"))
        found["hover"] = await client.text_document_hover_async(types.HoverParams(identity, where))
        found["lenses"] = await client.text_document_code_lens_async(types.CodeLensParams(identity))
        if result.capabilities.inlay_hint_provider:
            whole = types.Range(types.Position(0, 0), types.Position(99, 0))
            found["hints"] = await client.text_document_inlay_hint_async(
                types.InlayHintParams(identity, whole)
            )
        context = types.CodeActionContext(diagnostics=list(found["diagnostics"]))
        actions = await client.text_document_code_action_async(
            types.CodeActionParams(identity, found["diagnostics"][0].range, context)
        )
        for action in actions:
            if action.edit is None and action.disabled is None:
                action = await client.code_action_resolve_async(action)
            found.setdefault("actions", {})[action.title] = action
        await client.shutdown_session()
        await client.stop()
    except BaseException:
        client._server.kill()  # `stop` would wait for it
        raise
    return found


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize("name", CLIENTS)
def test_an_editors_first_minute(name: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error", category=pytest_lsp.LspSpecificationWarning)
        found = talk(pytest_lsp.client_capabilities(name), UNUSED)
    (diagnostic,) = found["diagnostics"]
    assert diagnostic.code == "SMEM101"
    assert "never accessed" in diagnostic.message
    assert "scratch[256]" in found["hover"].contents.value
    assert found["lenses"][0].command.title == "0 B shared"
    action = found["actions"]["Remove the declaration of `scratch`"]
    changes = (
        action.edit.document_changes[0].edits if action.edit.document_changes else action.edit.changes[URI]
    )
    (edit,) = changes
    assert edit.new_text == "" and edit.range.start.line == 1
    assert FIXED.count("\n") == UNUSED.count("\n") - 1


@pytest.mark.sampled(one_in=2)
@pytest.mark.parametrize(
    ("name", "pulls", "encoding"),
    [
        ("visual-studio-code@v1.65.2", False, "utf-16"),
        ("neovim@v0.7.0", False, "utf-16"),
        ("neovim@v0.11.0", True, "utf-8"),
        ("emacs@v29.1", False, "utf-32"),
    ],
)
def test_what_each_editor_is_offered(name: str, pulls: bool, encoding: str) -> None:
    offered = talk(pytest_lsp.client_capabilities(name), MERGEABLE)["offered"]
    assert bool(offered.diagnostic_provider) is pulls
    assert offered.position_encoding == encoding
