"""The JSON Schema of a config file, for editors that complete and check TOML with one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from smem_lsp.config.patterns import MAX_LENGTH, MAX_PATTERNS
from smem_lsp.config.settings import DEFAULT_TARGETS
from smem_lsp.config.table import KEYS, MAX_ITEMS, MAX_REGISTERS, MAX_TEXT, SCHEMA_KEY, SEVERITIES
from smem_lsp.source.budget import EFFORTS
from smem_lsp.targets.every import MAX_THREADS

Schema = dict[str, object]

_TEXT: Schema = {"type": "string", "pattern": r"\S", "maxLength": MAX_TEXT}


def config_schema(rules: Mapping[str, str], targets: Iterable[str]) -> Schema:
    """``rules``: name by code; ``targets``: names to propose. Others are allowed wherever we take them: a prefix of
    codes, a name in capitals."""
    words = [*rules, *rules.values()]
    rule: Schema = {"anyOf": [{"enum": words}, _TEXT]}
    target: Schema = {"anyOf": [{"enum": list(targets)}, _TEXT]}
    pattern: Schema = {"type": "string", "pattern": r"[^/\s]", "maxLength": MAX_LENGTH}
    severity: Schema = {"enum": list(SEVERITIES)}
    described: dict[str, Schema] = {
        "arch": {
            "description": f"GPUs to count for. Default: {', '.join(DEFAULT_TARGETS)}.",
            "anyOf": [_TEXT, _list(target, minItems=1)],
        },
        "threads": {
            "description": "Threads per block, where no launch tells: 256, or a block such as 32x8.",
            "anyOf": [
                {"type": "integer", "minimum": 1, "maximum": MAX_THREADS},
                {"type": "string", "pattern": "^[0-9]{1,4}(x[0-9]{1,4}){0,2}$"},
            ],
        },
        "registers": {
            "description": "Registers per thread, where no compiler has counted them.",
            "type": "integer",
            "minimum": 1,
            "maximum": MAX_REGISTERS,
        },
        "include-dirs": {"description": "Folders to look for included files in.", **_list(_TEXT)},
        "defines": {
            "description": "Macros to define: NAME or NAME=VALUE, or a table of them.",
            "anyOf": [
                _list(_TEXT),
                {"type": "object", "additionalProperties": {"type": ["string", "number", "boolean"]}},
            ],
        },
        "stubs": {
            "description": "Files that declare, with attributes, what functions do whose bodies are not in sight.",
            **_list(_TEXT),
        },
        "compile-commands": {"description": "compile_commands.json, or its folder.", **_TEXT},
        "select": {
            "description": "Rules to run: codes, names or prefixes. Default: all that are on by default.",
            **_list(rule),
        },
        "ignore": {"description": "Rules not to run: codes, names or prefixes.", **_list(rule)},
        "severity": {
            "description": "The highest severity of a rule, by code or name.",
            "type": "object",
            "properties": dict.fromkeys(words, severity),
            "additionalProperties": severity,
        },
        "per-file-ignores": {
            "description": "Rules not to run in the files that a pattern names.",
            "type": "object",
            "propertyNames": pattern,
            "maxProperties": MAX_PATTERNS,
            "additionalProperties": _list(rule),
        },
        "exclude": {
            "description": "Files and folders to leave out: without `/` by name, with it by the path from here.",
            "type": "array",
            "items": pattern,
            "maxItems": MAX_PATTERNS,
        },
        "nvcc": {
            "description": "The nvcc that counts registers, `nvcc` for the machine's own, or `off`.",
            **_TEXT,
        },
        "effort": {
            "description": "How much work a check may spend before it leaves something out, and says so.",
            "enum": list(EFFORTS),
        },
    }
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",  # the newest that TOML editors know
        "title": "smem.toml",
        "description": "Settings of smem-lsp; in pyproject.toml the table tool.smem.",
        "type": "object",
        "properties": {SCHEMA_KEY: {"type": "string"}, **{key: described[key] for key in KEYS}},
        "additionalProperties": False,
    }


def _list(items: Schema, **more: object) -> Schema:
    return {"type": "array", "items": items, "maxItems": MAX_ITEMS, **more}
