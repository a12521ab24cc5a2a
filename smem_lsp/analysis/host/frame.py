"""One host function while it is walked: its variables, what has been made, and what happens in its streams."""

from __future__ import annotations

from collections.abc import Collection

from smem_lsp.analysis.host.api import ALLOCATION, MANAGED, STREAM
from smem_lsp.analysis.host.callees import Callees
from smem_lsp.analysis.host.evidence import Evidence
from smem_lsp.analysis.host.model import Statement, StreamUse, Token, Tokens
from smem_lsp.analysis.host.order import (
    DEFAULT,
    LEFT,
    LIVE,
    PER_THREAD,
    Common,
    HandleRef,
    Null,
    Outcome,
    ResourceState,
    Value,
)
from smem_lsp.analysis.host.things import Things
from smem_lsp.interpret.frame import Frame
from smem_lsp.interpret.interpreter import Interpreter
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Function

MOST_STEPS = 20_000  # expressions that are run
NULLS = frozenset(("0", "nullptr", "NULL", "0x0"))
SUCCESS = ("cudaSuccess", "hipSuccess", "CUDA_SUCCESS")
POINTERS = (ALLOCATION, MANAGED)
# what is wanted of an expression: the place that it names, which a reference may be bound to; its value, which of an
# array is where that is; a number
PLACE, VALUE, NUMBER = 0, 1, 2


@dataclass(eq=False, slots=True)
class Variable:
    """A variable of the function. ``owns``: what is put into it is lost where its scope ends; ``several``: an array of
    handles; ``filled``: one with elements; ``target``: what it is a reference to; ``configures``: it holds the
    configuration of a launch; ``points``: to the variables whose addresses it holds; ``ends``: a class whose destructor
    may wait."""

    number: int
    name: str
    owns: bool = False
    several: bool = False
    filled: bool = False
    target: Variable | None = None
    configures: bool = False
    points: tuple[Variable, ...] = ()
    ends: bool = False
    apart: bool = False  # volatile or atomic
    shared: bool = False  # its address is known elsewhere
    nullable: bool = False  # null, false or success mean something


@dataclass(eq=False, slots=True)
class HostVariableAddress:
    """``&x`` of a variable."""

    variable: Variable


class Resources(Interpreter[ResourceState, Variable]):
    """What is known of a function on all paths. ``around``: the statement around the chunk that is run."""

    def __init__(self, function: Function, callees: Callees, *, per_thread: bool) -> None:
        super().__init__()
        self.function = function
        self.frame = Frame(function.body)
        self.callees = callees
        self.dialect = callees.dialect
        self.default = PER_THREAD if per_thread else DEFAULT
        self.steps = 0
        self.variables: dict[Tokens, Variable] = {}
        self.paths: dict[str, Variable] = {}
        self.around = Statement((0, 0), False)
        self.things = Things()
        self.blocking: dict[int, bool] = {PER_THREAD: True}
        self.evidence = Evidence()
        self.outcomes: dict[tuple[int, int], Outcome] = {}  # of the calls of the chunk that is run
        self._word_sets: dict[str, frozenset[str]] = {}
        self.forks: list[ResourceState] = []
        self.common: Common | None = None  # to all paths on which the chunk is run, if there are several
        self.wants = VALUE  # of the expression that is run next
        self.guessed = False  # a condition was decided of which nothing is known
        self.releases: list[int] = []  # in the order in which they are met
        self.dead = False

    def declare(self, name: str, at: Tokens) -> Variable:
        """The variable that is declared at these tokens: in each iteration of a loop the same."""
        variable = self.variables.get(at)
        if variable is None:
            variable = self.variables[at] = Variable(len(self.variables), name)
        self.frame.blocks[-1][name] = variable
        return variable

    def find(self, name: str) -> Variable | None:
        found, _ = self.frame.find(name)
        while found is not None and found.target is not None:
            found = found.target
        return found

    def text(self, expr: tree.Expr) -> str:
        texts = self.frame.body.tokens.texts[slice(*self.frame.at(expr))]
        return "".join(texts) if len(texts) < 8 else "…"

    def leave(self, state: ResourceState, value: Value | HostVariableAddress) -> None:
        """A value goes where it is not followed."""
        if isinstance(value, HandleRef):
            state.leave(value.made)
        elif isinstance(value, HostVariableAddress):
            variable = value.variable
            variable.shared = True
            held = state.values.get(variable.number)
            if isinstance(held, HandleRef):
                state.leave(held.made)
            if not variable.several:  # an array goes on to be the one that has been handed over
                state.values.pop(variable.number, None)
        elif isinstance(value, Outcome) and value.made is not None:
            state.leave(value.made)  # whether it was made is known elsewhere

    def path(self, expr: tree.Expr) -> Variable:
        """What ``result.error`` means, as if it were a variable."""
        text = " ".join(self.frame.body.tokens.texts[slice(*self.frame.at(expr))])
        variable = self.paths.get(text)
        if variable is None:
            variable = self.paths[text] = Variable(-2 - len(self.paths), text)
        return variable

    def put(self, state: ResourceState, variable: Variable, value: Value, place: Tokens) -> None:
        """A variable gets another value: what it alone held is lost."""
        before = state.values.get(variable.number)
        if isinstance(before, HandleRef) and not variable.several and before != value:
            self.lost(state, variable, "again", place)
        if value is None:
            state.values.pop(variable.number, None)
        else:
            state.values[variable.number] = value

    def lost(self, state: ResourceState, variable: Variable, how: str, place: Tokens) -> None:
        """What the variable holds is out of reach, unless another one holds it, too."""
        held = state.values.pop(variable.number, None)
        if not isinstance(held, HandleRef) or held.made not in state.status:
            if variable.owns:
                self.evidence.unheld(variable.number, place)
            return
        if any(isinstance(each, HandleRef) and each.made == held.made for each in state.values.values()):
            return
        thing = self.things[held.made]
        if how == "again" and self.frame.conditions:
            state.leave(held.made)  # it may be that only one iteration of a loop gets here
        if thing.kind != MANAGED:
            self.evidence.lost(
                thing,
                how,
                place,
                self.around.alone,
                variable.number,
                live=state.status[held.made] == LIVE,
                doubtful=held.made in state.doubted,
            )
        if how != "return":
            if thing.kind == STREAM:
                state.before[DEFAULT] = state.ordered(DEFAULT, self.blocking)
            del state.status[held.made]

    def forget_facts(self, state: ResourceState, names: Collection[str]) -> None:
        """Conditions that name one of these are open again."""
        for text in [text for text in state.facts if not self._words(text).isdisjoint(names)]:
            del state.facts[text]

    def _words(self, text: str) -> frozenset[str]:
        found = self._word_sets.get(text)
        if found is None:
            found = self._word_sets[text] = frozenset(text.split(" "))
        return found

    def stream(self, state: ResourceState, value: Value | HostVariableAddress, expr: tree.Expr | None) -> int:
        """The stream that an expression means."""
        if isinstance(value, HandleRef) and self.things[value.made].kind == STREAM:
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
        if expr is None or (stream == self.default and self.text(expr) in NULLS):
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
        name = "" if inner is None or self.text(inner) in NULLS else self.text(inner) + array
        if inner is None and stream >= 0:
            name = self.things[stream].name
        self.evidence.happens(name, Token(kind, what, place, event))

    def use_handle(
        self, state: ResourceState, value: Value | HostVariableAddress, expr: tree.Expr | None
    ) -> None:
        """A handle is given to the API: it must not have been destroyed."""
        if isinstance(value, HandleRef) and expr is not None:
            thing = self.things[value.made]
            if thing.kind not in POINTERS and not thing.several and value.made in state.status:
                self.evidence.gone(thing, self.frame.at(expr), state, self.around)

    def touch(self, state: ResourceState, value: HandleRef, expr: tree.Expr, *, writes: bool) -> None:
        """The host accesses memory. Of several allocations it is not known which."""
        thing = self.things[value.made]
        followed = thing.kind == MANAGED and state.status.get(value.made) == LIVE and not thing.several
        if not followed or not value.exact or state.capturing:
            return
        self.evidence.touched(
            thing, self.frame.at(expr), writes, state, self.things.used, self.spelled_here, self.around
        )

    def global_variable(self, state: ResourceState, name: str) -> int:
        """The variable ``name`` in managed memory, at namespace scope."""
        thing = self.things.managed(name)
        state.status.setdefault(thing.number, LIVE)
        return thing.number

    def spelled_here(self, state: ResourceState, use: StreamUse) -> str | None:
        """How the stream of a use can be written where the walk is: one that is there on all paths."""
        name = use.stream.strip("`")
        variable = self.find(name) if name.isidentifier() and use.stream != name else None
        if variable is None or not variable.owns:
            return None if variable is None else name
        held = state.values.get(variable.number)
        if not isinstance(held, HandleRef) or state.status.get(held.made) != LIVE:
            return None
        return name if self.common is None or held.made in self.common.made else None
