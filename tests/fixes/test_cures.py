"""The list of cures."""

from __future__ import annotations

from smem_lsp.fixes.registry import CURES
from smem_lsp.rules import model
from smem_lsp.rules.model import ChangeHost, Remedy


def test_every_remedy_has_a_cure() -> None:
    remedies = {each for each in vars(model).values() if isinstance(each, type) and issubclass(each, Remedy)}
    assert set(CURES) == remedies - {Remedy, ChangeHost}  # that one is about no kernel
