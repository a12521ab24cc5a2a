"""What compilers said of the texts of tests, and what they made of them, kept from one run to the next.

An answer is found again for the same command, files, environment and compiler: its programs by their content, and so is
each file that it read, headers of the system too, as its list of dependencies names them. So nothing old is taken for
new; a file that would now be found earlier on a search path is the one thing that is not seen. A text that is refused
has no such list, and what was killed or ran out of time or memory gave no answer: neither is kept. An entry that its
own checksum contradicts counts as absent.

``SMEM_TEST_STORE`` names the folder (default ``~/.cache/smem-lsp/tests``); ``0`` keeps nothing.
"""

from __future__ import annotations

import functools
import hashlib
import json
import os
import platform
import re
import shutil
import subprocess
import tempfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

CHECKOUT = Path(__file__).parents[1]
LIMIT = 1 << 30  # bytes of all entries
_FORMAT = "2"
_DEPENDENCIES = "read.d"
_SEEN = (  # variables that compilers look at
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX"),
    *("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN", "LC_ALL", "LANG", "SOURCE_DATE_EPOCH"),
)


@dataclass(frozen=True)
class Said:
    """How a compiler ended. ``made``: the files that it was asked for and has written, by name."""

    code: int
    stdout: str
    stderr: str
    made: Mapping[str, bytes] = field(default_factory=dict)


def compiled(
    command: Sequence[str | Path],
    folder: Path,
    made: Iterable[str] = (),
    *,
    seconds: float | None = None,
    environment: Mapping[str, str] = MappingProxyType({}),
) -> Said:
    """Run g++ or nvcc on one source in ``folder``, which holds all that it needs beside headers; ``made``: names of
    files there that it writes; ``environment``: variables beside those that are set. Raises
    subprocess.TimeoutExpired."""
    words = [str(word) for word in command]
    variables = {**os.environ, **environment}
    roots = {"folder": folder, **_roots(words[0])}
    kept = _place(words, folder, variables, roots)
    if kept is not None and (found := _read(kept, roots)) is not None:
        for name, content in found.made.items():
            (folder / name).write_bytes(content)
        return found
    run = subprocess.run(
        [*words, "-MD", "-MF", _DEPENDENCIES],
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        env=variables,
        timeout=seconds,
        check=False,
    )
    files = {name: (folder / name).read_bytes() for name in made if (folder / name).is_file()}
    said = Said(run.returncode, run.stdout, run.stderr, files)
    if kept is not None and run.returncode == 0 and (folder / _DEPENDENCIES).is_file():
        _write(kept, said, folder, roots)
    (folder / _DEPENDENCIES).unlink(missing_ok=True)
    return said


def answered(program: Path, asked: bytes, ask: Callable[[], tuple[bytes, bool]]) -> bytes:
    """The answer of a compiled program to its input: ``ask`` runs it and says whether it would answer so again."""
    root = store()
    if root is None:
        return ask()[0]
    name = _digest(b"\0".join((_FORMAT.encode(), _machine(), program.read_bytes(), asked)))
    kept = root / name[:2] / name
    found = _load(kept)
    if found is not None:
        return found
    answer, again = ask()
    if again:
        _save(kept, answer)
    return answer


@functools.cache
def _machine() -> bytes:
    """What a program depends on beside itself: the processor, by which the libraries choose, and these."""
    cpu = Path("/proc/cpuinfo")
    model = re.findall(r"(?m)^(?:model name|flags)\s*: .*$", cpu.read_text("utf-8") if cpu.is_file() else "")
    libraries = []
    for name in ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1"):
        run = subprocess.run(["g++", f"-print-file-name={name}"], capture_output=True, text=True, check=False)
        libraries.append(Path(run.stdout.strip()))
    found = _digests(each for each in libraries if each.is_file())
    return "\n".join([platform.platform(), *model[:2], *found]).encode()


# ---- the key -------------------------------------------------------------------------------------------------------


def _roots(compiler: str) -> dict[str, Path]:
    """Folders that may lie elsewhere the next time, with what is in them the same: the checkout, a toolkit in an
    environment of its own, the store."""
    found = {"checkout": CHECKOUT}
    if "nvcc" in compiler:
        found["toolkit"] = Path(compiler).parents[1]
    if (root := store()) is not None:
        found["store"] = root
    return found


def _without(text: str, roots: Mapping[str, Path]) -> str:
    """With the name of a root in place of its path; the longest path goes first, which may lie in another."""
    for name, path in sorted(roots.items(), key=lambda each: -len(str(each[1]))):
        text = text.replace(str(path), f"{{{name}}}")
    return text


def _with(text: str, roots: Mapping[str, Path]) -> str:
    for name, path in roots.items():
        text = text.replace(f"{{{name}}}", str(path))
    return text


def _place(
    words: Sequence[str], folder: Path, variables: Mapping[str, str], roots: Mapping[str, Path]
) -> Path | None:
    """The file of an entry; None: nothing is kept for this command."""
    root = store()
    compiler = shutil.which(words[0])
    if root is None or compiler is None:
        return None
    programs = _programs(str(Path(compiler).resolve()))
    if programs is None:
        return None
    parts = [_FORMAT, programs, *(f"{name}={variables.get(name)}" for name in _SEEN)]
    parts += [_without(word, roots) for word in words[1:]]
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            parts.append(f"{path.relative_to(folder)} {_digest(path.read_bytes())}")
    name = _digest("\0".join(parts).encode())
    return root / name[:2] / name


@functools.cache
def _programs(compiler: str) -> str | None:
    """The content of a compiler's programs; None: it is neither g++ nor an nvcc with its own beside it."""
    path = Path(compiler)
    if "nvcc" in path.name:
        root = path.parents[1]
        tools = [*(root / "bin").rglob("*"), *(root / "nvvm").rglob("*")]
        host = shutil.which("g++")
        theirs = None if host is None else _programs(str(Path(host).resolve()))
        if theirs is None or not any(each.name.startswith("cicc") for each in tools):
            return None
    else:
        theirs = ""
        tools = [path, *(Path(each) for each in _programs_of_gcc(compiler))]
        if not any(each.name == "cc1plus" and each.is_file() for each in tools):
            return None
    return _digest("\0".join([theirs, *_digests(each for each in sorted(tools) if each.is_file())]).encode())


def _programs_of_gcc(compiler: str) -> Iterator[str]:
    for name in ("cc1plus", "as", "collect2", "ld"):
        run = subprocess.run(
            [compiler, f"-print-prog-name={name}"], capture_output=True, text=True, check=False
        )
        if found := shutil.which(run.stdout.strip()):
            yield found


def _digests(paths: Iterable[Path]) -> Iterator[str]:
    for path in paths:
        state = path.stat()
        yield f"{path.name} {_digest_of_file(str(path), state.st_size, state.st_mtime_ns, state.st_ino)}"


@functools.lru_cache(10_000)
def _digest_of_file(path: str, size: int, changed: int, number: int) -> str:
    return _digest(Path(path).read_bytes())


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def dependencies(rule: str) -> list[str]:
    """The files behind the colon of a rule for make."""
    words = rule.partition(": ")[2].replace("\\\n", " ").replace("\\ ", "\0").split()
    return [word.replace("\0", " ") for word in words]


# ---- entries -------------------------------------------------------------------------------------------------------


def store() -> Path | None:
    """The folder of all entries; None: none are kept."""
    named = os.environ.get("SMEM_TEST_STORE")
    if named == "0":
        return None
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return CHECKOUT / named if named else cache / "smem-lsp" / "tests"


def _read(kept: Path, roots: Mapping[str, Path]) -> Said | None:
    """An entry, if every file that was read is what it was."""
    content = _load(kept)
    if content is None:
        return None
    size = int.from_bytes(content[:4], "big")
    head = json.loads(content[4 : 4 + size])
    try:
        read = [Path(_with(path, roots)) for path, _ in head["read"]]
        if list(_digests(read)) != [digest for _, digest in head["read"]]:
            return None
    except OSError:
        return None
    made, at = {}, 4 + size
    for name, length in head["made"]:
        made[name] = content[at : at + length]
        at += length
    stdout, stderr = (_with(head[name], roots) for name in ("stdout", "stderr"))
    return Said(0, stdout, stderr, made)


def _write(kept: Path, said: Said, folder: Path, roots: Mapping[str, Path]) -> None:
    read = []
    for name in dependencies((folder / _DEPENDENCIES).read_text("utf-8")):
        path = folder / name
        if not path.is_file():
            return
        if folder not in path.parents or ".." in path.parts:  # those in the folder are in the key
            read.append(path)
    head = {
        "read": [(_without(str(path), roots), digest) for path, digest in zip(read, _digests(read))],
        "stdout": _without(said.stdout, roots),
        "stderr": _without(said.stderr, roots),
        "made": [(name, len(content)) for name, content in said.made.items()],
    }
    start = json.dumps(head).encode()
    _save(kept, b"".join((len(start).to_bytes(4, "big"), start, *said.made.values())))


def _load(kept: Path) -> bytes | None:
    """What an entry holds, if it is there and whole."""
    try:
        entry = kept.read_bytes()
        content = zlib.decompress(entry[32:])
        if hashlib.sha256(content).digest() != entry[:32]:
            return None
        os.utime(kept)  # used: what has not been for the longest goes first
    except (OSError, zlib.error):
        return None
    return content


def _save(kept: Path, content: bytes) -> None:
    """A folder that takes nothing costs the entry only."""
    with suppress(OSError):
        kept.parent.mkdir(parents=True, exist_ok=True)
        handle, scratch = tempfile.mkstemp(dir=kept.parent, prefix=".")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(hashlib.sha256(content).digest() + zlib.compress(content, 1))
            Path(scratch).replace(kept)
        except OSError:
            Path(scratch).unlink(missing_ok=True)
            raise


def prune(limit: int = LIMIT) -> None:
    """Remove entries, those that no run has used for the longest time first, until the rest has ``limit`` bytes."""
    root = store()
    if root is None or not root.is_dir():
        return
    entries = []
    for path in (*root.glob("??/*"), *root.glob("executor/*")):
        with suppress(OSError):
            files = [path] if path.is_file() else list(path.iterdir())
            size = sum(file.stat().st_size for file in files)
            entries.append((path.stat().st_mtime_ns, size, path))
    left = sum(size for _, size, _ in entries)
    for _, size, path in sorted(entries):
        if left <= limit:
            return
        with suppress(OSError):
            if path.is_file():
                path.unlink()
            else:
                shutil.rmtree(path)  # a header that the executor has compiled ahead
        left -= size
