"""Regular expressions that are compiled when they are first used."""

from __future__ import annotations

import copy
import pickle
import re
import subprocess
import sys

import pytest

from smem_lsp.source.regex import regex


def test_it_is_compiled_at_its_first_use(monkeypatch: pytest.MonkeyPatch) -> None:
    compiled: list[str] = []
    real = re.compile

    def noted(text: str, flags: int = 0) -> re.Pattern[str]:
        compiled.append(text)
        return real(text, flags)

    monkeypatch.setattr(re, "compile", noted)
    word = regex(r"(\w)\w*", re.ASCII)
    assert not compiled
    found = word.match("abc def")
    assert found is not None
    assert found[1] == "a"
    assert word.sub("x", "abc def") == "x x"
    assert [each[0] for each in word.finditer("abc def")] == ["abc", "def"]
    assert word.match("é") is None
    assert compiled == [r"(\w)\w*"]
    assert word.groups == 1


def test_it_is_copied_and_compared_by_its_text() -> None:
    used, other = regex("a+"), regex("a+", re.I)
    assert used.match("aa")
    for twin in (pickle.loads(pickle.dumps(used)), copy.deepcopy(used), regex("a+")):
        assert twin == used
        assert hash(twin) == hash(used)
        assert twin.match("aa")
        assert twin != other
    assert other.match("AA")


def test_the_command_line_compiles_few_when_it_starts() -> None:
    program = (
        "import re\nfound = []\nreal = re._compiler.compile\n"
        "re._compiler.compile = lambda text, flags=0: found.append(text) or real(text, flags)\n"
        "import smem_lsp.lowering.kernel, smem_lsp.unit.file_index\nprint(len(found))"
    )
    if sys.version_info < (3, 11):
        program = program.replace("re._compiler", "re.sre_compile")
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 60
