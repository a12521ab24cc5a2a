"""Our plans beside the merge passes of tilelang and TVM, on the same generated kernels.

``--python PATH`` is the Python of an environment of its own with tilelang (``python -m venv ENV && ENV/bin/pip install
tilelang==0.1.15``; it makes CUDA source without a GPU and brings its own TVM). ``--sources FOLDER`` keeps what it makes
there and takes what is there already, which then needs no ``--python``: what an interrupted run has made is kept, and
``--kernels`` makes the others of these only.

For each kernel of ``parts/generated_kernels.py``, with the launch that tilelang's host code makes:

- ``off``: bytes with merging off; ``default``, ``aggressive``, ``tvm``: bytes that each pass reaches;
- ``static``, ``dynamic``: bytes of our best plan on the source with an array for each buffer, and on that with one
  dynamic array in which every buffer has its own bytes, none where there is no plan; ``bound``: most bytes that are
  live at once, by our live ranges of the dynamic form; scratch that only a dynamic array is made for, even where each
  buffer is an array, is made a static one: bytes of the two kinds never share;
- ``barriers``: of the default pass, of the aggressive one, and of our plan for the static form of as many bytes as the
  default pass or fewer; ``redundant``: barriers of the default pass's output that SMEM204 calls so;
- findings on the five sources, by rule. Each has to be true; whoever changes the figures reads them.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

from benchmarks.runner.declared import FOLDER, Better, Figure, Missing, Told, benchmark
from benchmarks.runner.options import Aside
from benchmarks.runner.programs import checked

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


def sources(python: Path | None, arch: str, kernels: Sequence[str], folder: Path) -> dict[str, Any]:
    """What tilelang makes, by "kernel form"; made where it is not in the folder, which keeps it line by line."""
    kept = folder / "generated.jsonl"
    made = _kept(kept)
    missing = [name for name in kernels if any(f"{name} {form}" not in made for form in FORMS)]
    if missing or not made:
        if python is None:
            raise Missing(f"no Python with tilelang is named: {INSTALL}")
        command = [str(python), str(FOLDER / "parts" / "generated_kernels.py"), "--arch", arch, *missing]
        environment = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
        try:
            with kept.open("a", encoding="utf-8") as out:
                done = subprocess.run(
                    command, stdout=out, stderr=subprocess.PIPE, text=True, env=environment, check=False
                )
        except OSError as error:
            raise Missing(f"{python}: {error.strerror}; {INSTALL}") from error
        if done.returncode:
            last = (done.stderr.strip().splitlines() or ["nothing"])[-1]
            raise Missing(f"{python} has no working tilelang ({last}): {INSTALL}")
        made = _kept(kept)
    return made


def _kept(file: Path) -> dict[str, Any]:
    """A run that was interrupted leaves part of a line."""
    text = file.read_text(encoding="utf-8") if file.is_file() else ""
    whole = text[: text.rfind("\n") + 1]
    if whole != text:
        file.write_text(whole, encoding="utf-8")
    return {f"{each['kernel']} {each['form']}": each for each in map(json.loads, whole.splitlines())}


def checked_document(path: Path, includes: Sequence[str]) -> dict[str, Any]:
    """Our JSON document on one source."""
    done = checked([*(f"-I{folder}" for folder in includes), str(path)])
    if done is None or not done.stdout:
        raise Missing(f"{path}: {done.stderr.strip() if done else 'no answer'}")
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
        document = checked_document(path, each["includes"])
        (kernel,) = (k for k in document["kernels"] if not k["template"] and k["path"] == str(path))
        forms[form] = Form(each["source"], each["bytes"] or 0, kernel, document["findings"])
    return Row(name, forms)


@benchmark(unit="B", better="lower")
def measure(
    *,
    python: Annotated[Path | None, Aside("of the environment that has tilelang")] = None,
    sources: Annotated[Path | None, Aside("keep them in this folder, and use those that it has")] = None,
    arch: str = "sm_80",
    kernels: Annotated[tuple[str, ...], "only these"] = (),
    verbose: Annotated[bool, Aside("print each finding")] = False,
) -> Iterator[Told]:
    with tempfile.TemporaryDirectory() as scratch:
        folder = (sources or Path(scratch)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        yield from compared(folder, python, arch, kernels, verbose)


def compared(
    folder: Path, python: Path | None, arch: str, kernels: Sequence[str], verbose: bool
) -> Iterator[Told]:
    made = sources(python, arch, kernels, folder)
    rows: list[Row] = []
    yield f"tilelang {next(iter(made.values()))['version']}, {arch}"
    for name in kernels or dict.fromkeys(each["kernel"] for each in made.values()):
        found = row(name, made, folder)
        if isinstance(found, str):
            yield f"{name}: tilelang makes nothing of it: {found}"
            continue
        rows.append(found)
        yield from figures(found)
        for form, each in found.forms.items() if verbose else ():
            yield f"{name} {form}: {each.report['unknown']['reasons'][:3]}"
            for finding in each.findings:
                place = finding["range"]["start"]["line"]
                yield f"  {place}: {finding['code']} {finding['severity']} {finding['message']}"
    for form, words in (("static", "static form"), ("off", "dynamic form")):
        for peer in PEERS:
            counts = Counter(_judged(each.ours(form), each.forms[peer].bytes) for each in rows)
            for word, better in JUDGED.items():
                yield Figure(f"{words} against {peer}: {word}", counts[word], "", better, len(rows))


def figures(row: Row) -> Iterator[Figure]:
    """All of a kernel."""
    theirs = row.forms["default"]
    for form in ("off", *PEERS):
        yield Figure(f"{row.name}: {form}", row.forms[form].bytes, better="neither")
    for what, value in (
        ("static", row.ours("static")),
        ("dynamic", row.ours("off")),
        ("bound", row.forms["off"].bound),
    ):
        if value is not None:
            yield Figure(f"{row.name}: {what}", value)
    for what, value in (
        ("default", theirs.barriers),
        ("aggressive", row.forms["aggressive"].barriers),
        ("ours", row.barriers("static", theirs.bytes)),
    ):
        if value is not None:
            yield Figure(f"{row.name}: barriers, {what}", value, "")
    yield Figure(f"{row.name}: redundant", theirs.redundant, "", "neither")
    codes = Counter(finding["code"] for form in row.forms.values() for finding in form.findings)
    yield from (Figure(f"{row.name}: {code}", count, "", "neither") for code, count in sorted(codes.items()))


JUDGED: Mapping[str, Better] = {"equal": "neither", "better": "higher", "worse": "lower", "no plan": "lower"}


def _judged(ours: int | None, theirs: int) -> str:
    if ours is None:
        return "no plan"
    return "equal" if abs(ours - theirs) < 16 else "better" if ours < theirs else "worse"  # they round to 16
