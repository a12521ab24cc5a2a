"""Settings of a run: for each path its config file with the flags over it, and every rule and target in them known."""

from __future__ import annotations

import argparse
import os
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from smem_lsp.cli.errors import UsageError, complain
from smem_lsp.config import (
    Config,
    ConfigError,
    LoadedSettings,
    WrongValue,
    config_from_table,
    config_in,
    defaults,
    load_config,
)
from smem_lsp.environment import CompileCommands
from smem_lsp.environment.compiler import OFF
from smem_lsp.environment.stub_files import read_stub
from smem_lsp.source import is_folder

NVCC = "nvcc"  # this value of the setting means the machine's own nvcc


class Settings:
    """Finds the settings of a path. Each config file is read and checked once."""

    __slots__ = (
        "_commands",
        "_excluded",
        "_fixed",
        "_flags",
        "_folders",
        "_isolated",
        "_named",
        "_noted",
        "_overrides",
    )

    def __init__(self, flags: argparse.Namespace) -> None:
        """Raises UsageError for a wrong flag, and for a wrong config file that a flag names."""
        if flags.isolated and flags.config is not None:
            raise UsageError("--isolated and --config contradict each other")
        self._overrides, self._flags = _flag_values(flags)
        self._excluded = _excluded_by_flags(flags)
        self._commands = CompileCommands()
        self._isolated: bool = flags.isolated
        self._named: bool = flags.config is not None
        self._folders: dict[Path, LoadedSettings | ConfigError] = {}
        self._fixed: LoadedSettings | None = None
        self._noted: set[str] = set()
        if flags.isolated:
            self._fixed = self._finish(defaults())
        elif flags.config is not None:
            try:
                self._fixed = self._finish(load_config(flags.config))
            except ConfigError as error:
                raise UsageError(str(error)) from None
        else:
            self._finish(defaults())  # a wrong flag is wrong wherever the config file is

    def of(self, path: str) -> LoadedSettings:
        """The settings of a file, or of any file in its folder. Raises ConfigError."""
        if self._fixed is not None:
            return self._fixed
        found = self._of_folder(Path(os.path.abspath(path)).parent)  # noqa: PTH100
        if isinstance(found, ConfigError):
            raise found
        return found

    def _of_folder(self, folder: Path) -> LoadedSettings | ConfigError:
        """The settings of a folder. Each folder is looked at once."""
        passed: list[Path] = []
        found: LoadedSettings | ConfigError | None = None
        for above in _upwards(folder):
            found = self._folders.get(above)
            if found is not None:
                break
            passed.append(above)
            try:
                file = config_in(above)
                if file is not None:
                    found = self._finish(load_config(file))
                    break
            except ConfigError as error:
                found = error
                break
        if found is None:
            found = self._finish(defaults())
        self._folders.update(dict.fromkeys(passed, found))
        return found

    def for_file(self, path: str) -> Config:
        """The settings of one file, its compile command included. Raises ConfigError, also if the settings name a
        database of compile commands that cannot be used. One that was only found is complained about once and left
        out."""
        loaded = self.of(path)
        config = self._without_foreign_programs(loaded.for_file(path), loaded)
        self._note_missing_folders(loaded)
        if config.stubs:
            from smem_lsp.engine.stated_functions import wrong_stubs

            for where, problem in wrong_stubs(config.stubs, read_stub):
                raise ConfigError(where, problem, key="stubs")
        setting = config.compile_commands
        if setting is None and self._isolated:
            return config
        command = self._commands.command(path, setting)
        if command.problem is not None:
            if setting is not None:
                raise ConfigError(command.database or setting, command.problem, key="compile-commands")
            self.note(f"{command.database}: {command.problem}; going on without")
        return replace(config, compile_flags=command.flags)

    def _without_foreign_programs(self, config: Config, loaded: LoadedSettings) -> Config:
        """A config file that no flag names may ask for the machine's own nvcc, but may not choose a program to run."""
        if self._named or config.nvcc in (None, OFF, NVCC):
            return config
        self.note(
            f'{loaded.file}: nvcc = "{config.nvcc}" is not run; name the file with --config to allow it'
        )
        return replace(config, nvcc=None)

    def _note_missing_folders(self, loaded: LoadedSettings) -> None:
        """A config file is written for several machines: a folder that this one lacks is mentioned once, and is no
        error."""
        origin = loaded.origins.get("include-dirs", "")
        if origin.startswith("flag "):
            return
        for folder in loaded.config.include_dirs:
            if not is_folder(folder):
                self.note(f"{origin}: include-dirs: no folder {folder}; going on without")

    def note(self, problem: str) -> None:
        """Complain once."""
        if problem not in self._noted:
            self._noted.add(problem)
            complain(problem)

    @property
    def excluded_too(self) -> tuple[str, ...]:
        """What ``--exclude`` adds to the settings."""
        return () if self._excluded is None else self._excluded.config.exclude

    def excludes(self, path: str) -> bool:
        """Do the settings exclude the path, or a flag? Of the settings False if its config file is broken, which is
        reported when the path is checked."""
        if self._excluded is not None and self._excluded.excludes(path):
            return True
        try:
            return self.of(path).excludes(path)
        except ConfigError:
            return False

    def _finish(self, loaded: LoadedSettings) -> LoadedSettings:
        return _judged(loaded.override(self._flags, **self._overrides))


def _upwards(folder: Path) -> Iterator[Path]:
    """One by one: most often the first is known."""
    yield folder
    yield from folder.parents


def split_rules(values: Sequence[str] | None) -> tuple[str, ...]:
    """``["SMEM1,SMEM201", "SMEM3"]`` -> three items."""
    return tuple(item.strip() for value in values or () for item in value.split(",") if item.strip())


def named_codes(select: Sequence[str] | None) -> frozenset[str]:
    """The rules that ``--select`` names one by one, by code or name; a prefix names none."""
    from smem_lsp.rules.names import UnknownRule, canonical

    named: set[str] = set()
    for word in split_rules(select):
        with suppress(UnknownRule):  # a prefix: what means nothing at all is judged with the settings
            named.add(canonical(word))
    return frozenset(named)


def rule_names() -> dict[str, str]:
    """Code -> name of every rule."""
    from smem_lsp.rules.registry import RULES

    return {code: rule.name for code, rule in RULES.items()}


def _flag_values(flags: argparse.Namespace) -> tuple[dict[str, object], dict[str, str]]:
    """The fields of Config that flags set, and the origin of each by its key in the config file."""
    table: dict[str, object] = {}
    origins: dict[str, str] = {}
    for key, name, field in (
        ("select", "--select", "select"),
        ("ignore", "--ignore", "ignore"),
        ("threads", "--threads", "threads"),
        ("registers", "--registers", "registers"),
        ("arch", "--arch", "arch"),
        ("defines", "--define", "define"),
        ("include-dirs", "-I", "include_dirs"),
        ("compile-commands", "--compile-commands", "compile_commands"),
        ("effort", "--effort", "effort"),
    ):
        value = getattr(flags, field, None)
        if value is None:
            continue
        # Definitions and folders may hold commas; lists of rules and targets are split at them.
        table[key] = list(split_rules(value)) if key in ("select", "ignore", "arch") else value
        origins[key] = f"flag {name}"
        if key in ("select", "ignore") and not table[key]:
            raise UsageError(f"{name} names no rule; `smem-lsp rules` lists them")
        try:
            config_from_table({key: table[key]}, Path.cwd())
        except WrongValue as error:
            raise UsageError(f"{name} {error.problem}") from None
        if key == "include-dirs":
            _there(value)
    config = config_from_table(table, Path.cwd())
    fields = {key.replace("-", "_"): getattr(config, key.replace("-", "_")) for key in table}
    if "arch" in fields:
        fields["arch_configured"] = True
    return fields, origins


def _excluded_by_flags(flags: argparse.Namespace) -> LoadedSettings | None:
    """``--exclude``, relative to the current folder. Raises UsageError."""
    patterns = getattr(flags, "exclude", None)
    if not patterns:
        return None
    try:
        return LoadedSettings(config_from_table({"exclude": patterns}, Path.cwd()), None, Path.cwd())
    except WrongValue as error:
        raise UsageError(f"--exclude {error.problem}") from None


def _there(folders: Sequence[str]) -> None:
    """The folders of ``-I``. Raises UsageError for one that does not exist: nothing would be found in it."""
    for folder in folders:
        try:
            there = is_folder(Path(folder).expanduser())
        except RuntimeError:  # of a user that does not exist
            there = False
        if not there:
            raise UsageError(f"-I {folder}: no such folder")


def _judged(loaded: LoadedSettings) -> LoadedSettings:
    """Look up targets and rules, and give each its one canonical name. Raises UsageError for an unknown one in a flag,
    ConfigError for one in a file."""
    from smem_lsp.rules.names import canonical_settings
    from smem_lsp.targets import UnknownTarget, target

    for name in loaded.config.arch:
        try:
            target(name)
        except UnknownTarget as error:
            raise _blame(loaded, "arch", str(error)) from None
    config, wrong = canonical_settings(loaded.config)
    for each in wrong:
        raise _blame(loaded, each.key, each.problem)
    return replace(loaded, config=config)


def _blame(loaded: LoadedSettings, key: str, problem: str) -> UsageError | ConfigError:
    origin = loaded.origins.get(key, "")
    if origin.startswith("flag "):
        return UsageError(f"{origin.removeprefix('flag ')}: {problem}")
    return ConfigError(origin or str(loaded.file), problem, key=key)
