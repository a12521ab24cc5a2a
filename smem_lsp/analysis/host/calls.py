"""Runs the calls of a host function along one path: those of the API, launches, and all others."""

from __future__ import annotations

from collections.abc import Sequence

from smem_lsp.analysis.host.api import ALLOCATION, EVENT, MANAGED, STREAM, Api, api_of
from smem_lsp.analysis.host.api_call import ApiCall
from smem_lsp.analysis.host.callees import (
    UNKNOWN,
    PointerParameter,
    Summary,
    hands_on,
    is_library,
    is_plain,
    is_plain_method,
    touches,
)
from smem_lsp.analysis.host.expressions import Expressions
from smem_lsp.analysis.host.frame import NUMBER, PLACE, POINTERS, HostVariableAddress
from smem_lsp.analysis.host.model import Made, StreamUse, Tokens
from smem_lsp.analysis.host.order import (
    DEFAULT,
    LEFT,
    LIVE,
    RELEASED,
    HandleRef,
    Outcome,
    ResourceState,
    Value,
)
from smem_lsp.analysis.host.things import Work
from smem_lsp.syntax import tree
from smem_lsp.syntax.host_functions import endings, keeping_methods


class Calls(Expressions):
    """What calls do to streams, events, graphs and memory."""

    def _call(self, state: ResourceState, expr: tree.Call) -> Value | HostVariableAddress:
        callee = expr.callee
        if isinstance(callee, tree.Name):
            name = callee.text.rpartition("::")[2]
            api = api_of(name, self.dialect)
            if api is not None:
                outcome = self._api(state, expr, name, api)
                self.outcomes[self.frame.at(expr)] = outcome
                return outcome
            if name in endings():
                self.dead = True
                return None
            if "atomic" in name:  # somebody else may access it at the same time
                self.unread(state, *self.frame.at(expr))
                return None
            return self._named(state, expr, name, callee.text.removesuffix(name))
        if isinstance(callee, tree.Member):
            return self._method(state, expr, callee)
        self.leave(state, self.value(state, callee))
        for argument in expr.arguments:
            self.leave(state, self.place(state, argument))
        state.wait_all()
        return None

    def _named(self, state: ResourceState, expr: tree.Call, name: str, space: str) -> Value:
        """A call of a function that is not of the API."""
        released = len(self.releases)
        own = self.find(name) is not None or (not space and name in self.callees.functions)
        plain = is_plain(name, space) and not own
        wants = NUMBER if plain and not hands_on(name) else PLACE  # a parameter may be a reference
        values = [self.wanted(state, argument, wants) for argument in expr.arguments]
        if plain:
            self._standard(state, expr, name, values)
            return None
        if is_library(name):
            for value in values:
                if isinstance(value, HostVariableAddress):
                    self.leave(state, value)
            state.wait_all()
            return None
        outcome = next((value for value in values if isinstance(value, Outcome)), None)
        known = self.callees.summary(name) if self.find(name) is None else None
        if known is None and outcome is not None:
            self._checked(state, values, self.releases[released:])
        else:
            self._called(state, known, values)
        return None if outcome is None else Outcome(outcome.made, outcome.waited, plain=False)

    def _standard(
        self, state: ResourceState, expr: tree.Call, name: str, values: Sequence[Value | HostVariableAddress]
    ) -> None:
        """A function of the C or C++ library: it touches what it is given, or hands it on."""
        if hands_on(name):
            for value in values:
                self.leave(state, value)
            return
        written, read = touches(name)
        for at, value in enumerate(values):
            if isinstance(value, HostVariableAddress):
                copied, overwritten = written and at not in written, at in written and value.variable.owns
                if copied or overwritten:
                    self.leave(state, value)  # the handles in it are
            elif isinstance(value, HandleRef):
                memory = self.things[value.made].kind in POINTERS
                if at in written or at in read:
                    self.touch(state, value, expr.arguments[at], writes=at in written)
                    kept = memory
                else:
                    kept = not written or (memory and not value.exact)  # else `fill_n(out, n, s)`
                if not kept:
                    self.leave(state, value)

    def _checked(
        self, state: ResourceState, values: Sequence[Value | HostVariableAddress], releases: Sequence[int]
    ) -> None:
        """A function out of sight takes the error of a call, as ``CHECK(cudaMalloc(&p, n))`` does. ``releases``: in its
        arguments."""
        for value in values:
            if not isinstance(value, Outcome):
                self.leave(state, value)
        for number in releases:
            state.leave(number)  # perhaps not here: `defer(cudaStreamDestroy(s))`

    def _called(
        self, state: ResourceState, known: Summary | None, values: Sequence[Value | HostVariableAddress]
    ) -> None:
        """Any other function. ``known``: what is known of one in sight."""
        for at, value in enumerate(values):
            borrowed = known is not None and at < len(known.borrows) and known.borrows[at]
            if not isinstance(value, Outcome) and not (borrowed and isinstance(value, HandleRef)):
                self.leave(state, value)
        if known is None or not known.quiet:
            state.wait_all()

    def _method(self, state: ResourceState, expr: tree.Call, callee: tree.Member) -> Value:
        base = callee.base
        values = [self.place(state, argument) for argument in expr.arguments]
        for value in values:
            self.leave(state, value)
        variable = self.find(base.text) if isinstance(base, tree.Name) else None
        if variable is not None and variable.several and callee.name in keeping_methods():
            held = state.values.get(variable.number)
            return held if isinstance(held, HandleRef) and callee.name in ("at", "front", "back") else None
        self.leave(state, self.value(state, base) if callee.operator == "->" else self.place(state, base))
        if not is_plain_method(callee.name):
            state.wait_all()
        return None

    def _api(self, state: ResourceState, expr: tree.Call, name: str, api: Api) -> Outcome:
        """A call of the API."""
        values = [self.value(state, argument) for argument in expr.arguments]
        call = ApiCall(expr, name, api, values, self.frame.at(expr))
        self._lent(state, call)
        if api.does == "launch":
            self._launched(state, call)
            return Outcome()
        stream = self._runs_in(state, call)
        if api.makes is not None:
            return self._makes(state, call, stream)
        if api.releases is not None:
            return self._releases(state, call, stream)
        match api.does:
            case "query":
                return self._query(state, call, stream)
            case "record" | "wait":
                self._event(state, call, stream)
            case "begin":
                state.capturing = True
            case "callback":
                for value in values:
                    self.leave(state, value)
                state.wait_all()
            case "attach":
                for value in values:
                    if isinstance(value, HandleRef) and self.things[value.made].kind == MANAGED:
                        state.leave(value.made)
            case _:
                self._orders(state, call, stream)
        return Outcome()

    def _lent(self, state: ResourceState, call: ApiCall) -> None:
        """Handles that it only uses must still be there; variables whose addresses it gets are out of sight."""
        api = call.api
        others = [call.number(at) for at in (api.makes, api.releases, api.stream)]
        for at, value in enumerate(call.values):
            if at in others:
                continue
            if not isinstance(value, HostVariableAddress):
                self.use_handle(state, value, call.expr.arguments[at])
            elif not (api.does == "launch" and at == api.arguments):
                self.leave(state, value)

    def _runs_in(self, state: ResourceState, call: ApiCall) -> int:
        """The stream in whose order it runs."""
        if call.api.stream is not None:
            return self.stream(state, call.given(state, call.api.stream), call.where)
        return self.default if call.api.runs else DEFAULT

    def _query(self, state: ResourceState, call: ApiCall, stream: int) -> Outcome:
        """Is a stream, or an event, done?"""
        api = call.api
        if api.event is None:
            return Outcome(None, ("stream", stream))
        asked = api.event if api.stream is None else api.stream
        number = self._event_number(state, call.given(state, asked))
        return Outcome(None, ("all", 0) if number is None else ("event", number))

    def _event(self, state: ResourceState, call: ApiCall, stream: int) -> None:
        """An event is recorded in a stream, or the stream waits for it."""
        number = self._event_number(state, call.given(state, call.api.event))
        event = call.argument(call.api.event)
        named = "an event" if event is None else self.text(event)
        if call.api.does == "record":
            if number is not None and state.capturing:
                state.events[number] = None
            elif number is not None:
                state.record(number, stream, self.blocking)
            self.happens(stream, call.where, "record", f"record {named}", call.place, named)
            return
        if number is None:
            state.before[stream] = state.running
        else:
            state.stream_waits(stream, number, self.blocking)
        self.happens(stream, call.where, "wait", f"wait for {named}", call.place, named)

    def _event_number(self, state: ResourceState, value: Value | HostVariableAddress) -> int | None:
        if not isinstance(value, HandleRef) or state.status.get(value.made) == LEFT:
            return None
        thing = self.things[value.made]
        return value.made if thing.kind == EVENT and not thing.several else None

    def _orders(self, state: ResourceState, call: ApiCall, stream: int) -> None:
        """It puts something into a stream, or the host waits in it."""
        api = call.api
        if api.does == "reset":
            for number in list(state.status):
                state.leave(number)
        if api.does == "graph":
            self._runs_graph(state, call, stream)
        elif api.runs:
            self._works(state, call, stream)
        self._waits(state, call, stream)
        if not api.quiet:
            state.wait_all()

    def _runs_graph(self, state: ResourceState, call: ApiCall, stream: int) -> None:
        """A graph runs: with what was captured anywhere before."""
        work = Work("the graph", call.place, self.stream_name(stream, call.where))
        uses = [
            self.things.use(made, work, writes=writes)
            for made, writes in sorted(state.captured, key=lambda each: each[0])
            if made in state.status
        ]
        self._enqueue(state, stream, uses, "launch the graph", call.place, call.where)

    def _waits(self, state: ResourceState, call: ApiCall, stream: int) -> None:
        waits = call.api.waits
        if waits == "device":
            state.wait_all()
        elif waits == "stream":
            state.wait_stream(stream, self.blocking)
            self.happens(stream, call.where, "host", "the host waits", call.place)
        elif waits == "event":
            number = self._event_number(state, call.given(state, call.api.event))
            if number is None:
                state.wait_all()
            else:
                state.wait_event(number)

    def _works(self, state: ResourceState, call: ApiCall, stream: int) -> None:
        """Copies and fills."""
        api, values = call.api, call.values
        touched: list[tuple[HandleRef, bool]] = []
        for at, writes in [(at, True) for at in api.writes] + [(at, False) for at in api.reads]:
            value = values[at] if at < len(values) else None
            if isinstance(value, HandleRef):
                touched.append((value, writes))
        work = Work(f"`{call.name}`", call.place, self.stream_name(stream, call.where))
        uses = [
            self.things.use(value.made, work, writes=writes, part=not value.exact)
            for value, writes in touched
            if self.things[value.made].kind in POINTERS
        ]
        self._enqueue(state, stream, uses, call.name, call.place, call.where)
        kind = call.argument(api.copies)
        between = "" if kind is None else self.text(kind)
        managed = any(self.things[value.made].kind == MANAGED for value, _ in touched)
        if (api.waits == "copy" and "DeviceToDevice" not in between) or (api.does == "set" and managed):
            state.wait_stream(stream, self.blocking)

    def _enqueue(
        self,
        state: ResourceState,
        stream: int,
        uses: Sequence[StreamUse],
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
                self.evidence.used(thing, use, state, over, self.things.used, self.around, self.spelled_here)
        state.enqueue(stream, [use.number for use in uses], self.blocking)

    def _makes(self, state: ResourceState, call: ApiCall, stream: int) -> Outcome:
        api, place = call.api, call.place
        assert api.kind is not None
        into = call.given(state, api.makes)
        captured = state.capturing and api.kind == ALLOCATION
        if api.does == "end":
            state.capturing = False
        if not isinstance(into, HostVariableAddress):
            self.leave(state, into)
            return Outcome()
        variable = into.variable
        name = variable.name + ("[]" if variable.several else "")
        thing = self.things.made(api.kind, name, place, several=variable.several)
        if api.kind == STREAM:
            self.blocking[thing.number] = self._is_ordered_by_default(call)
        held = state.values.get(variable.number)
        if variable.several and isinstance(held, HandleRef) and held.made != thing.number:
            state.leave(held.made)  # two calls fill one array
            state.values.pop(variable.number)
        elif not variable.several:
            self.put(state, variable, None, place)
        known_elsewhere = variable.shared or captured or (api.kind == MANAGED and self._is_attached(call))
        state.status[thing.number] = LEFT if known_elsewhere else LIVE
        state.doubted -= {thing.number}
        if not variable.owns:
            self.evidence.borrowed.add(thing.number)
        if variable.apart:
            self.evidence.apart.add(thing.number)
        state.values[variable.number] = HandleRef(thing.number)
        self.forget_facts(state, (variable.name,))
        if api.kind == EVENT:
            state.events.pop(thing.number, None)
        elif api.kind == STREAM:
            if not variable.several:
                state.before.pop(thing.number, None)
        elif api.kind == ALLOCATION and not captured:
            work = Work("allocated", place, self.stream_name(stream, call.where))
            use = self.things.use(thing.number, work, writes=True)
            self.happens(stream, call.where, "work", f"allocate {variable.name}", place)
            state.enqueue(stream, [use.number], self.blocking)
        return Outcome(thing.number)

    def _is_ordered_by_default(self, call: ApiCall) -> bool:
        """Does the legacy default stream order the stream that is made?"""
        flags = call.argument(call.api.flags)
        text = "0" if flags is None else self.text(flags)
        return text not in ("1", "CU_STREAM_NON_BLOCKING") and not text.endswith("NonBlocking")

    def _is_attached(self, call: ApiCall) -> bool:
        """Is managed memory not visible to all streams?"""
        flags = call.argument(call.api.flags)
        if flags is None:
            return False
        text = self.text(flags)
        return text not in ("1", "CU_MEM_ATTACH_GLOBAL") and not text.endswith("AttachGlobal")

    def _releases(self, state: ResourceState, call: ApiCall, stream: int) -> Outcome:
        api, place = call.api, call.place
        value, argument = call.given(state, api.releases), call.argument(api.releases)
        if not isinstance(value, HandleRef) or value.made not in state.status:
            self._released_parameter(state, argument, api, place)
            if api.waits is not None:
                state.wait_all()
            return Outcome()
        thing = self.things[value.made]
        by_stream = api.kind == ALLOCATION
        if thing.kind == ALLOCATION and not state.capturing:
            self._frees(state, call, thing, stream)
        elif argument is not None:
            self.use_handle(state, value, argument)
        self.releases.append(value.made)
        if state.status[value.made] == LIVE:
            state.status[value.made] = RELEASED
        self.evidence.released.setdefault(value.made, place)
        if thing.kind == STREAM:
            own = state.before.get(value.made, frozenset())
            state.before[DEFAULT] = state.ordered(DEFAULT, self.blocking) | own
        if by_stream and not state.capturing:
            self.happens(stream, call.where, "work", f"free {thing.name}", place)
        if api.waits is not None and thing.kind != ALLOCATION:
            state.wait_all()
        return Outcome()

    def _frees(self, state: ResourceState, call: ApiCall, thing: Made, stream: int) -> None:
        """Memory that a stream allocates is freed: in the order of a stream, or by the host."""
        by_stream = call.api.kind == ALLOCATION
        where = call.where if by_stream else None
        self.evidence.freed(
            thing,
            call.place,
            f"`{call.name}`",
            self.stream_name(stream, where) if by_stream else "the host",
            state,
            state.ordered(stream, self.blocking) if by_stream else state.done,
            self.things.used,
            self.around,
            None if where is None else self.frame.at(where),
            by_stream,
            self.spelled_here,
        )

    def _released_parameter(
        self, state: ResourceState, argument: tree.Expr | None, api: Api, place: Tokens
    ) -> None:
        """A handle that the function did not make is released here: it is gone from now on."""
        if not isinstance(argument, tree.Name) or api.kind is None or api.kind == ALLOCATION:
            return
        variable = self.find(argument.text)
        if variable is None or variable.owns or variable.shared or variable.several:
            return
        thing = self.things.made(api.kind, variable.name, place, several=False)
        self.evidence.borrowed.add(thing.number)
        self.evidence.released.setdefault(thing.number, place)
        self.releases.append(thing.number)
        state.status[thing.number] = RELEASED
        state.values[variable.number] = HandleRef(thing.number)

    def _launch(self, state: ResourceState, expr: tree.Launch) -> None:
        """``kernel<<<grid, block, bytes, stream>>>(...)``."""
        configured = [self.value(state, each) for each in expr.configuration]
        where = expr.configuration[3] if len(expr.configuration) > 3 else None
        stream = self.stream(state, configured[3] if where is not None else None, where)
        name = expr.callee.text.rpartition("::")[2] if isinstance(expr.callee, tree.Name) else None
        values = [self.value(state, each) for each in expr.arguments]
        self._runs_kernel(state, name, values, stream, where, self.frame.at(expr))

    def _launched(self, state: ResourceState, call: ApiCall) -> None:
        """A launch by a call of the API."""
        api, values = call.api, call.values
        function = tree.uncast(call.argument(0 if api.stream is not None else 1))
        given: list[Value | HostVariableAddress] = []
        if api.stream is not None:
            value = values[api.stream] if api.stream < len(values) else None
            stream = self.stream(state, value, call.where)
        else:  # (&config, kernel, ...)
            stream = self._configured(state, values[0] if values else None)
            given = list(values[2:]) if api.arguments is None else []
        if api.arguments is not None:
            array = call.argument(api.arguments)
            holder = self.find(array.text) if isinstance(array, tree.Name) else None
            if holder is not None:
                given = [state.values.get(each.number) for each in holder.points]
        if isinstance(function, tree.Unary):
            function = function.operand
        kernel = function.text.rpartition("::")[2] if isinstance(function, tree.Name) else None
        self._runs_kernel(state, kernel, given, stream, call.where, call.place)

    def _configured(self, state: ResourceState, configuration: Value | HostVariableAddress) -> int:
        """The stream that a configuration names."""
        if not isinstance(configuration, HostVariableAddress) or not configuration.variable.configures:
            return DEFAULT
        held = state.values.get(configuration.variable.number)
        if isinstance(held, HandleRef):
            return held.made
        return DEFAULT if held is None else self.default

    def _runs_kernel(
        self,
        state: ResourceState,
        kernel: str | None,
        values: Sequence[Value | HostVariableAddress],
        stream: int,
        where: tree.Expr | None,
        place: Tokens,
    ) -> None:
        words = self.stream_name(stream, where)
        known = None if kernel is None else self.callees.summary(kernel)
        what = f"`{kernel}`" if kernel is not None and kernel.isidentifier() else "the kernel"
        work = Work(what, place, words, kernel)
        uses: list[StreamUse] = []
        for at, value in enumerate(values):
            if isinstance(value, HostVariableAddress):
                self.leave(state, value)
            if not isinstance(value, HandleRef) or self.things[value.made].kind not in POINTERS:
                continue
            through: PointerParameter = UNKNOWN
            if known is not None and at < len(known.through):
                through = known.through[at]
            if self.things[value.made].kind == MANAGED and (through.apart or not through.uses):
                if through.apart:
                    state.leave(value.made)
                continue
            uses.append(self.things.use(value.made, work, writes=through.writes, part=not value.exact))
        if known is not None and not known.apart and kernel is not None:
            uses += self._globals(state, kernel, known.assigns, work)
        self._enqueue(state, stream, uses, f"launch {kernel or 'a kernel'}", place, where)

    def _globals(
        self, state: ResourceState, kernel: str, assigns: frozenset[str], work: Work
    ) -> list[StreamUse]:
        """Managed variables that a kernel names."""
        (function,) = self.callees.functions[kernel]
        return [
            self.things.use(self.global_variable(state, name), work, writes=name in assigns)
            for name in sorted(self.callees.managed.keys() & function.definition.body_words)
        ]
