"""``smem-lsp completion``: a script that makes a shell complete commands, flags and their values.

The script is made of the flags as the parser knows them, and asks nothing of us when a key is pressed.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence

from smem_lsp.cli.errors import EXIT_CLEAN
from smem_lsp.cli.parser import Described, described_commands
from smem_lsp.output.version import TOOL

_RULE_FLAGS = frozenset({"--select", "--ignore"})


def run(flags: argparse.Namespace) -> int:
    """Print the script."""
    make = {"bash": _bash, "zsh": _zsh, "fish": _fish}[flags.shell]
    sys.stdout.write("\n".join([*make(described_commands()), ""]))
    return EXIT_CLEAN


def _codes() -> tuple[str, ...]:
    from smem_lsp.rules.registry import RULES

    return tuple(RULES)


def _flags(command: Described) -> Iterator[argparse.Action]:
    return (each for each in command.actions if each.option_strings and each.help != argparse.SUPPRESS)


def _words_after(action: argparse.Action) -> tuple[str, ...] | None:
    """The words that may follow a flag; none of them: a file; None: nothing follows it."""
    if action.nargs == 0:
        return None
    if action.choices is not None:
        return tuple(map(str, action.choices))
    return _codes() if _RULE_FLAGS & {*action.option_strings} else ()


def _operands(command: Described) -> tuple[str, ...]:
    """The words that may stand where no flag does; none of them: a file."""
    for action in command.actions:
        if not action.option_strings:
            return (
                tuple(map(str, action.choices)) if action.choices else _codes() * (action.metavar == "CODE")
            )
    return ()


def _bash(commands: Sequence[Described]) -> Iterator[str]:
    names = " ".join(each.name for each in commands)
    yield f"# bash completion of {TOOL}: source <({TOOL} completion bash)"
    yield "_smem_lsp() {"
    yield '  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]} words=""'
    yield "  COMPREPLY=()"
    yield "  if (( COMP_CWORD == 1 )); then"
    yield f'    COMPREPLY=($(compgen -W "{names} --help --version" -- "$cur"))'
    yield "    return"
    yield "  fi"
    yield '  case "${COMP_WORDS[1]} $prev" in'
    for command in commands:
        for action in _flags(command):
            after = _words_after(action)
            if after is None:
                continue
            cases = "|".join(f'"{command.name} {flag}"' for flag in action.option_strings)
            yield f'    {cases}) COMPREPLY=($(compgen -W "{" ".join(after)}" -- "$cur")); return ;;'
    yield "  esac"
    yield '  case "${COMP_WORDS[1]}" in'
    for command in commands:
        every = " ".join(flag for action in _flags(command) for flag in action.option_strings)
        yield f'    {command.name}) words="{every}"; [[ $cur == -* ]] || words="{" ".join(_operands(command))}" ;;'
    yield "  esac"
    yield '  COMPREPLY=($(compgen -W "$words" -- "$cur"))'
    yield "}"
    yield f"complete -o default -F _smem_lsp {TOOL}"  # default: files, where no word fits


def _zsh(commands: Sequence[Described]) -> Iterator[str]:
    yield f"#compdef {TOOL}"
    yield f"# zsh completion: {TOOL} completion zsh > a folder of $fpath/_{TOOL}"
    yield "_smem_lsp() {"
    yield "  local -a commands"
    yield "  commands=("
    for command in commands:
        yield f"    {_quoted(f'{command.name}:{command.help}')}"
    yield "  )"
    yield "  if (( CURRENT == 2 )); then"
    yield "    _describe command commands"
    yield "    return"
    yield "  fi"
    yield "  local command=$words[2]"
    yield "  shift words"
    yield "  (( CURRENT-- ))"
    yield "  case $command in"
    for command in commands:
        yield f"    {command.name})"
        yield "      _arguments \\"
        for action in _flags(command):
            after = _words_after(action)
            value = "" if after is None else f":value:({' '.join(after)})" if after else ":file:_files"
            text = (action.help or "").replace("[", "(").replace("]", ")").replace(":", "\\:")
            for flag in action.option_strings:
                yield f"        {_quoted(f'*{flag}[{text}]{value}')} \\"
        words = _operands(command)
        operand = f"*:word:({' '.join(words)})" if words else "*:file:_files"
        yield f"        {_quoted(operand)}"
        yield "      ;;"
    yield "  esac"
    yield "}"
    yield 'if [[ $funcstack[1] == _smem-lsp ]]; then _smem_lsp "$@"; else compdef _smem_lsp smem-lsp; fi'


def _fish(commands: Sequence[Described]) -> Iterator[str]:
    yield f"# fish completion: {TOOL} completion fish > ~/.config/fish/completions/{TOOL}.fish"
    none = f"not __fish_seen_subcommand_from {' '.join(each.name for each in commands)}"
    for command in commands:
        yield f"complete -c {TOOL} -f -n {_quoted(none)} -a {command.name} -d {_quoted(command.help)}"
    for command in commands:
        here = f"complete -c {TOOL} -n {_quoted(f'__fish_seen_subcommand_from {command.name}')}"
        for action in _flags(command):
            after = _words_after(action)
            names = " ".join(
                f"-l {flag[2:]}" if flag.startswith("--") else f"-s {flag[1:]}"
                for flag in action.option_strings
            )
            value = "" if after is None else f" -x -a {_quoted(' '.join(after))}" if after else " -r"
            yield f"{here} {names}{value} -d {_quoted(action.help or '')}"
        if words := _operands(command):
            yield f"{here} -f -a {_quoted(' '.join(words))}"


def _quoted(text: str) -> str:
    """For any of the shells."""
    return "'" + text.replace("'", "’") + "'"
