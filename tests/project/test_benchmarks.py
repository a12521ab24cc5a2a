"""The runner of the benchmarks: what it finds, what it keeps, and what it says of results that were kept before."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import pytest
from benchmarks.runner import command, records
from benchmarks.runner.declared import FOLDER, Figure, Missing, Told, Wrong, benchmark, named, names
from benchmarks.runner.figures import counted, quantile, spread
from benchmarks.runner.options import Aside, arguments_of, parser_of
from benchmarks.runner.records import Around, Load, keep

IDLE: Load = (0.2, 0.3, 0.4)
BUSY: Load = (2.5, 1.0, 0.5)
RUN = Around("0123456789abcdef", False, "2026-11-29T10:00:00+00:00", {"processor": "a kind", "cores": 2})


@benchmark(unit="ms", better="lower")
def fake(
    files: tuple[Path, ...] = (),
    *,
    value: float = 8.0,
    kinds: Annotated[tuple[Literal["quick", "slow"], ...], "of files"] = ("quick",),
    only: str | None = None,
    list: Annotated[Path | None, Aside("write more to this file")] = None,
    wrong: bool = False,
    twice: Annotated[bool, Aside("tell a figure again")] = False,
    missing: bool = False,
) -> Iterator[Told]:
    """A benchmark that takes no time.

    It yields what it is told to.
    """
    if missing:
        raise Missing("no compiler")
    yield "a remark"
    yield Figure("key p50", value)
    yield Figure("found", 3, "", "higher", whole=4)
    if twice:
        yield Figure("found", 4, "s")
        yield Figure("found", 5)
        yield Figure("found", 6, "")
    if wrong:
        yield Wrong("two times two is five")


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every run is one of this commit on an idle machine of one kind."""
    monkeypatch.setattr(command, "around", lambda: RUN)
    monkeypatch.setattr(command, "load", lambda: IDLE)


def last(folder: Path, *, value: float = 10.0, load: Load = IDLE, **options: object) -> None:
    """An earlier result."""
    given = {"files": [], "value": 8.0, "kinds": ["quick"], "only": None, "wrong": False, "missing": False}
    before = Around("fedcba9876543210", True, "2026-11-01T10:00:00+00:00", RUN.machine)
    figures = [(Figure("key p50", value), "ms", "lower")]
    keep(folder / f"{fake.name}.jsonl", figures, {**given, **options}, before, (IDLE, load))  # type: ignore[arg-type]


def said(capsys: pytest.CaptureFixture[str]) -> list[str]:
    return capsys.readouterr().out.splitlines()


@pytest.mark.parametrize("name", names())
def test_each_program_is_a_benchmark_with_a_line_and_a_command_line(name: str) -> None:
    found = named(name)
    assert found.about.endswith(".") and len(found.about) <= 120
    parser_of(found)
    loose = [line for line in (FOLDER / f"{name}.py").read_text().splitlines() if "argparse" in line]
    assert loose == []


def test_the_list_has_a_line_for_each(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["list"]) == 0
    assert [line.split()[0] for line in said(capsys)] == names()


def test_a_name_that_is_none_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["grwoth"]) == 2
    assert "there is no benchmark grwoth" in capsys.readouterr().err


def test_options_come_from_annotations() -> None:
    def given(*words: str) -> dict[str, object]:
        return arguments_of(fake, parser_of(fake).parse_args(words))

    assert given() == {
        "files": (),
        "value": 8.0,
        "kinds": ("quick",),
        "only": None,
        "list": None,
        "wrong": False,
        "twice": False,
        "missing": False,
    }
    found = given("a.cu", "b.cu", "--value", "2", "--kinds", "slow", "quick", "--list", "out", "--wrong")
    assert (found["files"], found["value"]) == ((Path("a.cu"), Path("b.cu")), 2.0)
    assert (found["kinds"], found["list"], found["wrong"]) == (("slow", "quick"), Path("out"), True)


def test_a_word_that_is_none_of_the_choices_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        parser_of(fake).parse_args(["--kinds", "quik"])
    assert "'quik' is none of quick, slow" in capsys.readouterr().err


def test_a_parameter_that_no_word_can_be_read_for_is_a_defect() -> None:
    @benchmark()
    def odd(*, table: dict[str, int]) -> Iterator[Told]:
        """One."""
        yield from ()

    with pytest.raises(TypeError, match="cannot be dict"):
        parser_of(odd)


def test_nothing_is_kept_without_being_asked_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert command.run(fake, [], tmp_path) == 0
    assert list(tmp_path.iterdir()) == []
    assert said(capsys) == [
        "a remark",
        f"{'key p50':<56} 8 ms",
        f"{'found':<56} 3 of 4, 75.0 %",
        "no result with these options on this kind of machine to compare with",
    ]


def test_a_figure_is_kept_with_all_that_it_may_depend_on(tmp_path: Path) -> None:
    source = tmp_path / "somewhere" / "a.cu"
    words = ["--record", "--value", "2.50000049", str(source), "--list", "out"]
    assert command.run(fake, words, tmp_path) == 0
    kept = [json.loads(line) for line in (tmp_path / f"{fake.name}.jsonl").read_text().splitlines()]
    assert kept[0] == {
        "figure": "key p50",
        "value": 2.5,
        "unit": "ms",
        "better": "lower",
        "options": {
            "files": ["a.cu"],
            "value": 2.50000049,
            "kinds": ["quick"],
            "only": None,
            "wrong": False,
            "missing": False,
        },
        "commit": RUN.commit,
        "dirty": False,
        "date": RUN.date,
        "machine": RUN.machine,
        "load": [list(IDLE), list(IDLE)],
    }
    assert (kept[1]["figure"], kept[1]["whole"], kept[1]["better"]) == ("found", 4, "higher")


def test_a_figure_is_compared_with_the_last_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    last(tmp_path, value=100)
    last(tmp_path, value=7.5)
    command.run(fake, [], tmp_path)
    lines = said(capsys)
    assert lines[1].endswith("8 ms                     +6.7 %, worse")
    assert lines[-1] == "compared with fedcba98 and changes of 2026-11-01"


def test_other_options_and_other_machines_are_not_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last(tmp_path, kinds=["slow"])
    last(tmp_path, gone=1)
    path = tmp_path / f"{fake.name}.jsonl"
    last(tmp_path)
    path.write_text(path.read_text()[::-1].replace("2 :", "4 :", 1)[::-1])  # cores of the last line
    command.run(fake, [], tmp_path)
    assert said(capsys)[-1] == "no result with these options on this kind of machine to compare with"


def test_an_option_that_is_new_counts_as_its_default(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    last(tmp_path)
    path = tmp_path / f"{fake.name}.jsonl"
    path.write_text(path.read_text().replace(', "missing": false', ""))
    command.run(fake, [], tmp_path)
    assert "-20.0 %, better" in said(capsys)[1]


def test_lines_that_are_no_results_are_told_and_passed_over(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / f"{fake.name}.jsonl"
    last(tmp_path)
    with path.open("ab") as out:
        out.write(b'no json\n{"figure": "key p50"}\n[]\n\xff\n{"figure": "key p5')
    assert command.run(fake, ["--record"], tmp_path) == 0
    printed = capsys.readouterr()
    assert "-20.0 %, better" in printed.out
    told = [line.partition(" is no result")[0] for line in printed.err.splitlines()]
    assert told == [f"{path.name}:{number}" for number in (2, 3, 4, 5, 6)]
    assert (
        json.loads(path.read_text(errors="replace").splitlines()[-2])["value"] == 8.0
    )  # behind what was cut off


@pytest.mark.parametrize(("now", "before"), [(IDLE, BUSY), (BUSY, IDLE), (BUSY, BUSY)])
def test_a_busy_machine_is_told(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    now: Load,
    before: Load,
) -> None:
    monkeypatch.setattr(command, "load", lambda: now)
    last(tmp_path, load=before)
    command.run(fake, [], tmp_path)
    told = [line for line in said(capsys) if "over 1" in line]
    assert len(told) == (now == BUSY) + (before == BUSY)


def test_what_is_wrong_ends_with_1_and_what_is_missing_with_2(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run(fake, ["--wrong", "--record"], tmp_path) == 1
    assert "WRONG two times two is five" in said(capsys)
    kept = (tmp_path / f"{fake.name}.jsonl").read_bytes()
    assert command.run(fake, ["--missing", "--record"], tmp_path) == 2
    assert capsys.readouterr().err == "no compiler\n"
    assert (tmp_path / f"{fake.name}.jsonl").read_bytes() == kept


def test_two_figures_of_one_name_and_unit_are_wrong(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert command.run(fake, ["--twice"], tmp_path) == 1
    assert said(capsys).count("WRONG two figures are called found") == 1


@pytest.mark.parametrize("path", sorted(records.RESULTS.glob("*.jsonl")), ids=lambda path: path.stem)
def test_the_results_that_are_kept_can_be_read(path: Path) -> None:
    assert path.stem in names()
    assert records.earlier(path, {}, {}, {})[1] == []


@pytest.mark.parametrize(
    ("value", "past", "better", "words"),
    [
        (3.0, 3.0, "lower", "as before"),
        (5, 3, "neither", "+2"),
        (5, 3, "higher", "+2, better"),
        (1.5, 1.0, "lower", "+50.0 %, worse"),
        (3.0, 4.0, "higher", "-25.0 %, worse"),
        (0.5, 0.0, "lower", "+0.5, worse"),
    ],
)
def test_a_change_is_a_difference_or_a_share(
    value: float, past: float, better: Literal["lower", "higher", "neither"], words: str
) -> None:
    assert command.change(value, past, better) == words


def test_quantiles_are_values_that_were_there() -> None:
    values = [5.0, 1.0, 4.0, 2.0, 3.0]
    assert [quantile(values, part) for part in (0.2, 0.5, 0.99, 1)] == [1.0, 3.0, 5.0, 5.0]
    assert [each.name for each in spread("key", values, (0.5, 0.999, 1))] == [
        "key p50",
        "key p99.9",
        "key max",
    ]
    assert list(spread("key", [])) == []


def test_a_tally_is_figures() -> None:
    from collections import Counter
    from dataclasses import dataclass, field

    @dataclass
    class Tally:
        kernels: int = 4
        texts_cut: list[str] = field(default_factory=lambda: ["a"])
        answers: Counter[str] = field(default_factory=lambda: Counter(race=2))
        wrong: list[str] = field(default_factory=list)

    assert list(counted(Tally())) == [
        Figure("kernels", 4, "", "neither"),
        Figure("texts cut", 1, "", "neither"),
        Figure("answers: race", 2, "", "neither"),
        Figure("wrong", 0, "", "lower"),
    ]
