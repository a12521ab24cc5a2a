"""The C library of the solver: where it is looked for, and what becomes of its errors."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from smem_lsp.analysis.decision import z3_library
from smem_lsp.analysis.decision.z3_library import Context, Z3Error, load


def test_without_the_package_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "z3", None)
    assert load() is None


def test_a_library_in_the_current_folder_is_not_loaded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The package itself takes it first; the folder may be that of a checked project."""
    here = tmp_path / z3_library._NAME
    here.write_bytes(b"whatever a project has put here")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("Z3_LIBRARY_PATH", str(tmp_path))
    tried: list[str] = []

    def refused(place: str) -> None:
        tried.append(place)
        raise OSError

    monkeypatch.setattr(z3_library, "CDLL", refused)

    assert load() is None
    assert tried
    assert str(here) not in [str(Path(each).resolve()) for each in tried if len(Path(each).parts) > 1]


def test_a_library_that_lacks_a_function_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(z3_library, "CDLL", lambda place: object())
    assert load() is None


def test_the_package_is_not_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delitem(sys.modules, "z3", raising=False)  # another test may have asked for it
    assert load() is not None
    assert "z3" not in sys.modules


def test_a_call_that_fails_raises() -> None:
    z3 = load()
    context = Context(z3)
    with pytest.raises(Z3Error, match="unknown constant"):
        z3.Z3_parse_smtlib2_string(context.ref, b"(assert (> a 1))", 0, None, None, 0, None, None)
