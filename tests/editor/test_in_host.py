"""The cases of in_host/suite.js, which run in the extension host of VS Code with the packaged extension installed."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from editor.toolbox import HERE, Editor, needs_browser, once
from editor.workspaces import new_workspace

SUITE = HERE / "in_host" / "suite.js"
CASES = re.findall(r"^test\('(.+)', async", SUITE.read_text(encoding="utf-8"), re.M)


@pytest.fixture(scope="module")
def results(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    needs_browser()

    def use(folder: Path) -> None:
        editor: Editor = request.getfixturevalue("editor")
        workspace = new_workspace(folder)
        old = workspace / "python3.8"
        old.write_text("#!/bin/sh\necho 3.8.10\n", encoding="utf-8")
        old.chmod(0o755)
        harness = HERE / "in_host" / "harness"
        editor.drive("in_host.mjs", folder / "results.json", workspace, harness, SUITE, seconds=660)

    folder = once(tmp_path_factory, "in host", use)
    loaded: dict[str, Any] = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return loaded


@pytest.mark.parametrize("case", CASES)
def test_in_host(results: dict[str, Any], case: str) -> None:
    assert case in results["cases"], f"did not run; the suite ended with {results['exit']}"
    error = results["cases"][case]
    assert error is None, error


def test_a_setting_that_cannot_be_used_is_named(results: dict[str, Any]) -> None:
    """Once each, with the setting and the reason."""
    found = sorted(text for text in results["notifications"] if "The setting" in text)
    wanted = (
        r"The setting smem\.interpreter names .*/nowhere/python, which could not be run\.",
        r"The setting smem\.interpreter names .*/python3\.8, which is Python 3\.8\.10; smem-lsp needs 3\.10 or newer\.",
        r"The setting smem\.path names .*/nowhere/smem-lsp, which cannot be run\.",
    )
    assert len(found) == len(wanted), found
    for message, pattern in zip(found, wanted):
        assert re.fullmatch(pattern, message)


def test_after_five_crashes_there_is_one_message(results: dict[str, Any]) -> None:
    """One, and one of the first crash of each of the two servers that were killed."""
    told = [text for text in results["notifications"] if "ended" in text]
    assert (
        told.count("The smem-lsp server ended five times within three minutes and is not started again.") == 1
    )
    assert set(told) == {
        "The smem-lsp server ended five times within three minutes and is not started again.",
        "The smem-lsp server ended unexpectedly and was started again.",
    }
    assert len(told) <= 3
