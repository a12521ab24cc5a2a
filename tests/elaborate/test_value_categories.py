"""Which references bind to expressions of which category, and which of two binds better."""

from __future__ import annotations

import pytest

from smem_lsp.elaborate.value_categories import Binding, Category, Given, may_bind, preferred

LVALUE, CONSTANT = (
    Given(category=Category.LVALUE, constant=False),
    Given(category=Category.LVALUE, constant=True),
)
XVALUE, PRVALUE = (Given(category=each, constant=False) for each in (Category.XVALUE, Category.PRVALUE))
VALUE, PLACE, READ, MOVED = Binding(), Binding("&"), Binding("&", constant=True), Binding("&&")
FREE = Binding("&&", free=True)


@pytest.mark.parametrize(
    ("given", "takes"),
    [
        (LVALUE, (VALUE, PLACE, READ, FREE)),
        (CONSTANT, (VALUE, READ, FREE)),
        (XVALUE, (VALUE, READ, MOVED, FREE)),
        (PRVALUE, (VALUE, READ, MOVED, FREE)),
        (Given(), (VALUE, PLACE, READ, MOVED, FREE)),
    ],
)
def test_what_binds(given: Given, takes: tuple[Binding, ...]) -> None:
    assert (
        tuple(each for each in (VALUE, PLACE, READ, MOVED, FREE) if may_bind(given, each, same=True)) == takes
    )


def test_an_object_is_made_where_the_type_is_another_one() -> None:
    assert not may_bind(LVALUE, PLACE, same=False)
    assert may_bind(LVALUE, READ, same=False)
    assert may_bind(LVALUE, MOVED, same=False)


@pytest.mark.parametrize(
    ("given", "one", "other", "order"),
    [
        (XVALUE, MOVED, READ, -1),
        (PRVALUE, READ, MOVED, 1),
        (LVALUE, PLACE, READ, -1),
        (Given(category=Category.LVALUE), PLACE, READ, None),
        (Given(), MOVED, READ, None),
        (LVALUE, VALUE, READ, 0),
        (LVALUE, FREE, READ, None),
    ],
)
def test_which_binds_better(given: Given, one: Binding, other: Binding, order: int | None) -> None:
    assert preferred(given, one, other) == order
