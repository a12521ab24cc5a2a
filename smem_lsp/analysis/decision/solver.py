"""The SMT solver. Nothing else imports it, and not before the first question that is not known yet.

Z3 (de Moura and Bjorner, 2008) over integers. Effort is counted in the solver's own units, never in time, so that an
answer does not depend on the machine. Nor may it depend on what was asked before, but a solver's context remembers:
numbers of its terms decide which way a search goes, and so whether it ends within the effort, and with which values.

A new context is as dear as a simple question (2 ms). So a linear question that asks for no values is first put, with
little effort, to a context that is kept. Measured on 490 such questions of two packages, in three orders: an answer
took at most 1.6 times the effort in one order that it took in another. What is found with little of it is found with
50 times as much in a new context, which is asked otherwise. What surrounds such a question costs as much as its answer,
so its parser and the limit of its effort are kept, too, and nothing is counted (2.0 -> 1.2 ms). Questions with products
of unknown numbers differ up to a hundredfold: those have a context of their own, and so has each one that asks for
values, or about all of them: what one about all of them comes to in a context that is kept may be nothing in a new one.

Products are tried in two ways, each with a part of the effort: without Groebner bases and Horner's scheme first, which
takes two thirds of the time and answers as many questions, but others (of 476 of them 12 more and 13 less).

Questions are texts in which variables are numbered as they come; what was answered once is kept: most are asked again
with the next key, for another pair, or for the next instance of a template.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from enum import Enum
from hashlib import blake2b
from time import monotonic
from typing import Any

from smem_lsp.analysis.decision.formulas import VARIABLE, Expression, Formula
from smem_lsp.analysis.decision.interruption import interrupted, stop_if_stale
from smem_lsp.source import OutOfBudget, record
from smem_lsp.source.native_memory import keep_freed
from smem_lsp.source.queries import PROCESS, Query

_LONGEST = 24_000  # characters of a question
_QUICK = 4_000  # effort in the context that is kept; 98 of 100 linear questions take less than 1,900
_QUICK_COST = 1_000  # what such an answer counts for, whatever it took
_ALIKE = 3  # an answer takes at most 1.6 times the effort in one context that it takes in another
_CONTEXT = 2_500  # what a context of its own counts for
_MOST_MILLISECONDS = 60_000
"""For one question. Some of the solver's steps on products are no effort and have no end: then the analysis is out of
time, and says so. Of 5,200 questions with products none takes more than a second within its effort."""
_PLAIN: Mapping[str, bool] = {}
_LINEAR = ((1.0, _PLAIN),)  # parts of the effort, and the settings with which it is spent
_PRODUCTS = (
    (0.4, {"arith.nl.grobner": False, "arith.nl.horner": False}),
    (0.6, _PLAIN),
)

_local = threading.local()  # a solver's context belongs to one thread


class Satisfiability(Enum):
    """Of a question: no values fulfil it, some do, or the effort was used up."""

    NONE = "none"
    SOME = "some"
    UNKNOWN = "unknown"
    ENDLESS = "endless"  # the time was used up, which no caller gets to see


@record
class Solution:
    """``values``: of the variables that were asked for, where there are some; ``effort``: what the answer took when it
    was found, so that what is left for others does not depend on what was asked before; ``question``: a name of its
    text, where the solver was asked."""

    outcome: Satisfiability
    values: Mapping[str, int]
    effort: int
    question: bytes = b""


MISSING = Solution(Satisfiability.UNKNOWN, {}, 0)
"""Where the solver is not installed, as beside the server that comes with an extension: nothing is decided."""

ANSWERS: Query[tuple[str, bool, int], Solution] = Query("answers of the solver", each=2)
"""By text, whether values are asked for, and effort."""


def solve(formulas: Iterable[Formula], wanted: Sequence[Expression], effort: int) -> Solution:
    """Values for ``wanted`` variables under which all ``formulas`` hold, found with at most that much ``effort``;
    ``effort`` 0: only what is seen at once. Raises Superseded, and OutOfBudget for a question without an end."""
    texts: dict[str, None] = {}
    defined: dict[str, Expression] = {}
    linear = True
    for formula in formulas:
        if formula.known is False:
            return Solution(Satisfiability.NONE, {}, 0)
        if formula.defines is not None:
            defined.setdefault(*formula.defines)
        elif formula.known is None:
            texts[formula.text] = None
            linear = linear and formula.linear
    # a definition names variables that were made later, and perhaps defined themselves
    asserted = "".join(f"(define-fun {name} () Int {defined[name].text})" for name in reversed(defined))
    asserted += "".join(f"(assert {text})" for text in texts)
    if len(asserted) > _LONGEST or effort <= 0:
        return Solution(Satisfiability.UNKNOWN, {}, 0)
    names: dict[str, str] = {}

    def numbered(found: re.Match[str]) -> str:
        return names.get(found[0]) or names.setdefault(found[0], f"v{len(names)}")

    asserted = VARIABLE.sub(numbered, asserted)
    key = asserted, bool(wanted), effort
    found = ANSWERS.find(PROCESS, key)
    if found is None:
        free = [short for name, short in names.items() if name not in defined]
        found = _solved(asserted, free, effort, values=bool(wanted), linear=linear)
        if found is MISSING:
            return found
        found = replace(found, question=blake2b(asserted.encode(), digest_size=16).digest())
        ANSWERS.keep(PROCESS, key, found, len(asserted))
    if found.outcome is Satisfiability.ENDLESS:
        raise OutOfBudget("time")
    if not wanted or found.outcome is not Satisfiability.SOME:
        return found
    values = {name: found.values.get(short, 0) for name, short in names.items()}
    for name in reversed(defined):
        parts, more = defined[name].parts, defined[name].more
        values[name] = more + sum(factor * values.get(text, 0) for text, factor in parts.items())
    return replace(found, values={each.text: values.get(each.text, 0) for each in wanted})


def _solved(asserted: str, names: Sequence[str], effort: int, *, values: bool, linear: bool) -> Solution:
    from smem_lsp.analysis.decision.z3_library import SolverContext, library  # 8 ms

    z3 = library()
    if z3 is None:
        return MISSING
    stop_if_stale()
    text = "".join(f"(declare-const {name} Int)" for name in names) + asserted
    keep_freed()
    shared = linear and not values and "(forall" not in asserted
    if shared:
        kept: _KeptContext | None = getattr(_local, "kept", None)
        if kept is None:
            kept = _local.kept = _KeptContext(z3, SolverContext(z3))
            PROCESS.can_spare(_let_go)
        outcome = kept.ask(text, min(_QUICK, effort))
        if outcome is not Satisfiability.UNKNOWN:
            return Solution(outcome, {}, _QUICK_COST)
    spent = 0
    for part, settings in _LINEAR if linear else _PRODUCTS:
        context = SolverContext(z3)
        with interrupted(context.interrupt):
            allowed = int(part * effort)
            outcome, found, used = _put(z3, context.ref, text, names if values else (), allowed, settings)
        if outcome is Satisfiability.ENDLESS:
            return Solution(outcome, {}, 0)
        if outcome is not Satisfiability.UNKNOWN:
            # what the context that is kept may answer, too, costs the same whether it did
            quick = shared and used <= _ALIKE * _QUICK
            return Solution(outcome, found, _QUICK_COST if quick else _CONTEXT + spent + used)
        spent += _CONTEXT + max(used, allowed)
    return Solution(Satisfiability.UNKNOWN, {}, spent)


def _let_go() -> None:
    """Drop the context that is kept for this thread: it takes 20 MB."""
    _local.kept = None


class _KeptContext:
    """A context that is kept for questions that ask for no values, and with it what reads them."""

    __slots__ = ("_context", "_effort", "_parser", "_z3")

    def __init__(self, z3: Any, context: Any) -> None:
        self._z3, self._context = z3, context
        self._effort = 0
        self._parser = z3.Z3_mk_parser_context(context.ref)
        z3.Z3_parser_context_inc_ref(context.ref, self._parser)

    def ask(self, text: str, effort: int) -> Satisfiability:
        z3, c, parser = self._z3, self._context.ref, self._parser
        if effort != self._effort:
            z3.Z3_update_param_value(c, b"rlimit", str(effort).encode())
            self._effort = effort
        solver = z3.Z3_mk_simple_solver(c)
        z3.Z3_solver_inc_ref(c, solver)
        try:
            _assert_all(z3, c, solver, z3.Z3_parser_context_from_string(c, parser, b"(push)" + text.encode()))
            return _outcome(z3.Z3_solver_check(c, solver))
        finally:
            z3.Z3_parser_context_from_string(c, parser, b"(pop)")  # its variables are no others' variables
            z3.Z3_solver_dec_ref(c, solver)


def _assert_all(z3: Any, c: Any, solver: Any, parsed: Any) -> None:
    z3.Z3_ast_vector_inc_ref(c, parsed)
    for place in range(z3.Z3_ast_vector_size(c, parsed)):
        z3.Z3_solver_assert(c, solver, z3.Z3_ast_vector_get(c, parsed, place))
    z3.Z3_ast_vector_dec_ref(c, parsed)


def _outcome(answer: int) -> Satisfiability:
    return (
        Satisfiability.NONE if answer < 0 else Satisfiability.SOME if answer > 0 else Satisfiability.UNKNOWN
    )


def _put(
    z3: Any, c: Any, text: str, names: Sequence[str], effort: int, settings: Mapping[str, bool] = _PLAIN
) -> tuple[Satisfiability, Mapping[str, int], int]:
    """The answer in a new context, the values of ``names``, and the effort that they took. In the words of the
    solver's own interface: the objects of Python around it cost as much as an easy answer."""
    # without tactics: a third of the time, and more is decided
    solver = z3.Z3_mk_simple_solver(c)
    z3.Z3_solver_inc_ref(c, solver)
    given = z3.Z3_mk_params(c)
    z3.Z3_params_inc_ref(c, given)
    z3.Z3_params_set_uint(c, given, z3.Z3_mk_string_symbol(c, b"rlimit"), effort)
    z3.Z3_params_set_uint(c, given, z3.Z3_mk_string_symbol(c, b"timeout"), _MOST_MILLISECONDS)
    for name, value in settings.items():
        z3.Z3_params_set_bool(c, given, z3.Z3_mk_string_symbol(c, name.encode()), value)
    z3.Z3_solver_set_params(c, solver, given)
    z3.Z3_params_dec_ref(c, given)
    try:
        parsed = z3.Z3_parse_smtlib2_string(c, text.encode(), 0, None, None, 0, None, None)
        _assert_all(z3, c, solver, parsed)
        began = monotonic()
        outcome = _outcome(z3.Z3_solver_check(c, solver))
        if outcome is Satisfiability.UNKNOWN and 1000 * (monotonic() - began) >= _MOST_MILLISECONDS:
            outcome = Satisfiability.ENDLESS  # the solver has one word for both of its limits
        values = _values(z3, c, solver, names) if names and outcome is Satisfiability.SOME else {}
        return outcome, values, _count(z3, c, solver)
    finally:
        z3.Z3_solver_dec_ref(c, solver)


def _values(z3: Any, c: Any, solver: Any, names: Sequence[str]) -> Mapping[str, int]:
    from ctypes import byref, c_void_p

    found: dict[str, int] = {}
    model = z3.Z3_solver_get_model(c, solver)
    z3.Z3_model_inc_ref(c, model)
    integer, value = z3.Z3_mk_int_sort(c), c_void_p()
    for name in names:
        variable = z3.Z3_mk_const(c, z3.Z3_mk_string_symbol(c, name.encode()), integer)
        z3.Z3_inc_ref(c, variable)
        if z3.Z3_model_eval(c, model, variable, True, byref(value)):
            found[name] = int(z3.Z3_get_numeral_string(c, value))
        z3.Z3_dec_ref(c, variable)
    z3.Z3_model_dec_ref(c, model)
    return found


def _count(z3: Any, c: Any, solver: Any) -> int:
    statistics = z3.Z3_solver_get_statistics(c, solver)
    z3.Z3_stats_inc_ref(c, statistics)
    try:
        for place in range(z3.Z3_stats_size(c, statistics)):
            if z3.Z3_stats_get_key(c, statistics, place) == b"rlimit count":
                return int(z3.Z3_stats_get_uint_value(c, statistics, place))
    finally:
        z3.Z3_stats_dec_ref(c, statistics)
    return 0
