"""The settings of the extension follow the rules; SMEM_UPDATE=1 rewrites them."""

from __future__ import annotations

import importlib.util
import json
import os
from types import ModuleType

from editor.toolbox import EXTENSION

from smem_lsp.config import KEYS
from smem_lsp.rules.registry import RULES


def generator() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "generate_settings", EXTENSION / "scripts" / "generate_settings.py"
    )
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def settings() -> dict[str, dict[str, object]]:
    sections = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))["contributes"][
        "configuration"
    ]
    return {name: value for section in sections for name, value in section.get("properties", {}).items()}


def test_every_rule_has_a_setting() -> None:
    package = EXTENSION / "package.json"
    text = package.read_text(encoding="utf-8")
    expected = generator().updated(text)
    if os.environ.get("SMEM_UPDATE") == "1":
        package.write_text(expected, encoding="utf-8")
    assert expected == text, "package.json is out of date: SMEM_UPDATE=1 pytest tests/editor/test_settings.py"
    table = settings()["smem.severity"]
    assert isinstance(table["properties"], dict) and list(table["properties"]) == list(RULES)


def test_the_program_that_runs_is_not_for_an_untrusted_workspace_to_choose() -> None:
    package = json.loads((EXTENSION / "package.json").read_text(encoding="utf-8"))
    restricted = package["capabilities"]["untrustedWorkspaces"]["restrictedConfigurations"]
    assert set(restricted) == {"smem.interpreter", "smem.path", "smem.importStrategy", "smem.nvcc"}


def test_settings_of_the_analysis_are_keys_of_the_config_file() -> None:
    own = {
        "enable",
        "interpreter",
        "importStrategy",
        "path",
        "trace",
        "logLevel",
        "codeLens",
        "inlayHints",
        "contexts",
        "target",
        "gutter",
        "map",
    }
    names = {name.split(".")[1] for name in settings()} - own
    assert {"include-dirs" if name == "includeDirs" else name for name in names} <= set(KEYS)
