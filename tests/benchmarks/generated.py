"""Our plans beside the merge passes of tilelang and TVM, on the same generated kernels.

Run it by hand: ``python tests/benchmarks/generated.py --python PATH``, where PATH is the Python of an environment of
its own with tilelang (``python -m venv ENV && ENV/bin/pip install tilelang==0.1.15``; it makes CUDA source without a
GPU and brings its own TVM). ``--sources FOLDER`` keeps what it makes there and takes what is there already, which then
needs no ``--python``: what an interrupted run has made is kept, and ``--kernels`` makes the others of these only.
``--verbose`` prints every finding.

For each kernel of ``generated_kernels.py``, with the launch that tilelang's host code makes:

- ``off``: bytes with merging off; ``default``, ``aggressive``, ``tvm``: bytes that each pass reaches;
- ``static``, ``dynamic``: bytes of our best plan on the source with an array for each buffer, and on that with one
  dynamic array in which every buffer has its own bytes, ``-`` where there is no plan; ``bound``: most bytes that are
  live at once, by our live ranges of the dynamic form; scratch that only a dynamic array is made for, even where each
  buffer is an array, is made a static one: bytes of the two kinds never share;
- ``barriers``: of the default pass / of the aggressive one / of our plan for the static form of as many bytes as the
  default pass or fewer; ``204``: barriers of the default pass's output that SMEM204 calls redundant;
- ``findings``: on the five sources, by rule. Each has to be true; whoever changes the table reads them.

"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
FORMS = ("static", "off", "default", "aggressive", "tvm")
PEERS = ("default", "aggressive", "tvm")
STATIC_LIMIT = 48 * 1024
DYNAMIC = re.compile(r"extern __shared__ ([^\[;]+)\[\];")
BARRIER = "__syncthreads();"
INSTALL = "python -m venv ENV && ENV/bin/pip install tilelang==0.1.15, then --python ENV/bin/python"


@dataclass(frozen=True, slots=True)
class Form:
    """One source of a kernel. ``bytes``: dynamic bytes that the generator passes at the launch; ``report``: our JSON
    document's kernel; ``findings``: of it."""

    source: str
    bytes: int
    report: Mapping[str, Any]
    findings: Sequence[Mapping[str, Any]]

    @property
    def barriers(self) -> int:
        return self.source.count(BARRIER)

    @property
    def redundant(self) -> int:
        return sum(each["code"] == "SMEM204" for each in self.findings)

    def plans(self) -> list[tuple[int, int]]:
        """(bytes, barriers added) of our plans, those that bytes of no plan need included."""
        carved, rows = self.report["carved"], self.report["plans"]
        static = [(p["bytes"], p["barriers_added"]) for p in rows if p["allocator"] == "best"]
        dynamic = [] if carved is None else [(p["bytes"], p["barriers_added"]) for p in carved["plans"]]
        if self.bytes and not dynamic:
            dynamic = [(self.bytes, 0)] if static and any(total for total, _ in static) else []
        if not self.bytes:
            return static
        return [(a + c, b + d) for a, b in static or [(0, 0)] for c, d in dynamic]

    @property
    def bound(self) -> int | None:
        """Most bytes that are live at once, with a barrier wherever one helps."""
        carved, rows = self.report["carved"], self.report["plans"]
        bounds = [p["lower_bound"] for p in rows if p["allocator"] == "best" and p["bytes"]]
        if carved is not None:
            bounds = [p["lower_bound"] for p in carved["plans"] if p["allocator"] != "declared"]
        elif self.bytes:
            bounds = [each + self.bytes for each in bounds]
        return min(bounds, default=None)


@dataclass(frozen=True, slots=True)
class Row:
    """One kernel in all its forms."""

    name: str
    forms: Mapping[str, Form]

    def ours(self, form: str) -> int | None:
        return min((total for total, _ in self.forms[form].plans()), default=None)

    def barriers(self, form: str, most: int) -> int | None:
        """Barriers of our plan of at most so many bytes."""
        own = self.forms[form]
        return min((own.barriers + added for total, added in own.plans() if total <= most), default=None)


def sources(options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """What tilelang makes, by "kernel form"; made where it is not in the folder, which keeps it line by line."""
    kept = folder / "generated.jsonl"
    made = _kept(kept)
    missing = [n for n in options.kernels or () if any(f"{n} {form}" not in made for form in FORMS)]
    if missing or not made:
        if options.python is None:
            raise SystemExit(f"no Python with tilelang is named: {INSTALL}")
        command = [options.python, str(HERE / "generated_kernels.py"), "--arch", options.arch, *missing]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        try:
            with kept.open("a", encoding="utf-8") as out:
                done = subprocess.run(
                    command, stdout=out, stderr=subprocess.PIPE, text=True, env=environment, check=False
                )
        except OSError as error:
            raise SystemExit(f"{options.python}: {error.strerror}; {INSTALL}") from error
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise SystemExit(f"{options.python} has no working tilelang ({last}): {INSTALL}")
        made = _kept(kept)
    return made


def _kept(file: Path) -> dict[str, Any]:
    """A run that was interrupted leaves part of a line."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return {f"{each['kernel']} {each['form']}": each for each in map(json.loads, whole.splitlines())}


def checked(path: Path, includes: Sequence[str]) -> dict[str, Any]:
    """Our JSON document on one source."""
    flags = ["--isolated", "--no-cache", "--jobs", "1", "--exit-zero", "--output-format", "json"]
    for folder in includes:
        flags += ["-I", folder]
    done = subprocess.run(
        [sys.executable, "-m", "smem_lsp", "check", *flags, str(path)],
        cwd=HERE.parents[1],
        capture_output=True,
        text=True,
        check=False,
    )
    if not done.stdout:
        raise SystemExit(f"{path}: {done.stderr.strip()}")
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def fixed_size(made: Mapping[str, Any]) -> Mapping[str, Any]:
    """The same kernel with its dynamic array as a static one of as many bytes."""
    if not made["bytes"]:
        return made
    source, found = DYNAMIC.subn(rf"__shared__ \1[{made['bytes']}];", made["source"])
    assert found == 1
    return {**made, "source": source, "bytes": 0}


def launch(made: Mapping[str, Any]) -> str:
    """What the host code that is made beside a kernel does, as CUDA."""
    head = re.search(r"void (?:__launch_bounds__\([^)]*\) )?(\w+)\(([^)]*)\) \{", made["source"])
    assert head is not None
    name, parameters = head[1], head[2].replace(" __restrict__", "")
    arguments = ", ".join(each.split()[-1].lstrip("*&") for each in parameters.split(","))
    size = made["bytes"] or 0
    opted = (
        f"  cudaFuncSetAttribute({name}, cudaFuncAttributeMaxDynamicSharedMemorySize, {size});\n"
        if size > STATIC_LIMIT
        else ""
    )
    shape = ", ".join(f"dim3({', '.join(map(str, made[each]))})" for each in ("grid", "threads"))
    return f"\nvoid launch({parameters}) {{\n{opted}  {name}<<<{shape}, {size}>>>({arguments});\n}}\n"


def row(name: str, made: Mapping[str, Any], folder: Path) -> Row | str:
    """A kernel's row; the error of the generator where it failed."""
    forms: dict[str, Form] = {}
    for form in FORMS:
        each = made[f"{name} {form}"]
        if "error" in each:
            return f"{form}: {each['error']}"
        each = fixed_size(each) if form == "static" else each
        path = folder / f"{name}.{form}.cu"
        path.write_text(each["source"] + launch(each), encoding="utf-8")
        document = checked(path, each["includes"])
        (kernel,) = (k for k in document["kernels"] if not k["template"] and k["path"] == str(path))
        forms[form] = Form(each["source"], each["bytes"] or 0, kernel, document["findings"])
    return Row(name, forms)


def table(rows: Sequence[Row]) -> list[str]:
    heads = ("kernel", "off", *PEERS, "static", "dynamic", "bound", "barriers", "204", "findings")
    lines = [heads]
    for each in rows:
        static, dynamic, bound = each.ours("static"), each.ours("off"), each.forms["off"].bound
        theirs, aggressive = each.forms["default"], each.forms["aggressive"]
        ours = each.barriers("static", theirs.bytes)
        codes = Counter(f["code"][4:] for form in each.forms.values() for f in form.findings)
        lines.append(
            (
                each.name,
                *(_bytes(each.forms[form].bytes) for form in ("off", *PEERS)),
                _bytes(static),
                _bytes(dynamic),
                _bytes(bound),
                f"{theirs.barriers} / {aggressive.barriers} / {'-' if ours is None else ours}",
                str(theirs.redundant),
                " ".join(f"{code}×{n}" for code, n in sorted(codes.items())),
            )
        )
    widths = [max(map(len, column)) for column in zip(*lines)]
    return [
        "  ".join(
            cell.ljust(width) if at in (0, len(widths) - 1) else cell.rjust(width)
            for at, (cell, width) in enumerate(zip(line, widths))
        ).rstrip()
        for line in lines
    ]


def totals(rows: Sequence[Row]) -> list[str]:
    lines = []
    for form, words in (("static", "static form"), ("off", "dynamic form")):
        for peer in PEERS:
            counted: Counter[str] = Counter()
            for each in rows:
                counted[_judged(each.ours(form), each.forms[peer].bytes)] += 1
            told = ", ".join(f"{counted[word]} {word}" for word in ("equal", "better", "worse", "no plan"))
            lines.append(f"{words} against {peer}: {told}")
    return lines


def _judged(ours: int | None, theirs: int) -> str:
    if ours is None:
        return "no plan"
    return "equal" if abs(ours - theirs) < 16 else "better" if ours < theirs else "worse"  # they round to 16


def _bytes(count: int | None) -> str:
    return "-" if count is None else f"{count:,}"


def _main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--python", help="of the environment that has tilelang")
    parser.add_argument("--sources", type=Path, help="keep them in this folder, and use those that it has")
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--kernels", nargs="+", help="only these")
    parser.add_argument("--verbose", action="store_true", help="print each finding")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.sources or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        made = sources(options, folder.resolve())
        names = list(dict.fromkeys(each["kernel"] for each in made.values()))
        rows: list[Row] = []
        for name in options.kernels or names:
            found = row(name, made, folder.resolve())
            if isinstance(found, str):
                print(f"{name}: tilelang makes nothing of it: {found}", flush=True)
                continue
            rows.append(found)
            if options.verbose:
                for form, each in found.forms.items():
                    print(f"{name} {form}: {each.report['unknown']['reasons'][:3]}", flush=True)
                    for finding in each.findings:
                        place = finding["range"]["start"]["line"]
                        print(f"  {place}: {finding['code']} {finding['severity']} {finding['message']}")
    version = next(iter(made.values()))["version"]
    print(f"\nbytes of shared memory, tilelang {version}, {options.arch}")
    print("\n".join([*table(rows), "", *totals(rows)]))


if __name__ == "__main__":
    _main()
