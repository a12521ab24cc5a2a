"""The flags of every command."""

from __future__ import annotations

import argparse
import difflib
import shlex
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from smem_lsp.cli.errors import EXIT_CLEAN, EXIT_FAILED, UsageError
from smem_lsp.source import clipped, is_there, printable
from smem_lsp.source.budget import EFFORTS
from smem_lsp.source.record import dataclass

COMMANDS = (
    "check",
    "layout",
    "fit",
    "verify",
    "trace",
    "explain",
    "rules",
    "config",
    "schema",
    "completion",
    "server",
)

MAX_FLAGS = 10_000
_LONGEST_PATH = 4_096  # characters
_LONGEST_LINE = 200

_DESCRIPTION = "CUDA shared memory: wasted bytes, missing barriers, occupancy."
_SEVERITIES = ("error", "warning", "info", "hint")
FORMATS = ("full", "concise", "json", "sarif", "github", "gitlab", "junit")
UNDECIDED = "undecided"
"""What ``--fail-on`` takes beside a severity."""


class _Parser(argparse.ArgumentParser):
    """Reports an error as one line instead of a page of usage."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message}; see `{self.prog} --help`")


def parse(arguments: Sequence[str]) -> argparse.Namespace | int:
    """The parsed flags, with the command in ``command``; or the exit code if help or the version was printed instead.

    Raises UsageError.
    """
    parser = _build(arguments[0] if arguments else None)
    if not arguments:
        parser.print_help(sys.stderr)
        return EXIT_FAILED
    flags = sum(argument.startswith("-") for argument in arguments)
    if flags > MAX_FLAGS:  # argparse copies its list for each of them
        raise UsageError(f"{flags:,} flags; {MAX_FLAGS:,} at most")
    if arguments[0] not in COMMANDS:
        _suggest(arguments)
    try:
        parsed, unknown = parser.parse_known_args(arguments)
    except SystemExit as stop:  # --help and --version have printed their answer
        return EXIT_CLEAN if stop.code in (None, 0) else EXIT_FAILED
    if unknown:
        raise UsageError(_unknown_flag(unknown[0], parsed.flags, parsed.command))
    if parsed.command is None:
        raise UsageError(f"no command; use one of {', '.join(COMMANDS)}")
    return parsed


def _suggest(arguments: Sequence[str]) -> None:
    """What may be meant where no command comes first. Raises UsageError, but where flags alone come that the parser
    knows, or whose names it can correct."""
    first = arguments[0]
    flag = first.startswith("-")
    command = next((each for each in arguments if each in COMMANDS), None) if flag else None
    if command is not None:
        at = arguments.index(command)
        said = _typed([command, *arguments[:at], *arguments[at + 1 :]])
        raise UsageError(f"flags come behind the command, did you mean `{said}`?")
    if any(_may_be_checked(each) for each in (arguments if flag else arguments[:1])):
        what = "no command" if flag else f"`{clipped(first)}` is no command"
        raise UsageError(f"{what}, did you mean `{_typed(['check', *arguments])}`?")
    if not flag:
        near = difflib.get_close_matches(first[:80], COMMANDS, n=1)
        hint = f", did you mean `{near[0]}`?" if near else f"; use one of {', '.join(COMMANDS)}"
        raise UsageError(f"unknown command `{clipped(first)}`{hint}")
    parser = argparse.ArgumentParser(add_help=False)
    _check_flags(parser)
    if first.partition("=")[0] in parser._option_string_actions:
        raise UsageError(f"no command, did you mean `{_typed(['check', *arguments])}`?")


def _may_be_checked(name: str) -> bool:
    from smem_lsp.targets.dialects import SUFFIXES

    return is_there(name) or Path(name[:_LONGEST_PATH]).suffix in SUFFIXES


def _typed(arguments: Sequence[str]) -> str:
    """The command line as a shell takes it; of a very long one its beginning."""
    words = shlex.join(["smem-lsp", *arguments])
    return printable(words) if len(words) <= _LONGEST_LINE else f"{shlex.join(['smem-lsp', arguments[0]])} …"


def _unknown_flag(flag: str, known: Sequence[str], command: str) -> str:
    name = flag.partition("=")[0]
    if not name.startswith("-"):
        return f"`{clipped(flag)}` is an unexpected argument of `smem-lsp {command}`"
    near = difflib.get_close_matches(name[:80], known, n=1)
    hint = f", did you mean `{near[0]}`?" if near else f"; see `smem-lsp {command} --help`"
    return f"unknown flag `{clipped(name)}`{hint}"


@dataclass(frozen=True, slots=True)
class Described:
    """A command as the parser knows it."""

    name: str
    help: str
    actions: tuple[argparse.Action, ...]


def described_commands() -> list[Described]:
    """In the order of the help."""
    found: list[Described] = []
    for name, text, add_flags in _COMMANDS:
        parser = argparse.ArgumentParser()
        add_flags(parser)
        found.append(Described(name, text, tuple(parser._actions)))
    return found


def _build(command: str | None) -> _Parser:
    """A parser of all commands, with the flags of one: each flag takes a tenth of a millisecond."""
    from smem_lsp.output.version import TOOL, VERSION

    version = f"{TOOL} {VERSION}"
    parser = _Parser(prog=TOOL, description=_DESCRIPTION, allow_abbrev=False)
    parser.add_argument("-V", "--version", action="version", version=version)
    parser.set_defaults(flags=("--version",))
    commands = parser.add_subparsers(dest="command", metavar="COMMAND")
    for name, text, add_flags in _COMMANDS:
        sub = commands.add_parser(
            name, help=text, description=f"{text[0].upper()}{text[1:]}.", allow_abbrev=False
        )
        if name != command:
            continue
        if name == "check":
            sub.add_argument("-V", "--version", action="version", version=version)
        add_flags(sub)
        flags = [flag for action in sub._actions for flag in action.option_strings]
        sub.set_defaults(command=name, flags=flags)
    return parser


def _layout_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE[:KERNEL]")
    _format(parser, "text", "json", "html", "svg")
    _launch_flags(parser)
    _target_flags(parser)


def _fit_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE:KERNEL")
    parser.add_argument(
        "--vary",
        action="append",
        required=True,
        metavar="NAME=RANGE",
        help="values of a constant, macro, template parameter or launch argument: 2..8, 32,64,128 or 2..8:2",
    )
    _text_or_json(parser)
    _launch_flags(parser)
    _target_flags(parser)


def _verify_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE[:KERNEL]")
    _text_or_json(parser)
    _launch_flags(parser)
    _target_flags(parser)


def _trace_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE[:KERNEL]")
    _text_or_json(parser)
    _launch_flags(parser)
    _target_flags(parser)


def _explain_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("rule", nargs="?", metavar="CODE", help="code or name")
    parser.add_argument("--all", action="store_true", help="every rule")
    _text_or_json(parser)
    _color(parser)


def _rules_flags(parser: argparse.ArgumentParser) -> None:
    _text_or_json(parser)


def _config_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("path", nargs="?", default=".", metavar="PATH")
    _text_or_json(parser)
    _settings_flags(parser)
    _target_flags(parser)


def _schema_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("of", choices=("config", "output"))


def _completion_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("shell", choices=("bash", "zsh", "fish"))


def _server_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--stdio", action="store_true", help="talk over stdin and stdout (default)")
    # Clients built on vscode-languageclient add it to every command line.
    parser.add_argument("--clientProcessId", type=int, help=argparse.SUPPRESS)
    parser.add_argument("--tcp", metavar="HOST:PORT", help="listen on a socket instead")
    parser.add_argument(
        "--allow-remote", action="store_true", help="with --tcp: other machines too, with a token"
    )
    parser.add_argument("--token-file", metavar="FILE", help="with --tcp: ask clients for the token in FILE")


def _color(parser: argparse.ArgumentParser) -> None:
    words = ("auto", "always", "never")
    parser.add_argument("--color", "--colour", dest="color", default="auto", choices=words)


def _text_or_json(parser: argparse.ArgumentParser) -> None:
    _format(parser, "text", "json")


def _format(parser: argparse.ArgumentParser, *formats: str) -> None:
    """The first is the default."""
    parser.add_argument("--format", "--output-format", dest="format", default=formats[0], choices=formats)


def _check_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("paths", nargs="*", metavar="PATH", help="files and folders, `-` for stdin (default: .)")
    add(
        "--fail-on",
        default="warning",
        choices=(*_SEVERITIES, UNDECIDED),
        help="least severity that gives exit code 1; undecided: warnings do, and a kernel not proved race-free",
    )
    add("--exit-zero", action="store_true", help="exit 0 even with findings")
    add("--fix", action="store_true", help="apply safe fixes of warnings and errors")
    add("--unsafe-fixes", action="store_true", help="with --fix or --diff: unsafe ones as well")
    add("--diff", action="store_true", help="print what --fix would change, write nothing")
    add("--format", "--output-format", dest="output_format", default="full", choices=FORMATS)
    add("--output-file", metavar="PATH", help="write the findings to this file, the totals to stdout")
    add(
        "--exclude",
        action="append",
        metavar="GLOB",
        help="leave out files and folders of this name or path, beside those of the settings",
    )
    add("--baseline", metavar="FILE", help="do not tell the findings that this file knows")
    add("--write-baseline", metavar="FILE", help="keep the findings of now in this file, tell none")
    add("--force-exclude", action="store_true", help="leave them out even where a path names them")
    add(
        "--no-gitignore",
        "--no-ignore",
        dest="gitignore",
        action="store_false",
        help="search folders for what .gitignore names, too",
    )
    add("--statistics", action="store_true", help="count findings by rule, and verdicts, at the end")
    add("--verdicts", action="store_true", help="say of each kernel whether its shared memory is race-free")
    add("--stdin-filename", metavar="PATH", help="name of what is read from stdin")
    add("-j", "--jobs", type=_positive, metavar="N", help="processes (default: as many as pay off)")
    add(
        "--executor",
        metavar="dask://HOST:PORT",
        help="check on this Dask cluster, whose workers see the same files (extra `dask`)",
    )
    add(
        "--watch",
        action="store_true",
        help="check again when a file of these paths or its settings change, until Ctrl-C",
    )
    add("--no-cache", action="store_true", help="reuse nothing from an earlier run")
    add(
        "--explain-config",
        action="store_true",
        help="print each setting and where it comes from, check nothing",
    )
    add("-q", "--quiet", action="store_true", help="print findings and errors, nothing else")
    _color(parser)
    _settings_flags(parser)
    _target_flags(parser)


def _settings_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    effort = "how much work a check may spend before it leaves something out"
    add("--effort", choices=tuple(EFFORTS), help=f"{effort} (default: normal)")
    rules = "codes, names or prefixes, with commas"
    add("--select", action="append", metavar="RULES", help=f"rules to run: {rules}")
    add("--ignore", action="append", metavar="RULES", help=f"rules not to run: {rules}")
    _launch_flags(parser)


def _launch_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--threads", type=_block, metavar="N|NxM[xK]", help="threads per block, where no launch tells")
    add("--registers", type=_positive, metavar="N", help="registers per thread")


def _target_flags(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--arch", action="append", metavar="sm_90[,sm_80]", help="targets")
    add("-D", "--define", action="append", metavar="NAME[=V]", help="define a macro")
    add("-I", dest="include_dirs", action="append", metavar="DIR", help="search includes here")
    add("--compile-commands", metavar="PATH", help="compile_commands.json or its folder")
    add("--config", metavar="PATH", help="use this config file")
    add("--isolated", action="store_true", help="use no config file")


def _positive(text: str) -> int:
    if not text.isascii() or not text.isdigit() or len(text) > 18 or int(text) < 1:
        raise argparse.ArgumentTypeError(f"`{clipped(text)}` is not a whole number above 0")
    return int(text)


def _block(text: str) -> int | str:
    """``256``, or ``32x8`` as it is written. Raises ArgumentTypeError."""
    if text.lstrip("+-").isdigit():
        return _positive(text)
    from smem_lsp.config.table import BLOCK, BLOCK_FORMS  # the server starts without settings

    if not BLOCK.fullmatch(text):
        raise argparse.ArgumentTypeError(f"`{clipped(text)}` is no block: {BLOCK_FORMS}")
    return text


_COMMANDS: tuple[tuple[str, str, Callable[[argparse.ArgumentParser], None]], ...] = (
    ("check", "lint files and folders", _check_flags),
    ("layout", "draw the memory map of the kernels of a file", _layout_flags),
    ("fit", "print what other constants or template arguments would cost", _fit_flags),
    ("verify", "compile every rewrite that is offered and say whether it keeps its promise", _verify_flags),
    ("trace", "print every intermediate result for the kernels of a file", _trace_flags),
    ("explain", "print the page of a rule", _explain_flags),
    ("rules", "list the rules", _rules_flags),
    ("config", "print the settings in force for a path and where each comes from", _config_flags),
    ("schema", "print the JSON Schema of smem.toml, or of check --format json", _schema_flags),
    ("completion", "print a script that makes a shell complete commands and flags", _completion_flags),
    ("server", "run the language server", _server_flags),
)
"""(name, what it does in a few words, what adds its flags), in the order of the help."""
