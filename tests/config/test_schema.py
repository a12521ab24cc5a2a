"""The schema of a config file says what we say of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from smem_lsp.cli import main
from smem_lsp.config import KEYS, ConfigError, load_config
from smem_lsp.config.schema import config_schema
from smem_lsp.config.toml import parse_toml
from smem_lsp.rules.registry import RULES

SCHEMA = config_schema({code: rule.name for code, rule in RULES.items()}, ["sm_80", "sm_90"])

GOOD = [
    '"$schema" = "./smem.schema.json"',
    'arch = "sm_90"',
    'arch = ["sm_80", "sm_90a"]',
    "threads = 256",
    'threads = "32x8"',
    "registers = 255",
    'include-dirs = ["include"]',
    'defines = ["A", "B=2"]',
    "defines = { A = true, B = 2, C = 0.5 }",
    'compile-commands = "build"',
    'select = ["SMEM3", "unused-buffer", "Missing-Barrier"]',
    "ignore = []",
    'severity.SMEM301 = "info"',
    '[severity]\nmissing-barrier = "hint"',
    '[per-file-ignores]\n"tests/**" = ["SMEM102"]',
    'exclude = ["third_party", "src/**/old_*.cu"]',
    'nvcc = "off"',
    'stubs = ["lib.cuh"]',
]
BAD = [
    "thread = 3",
    '"$schema" = 3',
    "arch = []",
    'arch = ""',
    "threads = 0",
    "threads = 4096",
    'threads = "32x"',
    "threads = true",
    "registers = 256",
    'registers = "40"',
    'include-dirs = "include"',
    "defines = [1]",
    'compile-commands = " "',
    'select = "SMEM3"',
    'select = [""]',
    'severity.SMEM301 = "fatal"',
    'severity = "info"',
    'per-file-ignores = ["SMEM102"]',
    '[per-file-ignores]\n"x" = "SMEM102"',
    '[per-file-ignores]\n"/" = ["SMEM102"]',
    'exclude = ["/"]',
    "nvcc = false",
    'stubs = "lib.cuh"',
    'stubs = [""]',
]


def errors(text: str) -> list[Any]:
    return list(jsonschema.Draft7Validator(SCHEMA).iter_errors(parse_toml(text)))


def test_it_is_a_schema_of_every_key() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert list(SCHEMA["properties"]) == ["$schema", *KEYS]  # type: ignore[call-overload]


@pytest.mark.parametrize("text", GOOD)
def test_good(tmp_path: Path, text: str) -> None:
    assert errors(text) == []
    (tmp_path / "smem.toml").write_text(text)
    assert load_config(tmp_path / "smem.toml").config is not None


@pytest.mark.parametrize("text", BAD)
def test_bad(tmp_path: Path, text: str) -> None:
    assert errors(text) != []
    (tmp_path / "smem.toml").write_text(text)
    with pytest.raises(ConfigError):
        load_config(tmp_path / "smem.toml")


def test_the_command_prints_both(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["schema", "config"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["title"] == "smem.toml" and set(RULES) < found["properties"]["severity"]["properties"].keys()
    assert main(["schema", "output"]) == 0
    assert "findings" in json.loads(capsys.readouterr().out)["properties"]
    assert main(["schema", "input"]) == 2
