"""The tool on real CUDA: no exception, no kernel left out, and a JSON that its own schema accepts."""

from __future__ import annotations

import json
import os
from pathlib import Path

import jsonschema
import pytest
from fetch import Corpus, Unavailable, corpora, fetch
from survey import HEADER, SLOW, Survey, survey

from smem_lsp.output import json_

SCHEMA = json.loads((Path(json_.__file__).parent / "schema.json").read_text(encoding="utf-8"))


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize("corpus", corpora(), ids=lambda corpus: corpus.name)
def test_corpus(corpus: Corpus, capfd: pytest.CaptureFixture[str]) -> None:
    try:
        result = survey(corpus, fetch(corpus))
    except Unavailable as reason:
        if os.environ.get("SMEM_REQUIRE_TOOLS") == "1":
            pytest.fail(f"{reason} (SMEM_REQUIRE_TOOLS=1)", pytrace=False)
        pytest.skip(str(reason))
    with capfd.disabled():
        _print(result)
    assert result.crashes == []
    assert result.missing == [], "kernels that an independent scan finds and the tool does not list"
    assert result.unequal == []
    assert result.misplaced == []
    assert result.files
    assert result.kernels
    assert result.complete >= 0.97 * result.kernels
    assert result.unread <= 0.001 * result.statements
    validator = jsonschema.Draft202012Validator(SCHEMA)
    for name, document in result.documents:
        error = jsonschema.exceptions.best_match(validator.iter_errors(document))
        assert error is None, f"{name}: {error.json_path}: {error.message}"


def _print(result: Survey) -> None:
    """One row of the table, on the standard error that worker processes share with the terminal."""
    lines = [HEADER, result.row(), *(f"slow: {s:.1f} s, over {SLOW:g} s: {name}" for s, name in result.slow)]
    os.write(2, ("\n" + "\n".join(lines) + "\n").encode())
