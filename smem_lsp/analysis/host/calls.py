"""Runs the calls of a host function along one path: those of the API, launches, and all others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from smem_lsp.analysis.host.api import ALLOCATION, EVENT, MANAGED, STREAM, Api, api_of
from smem_lsp.analysis.host.callees import (
    UNKNOWN,
    Parameter,
    hands_on,
    is_library,
    is_plain,
    is_plain_method,
    touches,
)
from smem_lsp.analysis.host.expressions import Expressions
from smem_lsp.analysis.host.frame import NUMBER, PLACE, POINTERS, Address
from smem_lsp.analysis.host.model import Tokens, Use
from smem_lsp.analysis.host.order import DEFAULT, LEFT, LIVE, RELEASED, Outcome, Ref, State, Value
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import endings, keeping_methods


class Calls(Expressions):
    """What calls do to streams, events, graphs and memory."""

    def _call(self, state: State, expr: tree.Call) -> Value | Address:
        callee = expr.callee
        if isinstance(callee, tree.Name):
            name = callee.text.rpartition("::")[2]
            api = api_of(name, self.dialect)
            if api is not None:
                outcome = self._api(state, expr, name, api)
                self.outcomes[self.tokens(expr)] = outcome
                return outcome
            if name in endings():
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
            self.leave(state, self.place(state, argument))
        state.wait_all()
        return None

    def _named(self, state: State, expr: tree.Call, name: str, space: str) -> Value:
        """A call of a function that is not of the API."""
        released = len(self.releases)
        own = self.find(name) is not None or (not space and name in self.callees.functions)
        plain = is_plain(name, space) and not own
        wants = NUMBER if plain and not hands_on(name) else PLACE  # a parameter may be a reference
        values = [self.wanted(state, argument, wants) for argument in expr.arguments]
        if plain:
            if hands_on(name):
                for value in values:
                    self.leave(state, value)
                return None
            written, read = touches(name)
            for at, value in enumerate(values):
                memory = isinstance(value, Ref) and self.things[value.made].kind in POINTERS
                if isinstance(value, Ref) and (at in written or at in read):
                    self.touch(state, value, expr.arguments[at], writes=at in written)
                    if not memory:
                        self.leave(state, value)
                elif isinstance(value, Address):
                    if (written and at not in written) or (at in written and value.variable.owns):
                        self.leave(state, value)  # its handles are copied, or overwritten
                elif isinstance(value, Ref) and written and (value.exact or not memory):
                    self.leave(state, value)  # `fill_n(out, n, s)`
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

    def _method(self, state: State, expr: tree.Call, callee: tree.Member) -> Value:
        base = callee.base
        values = [self.place(state, argument) for argument in expr.arguments]
        for value in values:
            self.leave(state, value)
        variable = self.find(base.text) if isinstance(base, tree.Name) else None
        if variable is not None and variable.several and callee.name in keeping_methods():
            held = state.values.get(variable.number)
            return held if isinstance(held, Ref) and callee.name in ("at", "front", "back") else None
        self.leave(state, self.value(state, base) if callee.operator == "->" else self.place(state, base))
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
            if self.things[value.made].kind in POINTERS
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
                self.evidence.used(thing, use, state, over, self.used, self.statement, self.spelled_here)
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
        state.doubted -= {thing.number}
        if not variable.owns:
            self.evidence.borrowed.add(thing.number)
        if variable.apart:
            self.evidence.apart.add(thing.number)
        state.values[variable.number] = Ref(thing.number)
        self.forget_facts(state, (variable.name,))
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
                self.spelled_here,
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
        if variable is None or variable.owns or variable.shared or variable.several:
            return
        thing = self.thing(api.kind, variable.name, place, False)
        self.evidence.borrowed.add(thing.number)
        self.evidence.released.setdefault(thing.number, place)
        self.releases.append(thing.number)
        state.status[thing.number] = RELEASED
        state.values[variable.number] = Ref(thing.number)

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
            if not isinstance(value, Ref) or self.things[value.made].kind not in POINTERS:
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
            self._use(
                state, self.global_variable(state, name), what, place, words, name in assigns, False, kernel
            )
            for name in sorted(self.callees.managed.keys() & function.definition.body_words)
        ]
