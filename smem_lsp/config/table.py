"""From a table of settings, as TOML or JSON gives it, to a ``Config``."""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

from smem_lsp.config.patterns import MAX_LENGTH, MAX_PATTERNS
from smem_lsp.config.settings import Config
from smem_lsp.source import clipped
from smem_lsp.source.budget import EFFORTS
from smem_lsp.source.regex import regex
from smem_lsp.targets.every import MAX_BLOCK, MAX_THREADS

SEVERITIES = ("error", "warning", "info", "hint")

MAX_REGISTERS = 255  # registers per thread that an instruction can name

_MOST_BITS = 128

SCHEMA_KEY = "$schema"
"""The key of a config file that names its schema, for editors. It is no setting."""

MAX_ITEMS = 10_000  # of one list: rules, definitions, folders
MAX_TEXT = 10_000  # characters of one item

BLOCK = regex(r"\d{1,4}(?:x\d{1,4}){0,2}", re.A)
BLOCK_FORMS = "use 256, 32x8 or 16x16x2"

_DEFINE = regex(r"[A-Za-z_]\w*(?:\([\w\s,.]*\))?(?:=.*)?", re.S)


class UnknownKey(ValueError):
    """A setting of this name does not exist; the message names the nearest one."""

    def __init__(self, key: str) -> None:
        near = difflib.get_close_matches(key[:80].replace("_", "-"), KEYS, n=1)
        hint = f', did you mean "{near[0]}"?' if near else f"; known: {', '.join(KEYS)}"
        super().__init__(f'unknown key "{clipped(key)}"{hint}')
        self.key = key


class WrongValue(ValueError):
    """A setting has a value of the wrong type or out of its range."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f'"{clipped(key)}" {problem}')
        self.key = key
        self.problem = problem


def config_from_table(table: Mapping[str, object], root: Path, base: Config | None = None) -> Config:
    """Settings of ``table`` over ``base``, by default over the defaults. Relative paths are relative to ``root``, an
    absolute folder.

    Raises UnknownKey or WrongValue for the first key that is wrong. Target names and rule codes are not
    judged here: whoever knows the targets and the rules does that.
    """
    config = Config() if base is None else base
    for key, value in table.items():
        if key not in _SETTERS:
            raise UnknownKey(key)
        config = _SETTERS[key](config, key, value, root)
    return config


def parse_define(text: str) -> str:
    """``NAME`` or ``NAME=VALUE``, unchanged. Raises ValueError for anything else."""
    if not _DEFINE.fullmatch(text):
        raise ValueError(f'"{clipped(text)}" is not a definition: use NAME or NAME=VALUE')
    return text


def _type_name(value: object) -> str:
    if isinstance(value, bool):
        return "a boolean"
    names = {
        str: "a string",
        int: "a whole number",
        float: "a decimal number",
        list: "a list",
        dict: "a table",
    }
    return names.get(type(value), f"a {type(value).__name__}")


def _string(key: str, value: object, root: Path) -> str:
    if not isinstance(value, str):
        raise WrongValue(key, f"must be a string, not {_type_name(value)}")
    if not value.strip():
        raise WrongValue(key, "must not be empty")
    _bounded(key, value)
    return value


def _bounded(key: str, text: str) -> None:
    if len(text) > MAX_TEXT:
        raise WrongValue(key, f"holds a text of {len(text):,} characters; {MAX_TEXT:,} at most")


def _strings(key: str, value: object, root: Path) -> tuple[str, ...]:
    if not isinstance(value, list):
        raise WrongValue(key, f"must be a list of strings, not {_type_name(value)}")
    if len(value) > MAX_ITEMS:
        raise WrongValue(key, f"holds {len(value):,} items; {MAX_ITEMS:,} at most")
    for item in value:
        if not isinstance(item, str):
            raise WrongValue(key, f"must be a list of strings, but holds {_type_name(item)}")
        if not item.strip():
            raise WrongValue(key, "holds an empty string")
        _bounded(key, item)
    return tuple(value)


def _arch(key: str, value: object, root: Path) -> tuple[str, ...]:
    if not isinstance(value, str | list):
        raise WrongValue(key, f"must be a string or a list of strings, not {_type_name(value)}")
    names = value.split(",") if isinstance(value, str) else _strings(key, value, root)
    kept = tuple(dict.fromkeys(name.strip() for name in names if name.strip()))
    if not kept:
        raise WrongValue(key, "must name at least one target")
    return kept


def _count(maximum: int) -> Callable[[str, object, Path], int]:
    def read(key: str, value: object, root: Path) -> int:
        if isinstance(value, bool) or not isinstance(value, int):
            raise WrongValue(key, f"must be a whole number, not {_type_name(value)}")
        if not 1 <= value <= maximum:
            given = (
                str(value) if abs(value) < 1 << 64 else "a larger number"
            )  # of many digits: no text at all
            raise WrongValue(key, f"must be between 1 and {maximum}, not {given}")
        return value

    return read


def _threads(key: str, value: object, root: Path) -> int | tuple[int, int, int]:
    """A number of threads, or their numbers in x, y and z."""
    if not isinstance(value, str):
        return _count_of_threads(key, value, root)
    if not BLOCK.fullmatch(value):
        raise WrongValue(key, f'is "{clipped(value)}": {BLOCK_FORMS}')
    sizes = [int(size) for size in value.split("x")]
    x, y, z = (*sizes, 1, 1)[:3]
    most_x, most_y, most_z = MAX_BLOCK
    if not (1 <= x <= most_x and 1 <= y <= most_y and 1 <= z <= most_z and x * y * z <= MAX_THREADS):
        raise WrongValue(key, f"must be a block of 1 to {MAX_THREADS} threads, not {clipped(value)}")
    return x if len(sizes) == 1 else (x, y, z)


def _places(key: str, value: object, root: Path) -> tuple[str, ...]:
    return tuple(_placed(key, item, root) for item in _strings(key, value, root))


def _path(key: str, value: object, root: Path) -> str:
    return _placed(key, _string(key, value, root), root)


def _placed(key: str, text: str, root: Path) -> str:
    """A path, ``~`` and ``~name`` at its start included."""
    try:
        return str(root / Path(text).expanduser())
    except RuntimeError:
        raise WrongValue(key, f'is "{clipped(text)}": there is no such home folder') from None


def _program(key: str, value: object, root: Path) -> str:
    text = _string(key, value, root)
    # A bare name is looked up on PATH; only something with a folder in it is relative to the config file.
    return text if Path(text).name == text else _path(key, text, root)


def _defines(key: str, value: object, root: Path) -> tuple[str, ...]:
    if isinstance(value, dict):
        texts = tuple(_define_of(key, name, item) for name, item in value.items() if item is not False)
        texts = _strings(key, list(texts), root)
    elif isinstance(value, list):
        texts = _strings(key, value, root)
    else:
        raise WrongValue(key, f"must be a list of strings or a table, not {_type_name(value)}")
    for text in texts:
        try:
            parse_define(text)
        except ValueError as error:
            raise WrongValue(key, f"is wrong: {error}") from None
    return texts


def _define_of(key: str, name: str, value: object) -> str:
    if value is True:
        return name
    if isinstance(value, int) and value.bit_length() > _MOST_BITS:
        raise WrongValue(f"{key}.{name}", "is larger than any number of C++")
    if isinstance(value, str | int | float):
        return f"{name}={value}"
    raise WrongValue(f"{key}.{name}", f"must be a string, a number or a boolean, not {_type_name(value)}")


def _severities(key: str, value: object, root: Path) -> dict[str, str]:
    if not isinstance(value, dict):
        raise WrongValue(key, f"must be a table of rules, not {_type_name(value)}")
    for code, word in value.items():
        if not isinstance(word, str):
            raise WrongValue(f"{key}.{code}", f"must be a string, not {_type_name(word)}")
        if word not in SEVERITIES:
            raise WrongValue(f"{key}.{code}", f'is "{clipped(word)}": use error, warning, info or hint')
    return dict(value)


def _effort(key: str, value: object, root: Path) -> str:
    text = _string(key, value, root)
    if text not in EFFORTS:
        *words, last = EFFORTS
        raise WrongValue(key, f'is "{clipped(text)}": use {", ".join(words)} or {last}')
    return text


def _patterns(key: str, value: object, root: Path) -> tuple[str, ...]:
    patterns = _strings(key, value, root)
    _judge_patterns(key, patterns)
    return patterns


def _judge_patterns(key: str, patterns: Collection[str]) -> None:
    if len(patterns) > MAX_PATTERNS:
        raise WrongValue(key, f"holds {len(patterns):,} patterns; {MAX_PATTERNS:,} at most")
    for pattern in patterns:
        if len(pattern) > MAX_LENGTH:
            raise WrongValue(key, f"holds a pattern of {len(pattern):,} characters; {MAX_LENGTH:,} at most")
        if not pattern.strip("/ ") or pattern in (".", "./"):
            raise WrongValue(key, f'holds the pattern "{pattern}", which names nothing')


def _per_file(key: str, value: object, root: Path) -> dict[str, tuple[str, ...]]:
    if not isinstance(value, dict):
        raise WrongValue(key, f"must be a table of patterns, not {_type_name(value)}")
    _judge_patterns(key, value)
    return {pattern: _strings(f"{key}.{pattern}", codes, root) for pattern, codes in value.items()}


Setter = Callable[[Config, str, object, Path], Config]
"""(settings, key, value, root) -> the settings with the value of this key. Raises WrongValue."""

_count_of_threads = _count(MAX_THREADS)
_registers = _count(MAX_REGISTERS)

_SETTERS: Mapping[str, Setter] = MappingProxyType(
    {
        "arch": lambda c, key, value, root: replace(c, arch=_arch(key, value, root), arch_configured=True),
        "threads": lambda c, key, value, root: replace(c, threads=_threads(key, value, root)),
        "registers": lambda c, key, value, root: replace(c, registers=_registers(key, value, root)),
        "include-dirs": lambda c, key, value, root: replace(c, include_dirs=_places(key, value, root)),
        "defines": lambda c, key, value, root: replace(c, defines=_defines(key, value, root)),
        "compile-commands": lambda c, key, value, root: replace(c, compile_commands=_path(key, value, root)),
        "stubs": lambda c, key, value, root: replace(c, stubs=_places(key, value, root)),
        "select": lambda c, key, value, root: replace(c, select=_strings(key, value, root)),
        "ignore": lambda c, key, value, root: replace(c, ignore=_strings(key, value, root)),
        "severity": lambda c, key, value, root: replace(c, severity=_severities(key, value, root)),
        "per-file-ignores": lambda c, key, value, root: replace(
            c, per_file_ignores=_per_file(key, value, root)
        ),
        "exclude": lambda c, key, value, root: replace(c, exclude=_patterns(key, value, root)),
        "nvcc": lambda c, key, value, root: replace(c, nvcc=_program(key, value, root)),
        "effort": lambda c, key, value, root: replace(c, effort=_effort(key, value, root)),
    }
)

KEYS = tuple(_SETTERS)
"""Every key of a config file, in the order in which they are shown."""
