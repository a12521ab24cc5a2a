"""Runs the expressions of a host function along one path: calls of the API, launches, accesses, and what leaves."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smem_lsp.analysis.host import api as table
from smem_lsp.analysis.host.api import ALLOCATION, EVENT, MANAGED, STREAM, Api, api_of
from smem_lsp.analysis.host.callees import (
    ENDS,
    KEEPING_METHODS,
    UNKNOWN,
    Callees,
    Parameter,
    is_library,
    is_plain,
    is_plain_method,
    touches,
)
from smem_lsp.analysis.host.evidence import Evidence
from smem_lsp.analysis.host.model import Made, Statement, Token, Tokens, Use
from smem_lsp.analysis.host.order import (
    DEFAULT,
    LEFT,
    LIVE,
    PER_THREAD,
    RELEASED,
    Null,
    Outcome,
    Ref,
    State,
    Value,
)
from smem_lsp.source import checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

MOST_STEPS = 20_000  # expressions that are run
MOST_LEVELS = 60
_NULLS = frozenset(("0", "nullptr", "NULL", "0x0"))
SUCCESS = ("cudaSuccess", "hipSuccess", "CUDA_SUCCESS")
_POINTERS = (ALLOCATION, MANAGED)


class TooMuch(Exception):
    """There is more than is followed: nothing is said of the function."""


@dataclass(eq=False, slots=True)
class Variable:
    """A variable of the function. ``owns``: what is put into it is lost where its scope ends; ``several``: an array of
    handles; ``target``: what it is a reference to; ``configures``: it holds the configuration of a launch; ``points``:
    to the variables whose addresses it holds; ``ends``: a class whose destructor may wait."""

    number: int
    name: str
    owns: bool = False
    several: bool = False
    target: Variable | None = None
    configures: bool = False
    points: tuple[Variable, ...] = ()
    ends: bool = False
    apart: bool = False  # volatile or atomic
    shared: bool = False  # its address is known elsewhere
    nullable: bool = False  # null, false or success mean something


@dataclass(eq=False, slots=True)
class Address:
    """``&x`` of a variable."""

    variable: Variable


class Expressions:
    """Evaluates expressions. ``base``: first token of the chunk; ``statement``: around it."""

    def __init__(self, function: Function, callees: Callees, *, per_thread: bool) -> None:
        self.function = function
        self.body = function.body
        self.callees = callees
        self.dialect = callees.dialect
        self.default = PER_THREAD if per_thread else DEFAULT
        self.base = 0
        self.level = 0
        self.steps = 0
        self.scopes: list[dict[str, Variable]] = [{}]
        self.declared: dict[Tokens, Variable] = {}
        self.paths: dict[str, Variable] = {}
        self.statement = Statement((0, 0), False)
        self.made: dict[tuple[int, str], Made] = {}
        self.things: list[Made] = []
        self.uses: dict[tuple[int, int, str], Use] = {}
        self.used: list[Use] = []
        self.blocking: dict[int, bool] = {PER_THREAD: True}
        self.evidence = Evidence()
        self.outcomes: dict[tuple[int, int], Outcome] = {}  # of the calls of the chunk that is run
        self.forks: list[State] = []
        self.releases: list[int] = []  # in the order in which they are met
        self.dead = False
        self.branches = 0  # around, inside of the loop around

    # ---- names -------------------------------------------------------------------------------------------------

    def declare(self, name: str, at: Tokens) -> Variable:
        """The variable that is declared at these tokens: in each turn of a loop the same."""
        variable = self.declared.get(at)
        if variable is None:
            variable = self.declared[at] = Variable(len(self.declared), name)
        self.scopes[-1][name] = variable
        return variable

    def find(self, name: str) -> Variable | None:
        for scope in reversed(self.scopes):
            if name in scope:
                found = scope[name]
                while found.target is not None:
                    found = found.target
                return found
        return None

    def tokens(self, expr: tree.Expr) -> Tokens:
        return self.base + expr.lo, self.base + expr.hi

    def text(self, expr: tree.Expr) -> str:
        texts = self.body.tokens.texts[self.base + expr.lo : self.base + expr.hi]
        return "".join(texts) if len(texts) < 8 else "…"

    # ---- things ------------------------------------------------------------------------------------------------

    def thing(self, kind: str, name: str, place: Tokens, several: bool) -> Made:
        key = place[0], kind
        found = self.made.get(key)
        if found is None:
            found = self.made[key] = Made(len(self.things), kind, name, place, several)
            self.things.append(found)
        return found

    def leave(self, state: State, value: Value | Address) -> None:
        """A value goes where it is not followed."""
        if isinstance(value, Ref):
            state.leave(value.made)
        elif isinstance(value, Address):
            variable = value.variable
            variable.shared = True
            held = state.values.get(variable.number)
            if isinstance(held, Ref):
                state.leave(held.made)
            state.values.pop(variable.number, None)
        elif isinstance(value, Outcome) and value.made is not None:
            state.leave(value.made)  # whether it was made is known elsewhere

    def path(self, expr: tree.Expr) -> Variable:
        """What ``result.error`` means, as if it were a variable."""
        text = " ".join(self.body.tokens.texts[slice(*self.tokens(expr))])
        variable = self.paths.get(text)
        if variable is None:
            variable = self.paths[text] = Variable(-2 - len(self.paths), text)
        return variable

    def stream(self, state: State, value: Value | Address, expr: tree.Expr | None) -> int:
        """The stream that an expression means."""
        if isinstance(value, Ref) and self.things[value.made].kind == STREAM:
            self.use_handle(state, value, expr)
            return value.made if state.status.get(value.made) != LEFT else DEFAULT
        if expr is None or isinstance(value, Null):
            return self.default
        if isinstance(expr, tree.Name) and expr.text.endswith(("StreamPerThread", "STREAM_PER_THREAD")):
            return PER_THREAD
        return DEFAULT

    def stream_name(self, stream: int, expr: tree.Expr | None) -> str:
        if expr is None and stream >= 0:  # of a configuration
            return f"`{self.things[stream].name}`"
        if expr is None or (stream == self.default and self.text(expr) in _NULLS):
            return "the default stream"
        return f"`{self.text(expr)}`"

    def happens(
        self,
        stream: int,
        where: tree.Expr | None,
        kind: str,
        what: str,
        place: Tokens,
        event: str | None = None,
    ) -> None:
        """Note what happens in the stream that an expression means."""
        inner, array = where, ""
        while isinstance(inner, tree.Index):
            inner, array = inner.base, "[]"
        name = "" if inner is None or self.text(inner) in _NULLS else self.text(inner) + array
        if inner is None and stream >= 0:
            name = self.things[stream].name
        self.evidence.happens(name, Token(kind, what, place, event))

    def use_handle(self, state: State, value: Value | Address, expr: tree.Expr | None) -> None:
        """A handle is given to the API: it must not have been destroyed."""
        if isinstance(value, Ref) and expr is not None:
            thing = self.things[value.made]
            if thing.kind not in _POINTERS and not thing.several and value.made in state.status:
                gone = state.status[value.made] == RELEASED
                self.evidence.gone(thing, self.tokens(expr), gone, self.statement)

    # ---- expressions -------------------------------------------------------------------------------------------

    def value(self, state: State, expr: tree.Expr) -> Value | Address:
        """Run an expression. Raises TooMuch."""
        checkpoint()
        self.steps += 1
        if self.steps > MOST_STEPS or self.level >= MOST_LEVELS:
            raise TooMuch
        self.level += 1
        try:
            return self._value(state, expr)
        finally:
            self.level -= 1

    def _value(self, state: State, expr: tree.Expr) -> Value | Address:
        match expr:
            case tree.Name():
                return self._name(state, expr)
            case tree.Number():
                return Null() if expr.text in _NULLS or expr.text == "false" else None
            case tree.Unary() | tree.PostfixStep():
                return self._unary(state, expr)
            case tree.Binary():
                return self._binary(state, expr)
            case tree.Assign():
                return self._assign(state, expr)
            case tree.Ternary():
                self.value(state, expr.condition)
                for side in (expr.yes, expr.no):
                    self.leave(state, self.perhaps(state, side))
            case tree.Call():
                return self._call(state, expr)
            case tree.Launch():
                self._launch(state, expr)
            case tree.Index():
                return self._index(state, expr)
            case tree.Member():
                return self._member(state, expr)
            case tree.Cast():
                return self._cast(state, expr)
            case tree.Braces():
                for item in expr.items:
                    self.leave(state, self.value(state, item))
            case tree.Lambda():
                self.unread(state, *self.tokens(expr))
            case tree.Opaque():
                for operand in expr.operands:
                    value = self.value(state, operand)
                    if expr.kind != "delete" or not isinstance(value, Address):
                        self.leave(state, value)
                if expr.kind == "throw":
                    self.dead = True
        return None

    def perhaps(self, state: State, expr: tree.Expr) -> Value | Address:
        """Run an expression that may not be reached."""
        before = state.copy()
        self.branches += 1
        value = self.value(state, expr)
        self.branches -= 1
        if before.key != state.key or self.dead:
            if self.dead:  # only the paths that do not reach it go on
                self.dead = False
                state.become(before)
                return None
            self.forks.append(before)
        return value

    def unread(self, state: State, lo: int, hi: int) -> None:
        """Something that is not followed: what it names is out of hand, and it may wait for everything."""
        tokens = self.body.tokens
        for kind, text in zip(tokens.kinds[lo:hi], tokens.texts[lo:hi]):
            variable = self.find(text) if kind == "NAME" else None
            if variable is not None:
                self.leave(state, Address(variable))
        state.wait_all()

    def _name(self, state: State, expr: tree.Name) -> Value | Address:
        variable = None if "::" in expr.text else self.find(expr.text)
        if variable is not None:
            return Address(variable) if variable.several else state.values.get(variable.number)
        if expr.text in _NULLS or expr.text in SUCCESS or expr.text.rpartition("::")[2] in SUCCESS:
            return Null()
        if expr.text in self.callees.managed:
            self.touch(state, Ref(self._global(state, expr.text)), expr, writes=False)
        return None

    def _global(self, state: State, name: str) -> int:
        """The variable ``name`` in managed memory, at namespace scope."""
        thing = self.made.get((-1, name))
        if thing is None:
            thing = self.made[-1, name] = Made(len(self.things), MANAGED, name, (-1, -1))
            self.things.append(thing)
        state.status.setdefault(thing.number, LIVE)
        return thing.number

    def _unary(self, state: State, expr: tree.Unary | tree.PostfixStep) -> Value | Address:
        operand = expr.operand
        if expr.operator == "&" and isinstance(expr, tree.Unary):
            inner = operand
            while isinstance(inner, tree.Index):
                self.leave(state, self.value(state, inner.index))
                inner = inner.base
            if isinstance(inner, tree.Name):
                variable = self.find(inner.text)
                held = None if variable is None else state.values.get(variable.number)
                if isinstance(held, Ref) and inner is not operand and variable and not variable.several:
                    return Ref(held.made, exact=False)  # &p[i]
                return None if variable is None else Address(variable)
            return None
        if expr.operator == "*" and isinstance(expr, tree.Unary):
            value = self.value(state, operand)
            if isinstance(value, Ref):
                self.touch(state, value, expr, writes=False)
            return None
        if expr.operator in ("++", "--"):
            self._written(state, operand)
        value = self.value(state, operand)
        if expr.operator in ("++", "--"):
            if isinstance(operand, tree.Name) and isinstance(value, Ref):
                variable = self.find(operand.text)
                if variable is not None:
                    state.values[variable.number] = Ref(value.made, exact=False)
            return Ref(value.made, exact=False) if isinstance(value, Ref) else None
        return (
            Outcome(None, None, plain=False) if isinstance(value, Outcome) and expr.operator != "!" else None
        )

    def _written(self, state: State, target: tree.Expr) -> None:
        """The host writes what ``target`` means, after it was evaluated."""
        match target:
            case tree.Index() | tree.Unary(operator="*"):
                base = target.base if isinstance(target, tree.Index) else target.operand
                value = self.value(state, base)
                if isinstance(value, Ref):
                    self.touch(state, value, target, writes=True)
                elif isinstance(base, tree.Name) and base.text in self.callees.managed:
                    self.touch(state, Ref(self._global(state, base.text)), target, writes=True)
            case tree.Member():
                if target.operator == ".":
                    self._written(state, target.base)
                    return
                value = self.value(state, target.base)
                if isinstance(value, Ref):
                    self.touch(state, value, target, writes=True)
            case tree.Name():
                if self.find(target.text) is None and target.text in self.callees.managed:
                    self.touch(state, Ref(self._global(state, target.text)), target, writes=True)

    def _binary(self, state: State, expr: tree.Binary) -> Value | Address:
        left = self.value(state, expr.left)
        if expr.operator in ("&&", "||"):
            self.perhaps(state, expr.right)
            return None
        right = self.value(state, expr.right)
        if expr.operator == ",":
            return right
        if expr.operator in ("+", "-"):
            for side in (left, right):
                if isinstance(side, Ref):
                    return Ref(side.made, exact=False)
        outcome = left if isinstance(left, Outcome) else right
        return Outcome(outcome.made, outcome.waited, plain=False) if isinstance(outcome, Outcome) else None

    def _assign(self, state: State, expr: tree.Assign) -> Value | Address:
        value = self.value(state, expr.value)
        target = expr.target
        variable = self.find(target.text) if isinstance(target, tree.Name) else None
        if variable is not None and isinstance(target, tree.Name):
            self._forget_facts(state, variable.name)
            if expr.operator != "=":
                held = state.values.get(variable.number)
                value = Ref(held.made, exact=False) if isinstance(held, Ref) else None
            elif isinstance(value, Address) or (
                isinstance(value, Ref) and (variable.shared or variable.several)
            ):
                self.leave(state, value)
                value = None
            elif isinstance(value, Null) and not variable.nullable:
                value = None
            self.put(state, variable, value, self.tokens(expr))
            return value
        if isinstance(target, tree.Member) and isinstance(target.base, tree.Name):
            holder = self.find(target.base.text)
            if holder is not None and holder.configures and target.name in ("stream", "hStream"):
                state.values[holder.number] = value if isinstance(value, (Ref, Null)) else None
                return value
        self._written(state, target)
        if isinstance(target, tree.Index):
            self.leave(state, self.value(state, target.index))
        if isinstance(value, Outcome) and isinstance(target, tree.Member) and expr.operator == "=":
            state.values[self.path(target).number] = value
        else:
            if isinstance(target, tree.Member):
                state.values.pop(self.path(target).number, None)
            self.leave(state, value)
        return value if isinstance(value, Outcome) else None

    def put(self, state: State, variable: Variable, value: Value, place: Tokens) -> None:
        """A variable gets another value: what it alone held is lost."""
        before = state.values.get(variable.number)
        if isinstance(before, Ref) and not variable.several and before != value:
            self.lost(state, variable, "again", place)
        if value is None:
            state.values.pop(variable.number, None)
        else:
            state.values[variable.number] = value

    def lost(self, state: State, variable: Variable, how: str, place: Tokens) -> None:
        """What the variable holds is out of reach, unless another one holds it, too."""
        held = state.values.pop(variable.number, None)
        if not isinstance(held, Ref) or held.made not in state.status:
            return
        if any(isinstance(each, Ref) and each.made == held.made for each in state.values.values()):
            return
        thing = self.things[held.made]
        if how == "again" and self.branches:
            state.leave(held.made)  # it may be that only one turn of a loop gets here
        if thing.kind != MANAGED:
            alone = self.statement.alone
            self.evidence.lost(thing, how, place, alone, live=state.status[held.made] == LIVE)
        if how != "return":
            if thing.kind == STREAM:
                state.before[DEFAULT] = state.ordered(DEFAULT, self.blocking)
            del state.status[held.made]

    def _forget_facts(self, state: State, name: str) -> None:
        for text in [text for text in state.facts if name in text.split(" ")]:
            del state.facts[text]

    def _index(self, state: State, expr: tree.Index) -> Value:
        self.leave(state, self.value(state, expr.index))
        value = self.value(state, expr.base)
        if isinstance(value, Address) and value.variable.several:
            value = state.values.get(value.variable.number)
            return value if isinstance(value, Ref) else None
        if isinstance(value, Ref):
            if self.things[value.made].kind in _POINTERS:
                self.touch(state, value, expr, writes=False)
                return None
            return value
        return None

    def _member(self, state: State, expr: tree.Member) -> Value:
        value = self.value(state, expr.base)
        if isinstance(value, Ref) and expr.operator == "->":
            self.touch(state, value, expr, writes=False)
        return value if isinstance(value, Outcome) else None

    def _cast(self, state: State, expr: tree.Cast) -> Value | Address:
        words = expr.type.words
        if any("atomic" in word for word in words):
            self.unread(state, *self.tokens(expr))
            return None
        value = self.value(state, expr.operand)
        if "volatile" in words:
            self.leave(state, value)
            return None
        if expr.style == "functional" and not expr.type.pointers:
            known = any(word in table.handle_types(self.dialect) for word in words)
            if not known and isinstance(value, (Ref, Address)):
                self.leave(state, value)
                return None
        return value

    # ---- calls -------------------------------------------------------------------------------------------------

    def _call(self, state: State, expr: tree.Call) -> Value | Address:
        callee = expr.callee
        if isinstance(callee, tree.Name):
            name = callee.text.rpartition("::")[2]
            api = api_of(name, self.dialect)
            if api is not None:
                outcome = self._api(state, expr, name, api)
                self.outcomes[self.tokens(expr)] = outcome
                return outcome
            if name in ENDS:
                self.dead = True
                return None
            if "atomic" in name:  # somebody else may access it at the same time
                self.unread(state, *self.tokens(expr))
                return None
            return self._named(state, expr, name, callee.text.removesuffix(name))
        if isinstance(callee, tree.Member):
            return self._method(state, expr, callee)
        self.leave(state, self.value(state, callee))
        for argument in expr.arguments:
            self.leave(state, self.value(state, argument))
        state.wait_all()
        return None

    def _named(self, state: State, expr: tree.Call, name: str, space: str) -> Value:
        """A call of a function that is not of the API."""
        released = len(self.releases)
        values = [self.value(state, argument) for argument in expr.arguments]
        if is_plain(name) and space in ("", "std::", "::") and self.find(name) is None:
            written, read = touches(name)
            for at, value in enumerate(values):
                if isinstance(value, Ref) and (at in written or at in read):
                    self.touch(state, value, expr.arguments[at], writes=at in written)
                elif isinstance(value, Address):
                    self._plainly(state, value, at in written)
            return None
        if is_library(name):
            for value in values:
                if isinstance(value, Address):
                    self.leave(state, value)
            state.wait_all()
            return None
        outcome = next((value for value in values if isinstance(value, Outcome)), None)
        known = self.callees.summary(name) if self.find(name) is None else None
        if known is None and outcome is not None:
            for value in values:
                if not isinstance(value, Outcome):
                    self.leave(state, value)
            for number in self.releases[released:]:
                state.leave(number)  # perhaps not here: `defer(cudaStreamDestroy(s))`
            return Outcome(outcome.made, outcome.waited, plain=False)
        for at, value in enumerate(values):
            borrowed = known is not None and at < len(known.borrows) and known.borrows[at]
            if not isinstance(value, Outcome) and not (borrowed and isinstance(value, Ref)):
                self.leave(state, value)
        if known is None or not known.quiet:
            state.wait_all()
        return Outcome(outcome.made, outcome.waited, plain=False) if outcome is not None else None

    def _plainly(self, state: State, value: Address, written: bool) -> None:
        """A function of the C library gets the address of a variable for the time of the call."""
        if written and value.variable.owns:
            self.leave(state, value)

    def _method(self, state: State, expr: tree.Call, callee: tree.Member) -> Value:
        base = callee.base
        values = [self.value(state, argument) for argument in expr.arguments]
        for value in values:
            self.leave(state, value)
        variable = self.find(base.text) if isinstance(base, tree.Name) else None
        if variable is not None and variable.several and callee.name in KEEPING_METHODS:
            held = state.values.get(variable.number)
            return held if isinstance(held, Ref) and callee.name in ("at", "front", "back") else None
        self.leave(state, self.value(state, base))
        if not is_plain_method(callee.name):
            state.wait_all()
        return None

    def _argument(self, expr: tree.Call, at: int | None) -> tree.Expr | None:
        if at is None:
            return None
        if at < 0:
            at += len(expr.arguments)
        return expr.arguments[at] if 0 <= at < len(expr.arguments) else None

    def _api(self, state: State, expr: tree.Call, name: str, api: Api) -> Outcome:
        """A call of the API."""
        place = self.tokens(expr)
        values = [self.value(state, argument) for argument in expr.arguments]

        def given(at: int | None) -> Value | Address:
            if at is None:
                return None
            at = at + len(values) if at < 0 else at
            value = values[at] if 0 <= at < len(values) else None
            if isinstance(value, Address) and value.variable.several and at != api.makes:
                return state.values.get(value.variable.number)  # an element
            return value

        where = self._argument(expr, api.stream)
        for at, value in enumerate(values):
            if at == api.makes or at == api.releases or at == api.stream:
                continue
            if isinstance(value, Address) and not (api.does == "launch" and at == api.arguments):
                self.leave(state, value)
            elif not isinstance(value, Address):
                self.use_handle(state, value, expr.arguments[at])
        if api.does == "launch":
            self._launched(state, expr, name, api, values)
            return Outcome()
        runs_in = DEFAULT
        if api.stream is not None:
            runs_in = self.stream(state, given(api.stream), where)
        elif api.runs:
            runs_in = self.default
        if api.makes is not None:
            return self._makes(state, expr, api, values, runs_in)
        if api.releases is not None:
            return self._releases(state, expr, name, api, given(api.releases), runs_in)
        if api.does in ("record", "wait"):
            self._event(state, api, given(api.event), runs_in, where)
            event = self._argument(expr, api.event)
            named = "an event" if event is None else self.text(event)
            if api.does == "record":
                self.happens(runs_in, where, "record", f"record {named}", place, named)
            else:
                self.happens(runs_in, where, "wait", f"wait for {named}", place, named)
            return Outcome()
        if api.does == "query":
            target = given(api.stream if api.stream is not None else api.event)
            if api.event is not None:
                number = self._event_number(state, target)
                return Outcome(None, ("event", number) if number is not None else ("all", 0))
            return Outcome(None, ("stream", runs_in))
        if api.does == "begin":
            state.capturing = True
            return Outcome()
        if api.does == "callback":
            for value in values:
                self.leave(state, value)
            state.wait_all()
            return Outcome()
        if api.does == "attach":
            for value in values:
                if isinstance(value, Ref) and self.things[value.made].kind == MANAGED:
                    state.leave(value.made)
            return Outcome()
        if api.does == "reset":
            for number in list(state.status):
                state.leave(number)
        if api.does == "graph":
            self._runs_graph(state, runs_in, where, place)
        elif api.runs:
            self._works(state, expr, name, api, values, runs_in)
        self._waits(state, api, given, runs_in, where, place)
        if not api.quiet:
            state.wait_all()
        return Outcome()

    def _runs_graph(self, state: State, stream: int, where: tree.Expr | None, place: Tokens) -> None:
        """A graph runs: with what was captured anywhere before."""
        words = self.stream_name(stream, where)
        uses = [
            self._use(state, made, "the graph", place, words, writes, False, None)
            for made, writes in sorted(state.captured, key=lambda each: each[0])
            if made in state.status
        ]
        self._enqueue(state, stream, uses, "launch the graph", place, where)

    def _event_number(self, state: State, value: Value | Address) -> int | None:
        if (
            isinstance(value, Ref)
            and self.things[value.made].kind == EVENT
            and not self.things[value.made].several
        ):
            return value.made if state.status.get(value.made) != LEFT else None
        return None

    def _event(
        self, state: State, api: Api, value: Value | Address, stream: int, where: tree.Expr | None
    ) -> None:
        number = self._event_number(state, value)
        if api.does == "record":
            if number is not None and state.capturing:
                state.events[number] = None
            elif number is not None:
                state.record(number, stream, self.blocking)
        elif number is None:
            state.before[stream] = state.running
        else:
            state.stream_waits(stream, number, self.blocking)

    def _waits(
        self,
        state: State,
        api: Api,
        given: Callable[[int | None], Value | Address],
        stream: int,
        where: tree.Expr | None,
        place: Tokens,
    ) -> None:
        if api.waits == "device":
            state.wait_all()
        elif api.waits == "stream":
            state.wait_stream(stream, self.blocking)
            self.happens(stream, where, "host", "the host waits", place)
        elif api.waits == "event":
            number = self._event_number(state, given(api.event))
            if number is None:
                state.wait_all()
            else:
                state.wait_event(number)

    def _works(
        self,
        state: State,
        expr: tree.Call,
        name: str,
        api: Api,
        values: Sequence[Value | Address],
        stream: int,
    ) -> None:
        """Copies and fills."""
        touched: list[tuple[Ref, bool]] = []
        for at, writes in [(at, True) for at in api.writes] + [(at, False) for at in api.reads]:
            value = values[at] if at < len(values) else None
            if isinstance(value, Ref):
                touched.append((value, writes))
        place = self.tokens(expr)
        words = self.stream_name(stream, self._argument(expr, api.stream))
        uses = [
            self._use(state, value.made, f"`{name}`", place, words, writes, not value.exact, None)
            for value, writes in touched
            if self.things[value.made].kind in _POINTERS
        ]
        self._enqueue(state, stream, uses, name, place, self._argument(expr, api.stream))
        kind = self._argument(expr, api.copies)
        between = "" if kind is None else self.text(kind)
        managed = any(self.things[value.made].kind == MANAGED for value, _ in touched)
        if (api.waits == "copy" and "DeviceToDevice" not in between) or (api.does == "set" and managed):
            state.wait_stream(stream, self.blocking)

    def _enqueue(
        self,
        state: State,
        stream: int,
        uses: Sequence[Use],
        what: str,
        place: Tokens,
        where: tree.Expr | None,
    ) -> None:
        """Put work into a stream, and look whether what it touches is ready."""
        if state.capturing:
            state.captured |= {(use.made, use.writes) for use in uses}
            return
        self.happens(stream, where, "work", what, place)
        over = state.ordered(stream, self.blocking)
        for use in uses:
            thing = self.things[use.made]
            if thing.kind == ALLOCATION and state.status.get(use.made) in (LIVE, RELEASED):
                self.evidence.used(thing, use, state, over, self.used, self.statement, self._spelled_here)
        state.enqueue(stream, [use.number for use in uses], self.blocking)

    def _use(
        self,
        state: State,
        made: int,
        what: str,
        place: Tokens,
        stream: str,
        writes: bool | None,
        part: bool,
        kernel: str | None,
    ) -> Use:
        key = made, place[0], what
        found = self.uses.get(key)
        if found is None:
            found = Use(len(self.used), made, what, place, stream, writes, part, kernel)
            self.uses[key] = found
            self.used.append(found)
        return found

    # ---- what is made and released -----------------------------------------------------------------------------

    def _makes(
        self, state: State, expr: tree.Call, api: Api, values: Sequence[Value | Address], stream: int
    ) -> Outcome:
        assert api.makes is not None and api.kind is not None
        into = values[api.makes] if api.makes < len(values) else None
        captured = state.capturing and api.kind == ALLOCATION
        if api.does == "end":
            state.capturing = False
        place = self.tokens(expr)
        if not isinstance(into, Address):
            self.leave(state, into)
            return Outcome()
        variable = into.variable
        name = variable.name + ("[]" if variable.several else "")
        thing = self.thing(api.kind, name, place, variable.several)
        if api.kind == STREAM:
            flags = self._argument(expr, api.flags)
            text = "0" if flags is None else self.text(flags)
            self.blocking[thing.number] = text not in ("1", "CU_STREAM_NON_BLOCKING") and not text.endswith(
                "NonBlocking"
            )
        held = state.values.get(variable.number)
        if variable.several and isinstance(held, Ref) and held.made != thing.number:
            state.leave(held.made)  # two calls fill one array
            state.values.pop(variable.number)
        elif not variable.several:
            self.put(state, variable, None, place)
        if variable.shared or captured or (api.kind == MANAGED and self._attached(expr, api)):
            state.status[thing.number] = LEFT
        else:
            state.status[thing.number] = LIVE
        if not variable.owns:
            self.evidence.borrowed.add(thing.number)
        if variable.apart:
            self.evidence.apart.add(thing.number)
        state.values[variable.number] = Ref(thing.number)
        self._forget_facts(state, variable.name)
        if api.kind == EVENT:
            state.events.pop(thing.number, None)
        elif api.kind == STREAM:
            if not variable.several:
                state.before.pop(thing.number, None)
        elif api.kind == ALLOCATION and not captured:
            words = self.stream_name(stream, self._argument(expr, api.stream))
            use = self._use(state, thing.number, "allocated", place, words, True, False, None)
            self.happens(stream, self._argument(expr, api.stream), "work", f"allocate {variable.name}", place)
            state.enqueue(stream, [use.number], self.blocking)
        return Outcome(thing.number)

    def _attached(self, expr: tree.Call, api: Api) -> bool:
        """Is managed memory not visible to all streams?"""
        flags = self._argument(expr, api.flags)
        return (
            flags is not None
            and self.text(flags) not in ("1", "CU_MEM_ATTACH_GLOBAL")
            and not self.text(flags).endswith("AttachGlobal")
        )

    def _releases(
        self, state: State, expr: tree.Call, name: str, api: Api, value: Value | Address, stream: int
    ) -> Outcome:
        assert api.releases is not None
        argument = expr.arguments[api.releases] if api.releases < len(expr.arguments) else None
        place = self.tokens(expr)
        if not isinstance(value, Ref) or value.made not in state.status:
            self._released_parameter(state, argument, api, place)
            if api.waits is not None:
                state.wait_all()
            return Outcome()
        thing = self.things[value.made]
        by_stream = api.kind == ALLOCATION
        if thing.kind == ALLOCATION and not state.capturing:
            words = self.stream_name(stream, self._argument(expr, api.stream)) if by_stream else "the host"
            over = state.ordered(stream, self.blocking) if by_stream else state.done
            where = self._argument(expr, api.stream)
            self.evidence.freed(
                thing,
                place,
                f"`{name}`",
                words,
                state,
                over,
                self.used,
                self.statement,
                None if where is None or not by_stream else self.tokens(where),
                by_stream,
                self._spelled_here,
            )
        elif argument is not None:
            self.use_handle(state, value, argument)
        self.releases.append(value.made)
        if state.status[value.made] == LIVE:
            state.status[value.made] = RELEASED
        self.evidence.released.setdefault(value.made, place)
        if thing.kind == STREAM:
            state.before[DEFAULT] = state.ordered(DEFAULT, self.blocking) | state.before.get(
                value.made, frozenset()
            )
        if by_stream and not state.capturing:
            self.happens(stream, self._argument(expr, api.stream), "work", f"free {thing.name}", place)
        if api.waits is not None and thing.kind != ALLOCATION:
            state.wait_all()
        return Outcome()

    def _released_parameter(self, state: State, argument: tree.Expr | None, api: Api, place: Tokens) -> None:
        """A handle that the function did not make is released here: it is gone from now on."""
        if not isinstance(argument, tree.Name) or api.kind is None or api.kind == ALLOCATION:
            return
        variable = self.find(argument.text)
        if variable is None or variable.shared or variable.several:
            return
        thing = self.thing(api.kind, variable.name, place, False)
        self.evidence.borrowed.add(thing.number)
        self.evidence.released.setdefault(thing.number, place)
        self.releases.append(thing.number)
        state.status[thing.number] = RELEASED
        state.values[variable.number] = Ref(thing.number)

    # ---- launches ----------------------------------------------------------------------------------------------

    def _launch(self, state: State, expr: tree.Launch) -> None:
        """``kernel<<<grid, block, bytes, stream>>>(...)``."""
        configured = [self.value(state, each) for each in expr.configuration]
        where = expr.configuration[3] if len(expr.configuration) > 3 else None
        stream = self.stream(state, configured[3] if where is not None else None, where)
        name = expr.callee.text.rpartition("::")[2] if isinstance(expr.callee, tree.Name) else None
        values = [self.value(state, each) for each in expr.arguments]
        self._runs_kernel(state, name, values, stream, where, self.tokens(expr))

    def _launched(
        self, state: State, expr: tree.Call, name: str, api: Api, values: Sequence[Value | Address]
    ) -> None:
        """A launch by a call of the API."""
        function: tree.Expr | None = expr.arguments[0] if expr.arguments else None
        given: list[Value | Address] = []
        where = self._argument(expr, api.stream)
        stream = DEFAULT
        if api.stream is not None:
            stream = self.stream(state, values[api.stream] if api.stream < len(values) else None, where)
        else:  # (&config, kernel, ...)
            configured = values[0] if values else None
            function = expr.arguments[1] if len(expr.arguments) > 1 else None
            if isinstance(configured, Address) and configured.variable.configures:
                held = state.values.get(configured.variable.number)
                stream = held.made if isinstance(held, Ref) else self.default if held is not None else DEFAULT
            given = list(values[2:]) if api.arguments is None else []
        if api.arguments is not None:
            array = self._argument(expr, api.arguments)
            holder = self.find(array.text) if isinstance(array, tree.Name) else None
            if holder is not None:
                given = [state.values.get(each.number) for each in holder.points]
        while isinstance(function, tree.Cast):
            function = function.operand
        if isinstance(function, tree.Unary):
            function = function.operand
        kernel = function.text.rpartition("::")[2] if isinstance(function, tree.Name) else None
        self._runs_kernel(state, kernel, given, stream, where, self.tokens(expr))

    def _runs_kernel(
        self,
        state: State,
        kernel: str | None,
        values: Sequence[Value | Address],
        stream: int,
        where: tree.Expr | None,
        place: Tokens,
    ) -> None:
        words = self.stream_name(stream, where)
        known = None if kernel is None else self.callees.summary(kernel)
        what = f"`{kernel}`" if kernel is not None and kernel.isidentifier() else "the kernel"
        uses: list[Use] = []
        for at, value in enumerate(values):
            if isinstance(value, Address):
                self.leave(state, value)
            if not isinstance(value, Ref) or self.things[value.made].kind not in _POINTERS:
                continue
            through: Parameter = UNKNOWN
            if known is not None and at < len(known.through):
                through = known.through[at]
            if self.things[value.made].kind == MANAGED and (through.apart or not through.uses):
                if through.apart:
                    state.leave(value.made)
                continue
            uses.append(
                self._use(state, value.made, what, place, words, through.writes, not value.exact, kernel)
            )
        if known is not None and not known.apart and kernel is not None:
            uses += self._globals(state, kernel, known.assigns, what, place, words)
        self._enqueue(state, stream, uses, f"launch {kernel or 'a kernel'}", place, where)

    def _globals(
        self, state: State, kernel: str, assigns: frozenset[str], what: str, place: Tokens, words: str
    ) -> list[Use]:
        """Managed variables that a kernel names."""
        (function,) = self.callees.functions[kernel]
        return [
            self._use(state, self._global(state, name), what, place, words, name in assigns, False, kernel)
            for name in sorted(self.callees.managed & function.definition.body_words)
        ]

    # ---- the host touches memory -------------------------------------------------------------------------------

    def touch(self, state: State, value: Ref, expr: tree.Expr, *, writes: bool) -> None:
        """The host accesses memory."""
        thing = self.things[value.made]
        followed = thing.kind == MANAGED and state.status.get(value.made) == LIVE
        if not followed or not value.exact or state.capturing:
            return
        self.evidence.touched(
            thing, self.tokens(expr), writes, state, self.used, self._spelled_here, self.statement
        )

    def _spelled_here(self, use: Use) -> str | None:
        """How the stream of a use can be written where the walk is."""
        name = use.stream.strip("`")
        return name if name.isidentifier() and use.stream != name and self.find(name) is not None else None
