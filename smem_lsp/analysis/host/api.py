"""What the calls of the CUDA runtime and driver API do to streams, events, graphs, pools and memory, as the stub files
of host code declare it (``syntax/stubs.py``)."""

from __future__ import annotations

from collections.abc import Mapping

from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.syntax import stubs
from smem_lsp.syntax.host_functions import declared
from smem_lsp.syntax.stubs import Stub
from smem_lsp.targets.dialects import Dialect, names_in, names_in_cuda

STREAM, EVENT, GRAPH, GRAPH_EXEC, POOL = "stream", "event", "graph", "executable graph", "memory pool"
ALLOCATION, MANAGED = "allocation", "managed allocation"
_KINDS = {
    "stream": STREAM,
    "event": EVENT,
    "graph": GRAPH,
    "graph_exec": GRAPH_EXEC,
    "pool": POOL,
    "allocation": ALLOCATION,
    "managed": MANAGED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Api:
    """Numbers are positions of arguments; -1 is the last one.

    ``kind``: of what it makes (``makes``: through a pointer) or releases (``releases``); ``flags``: how a stream is
    made. ``stream``: where it runs, in the order of that stream; ``runs``: it does. ``reads``, ``writes``: memory that
    it touches when it runs. ``waits``: what the host waits for: "device", "stream", "event", "copy" for all that went
    before in the default stream. ``asks``: it returns the error of a launch. ``quiet``: it orders nothing.
    """

    kind: str | None = None
    makes: int | None = None
    releases: int | None = None
    flags: int | None = None
    stream: int | None = None
    runs: bool = False
    reads: tuple[int, ...] = ()
    writes: tuple[int, ...] = ()
    waits: str | None = None
    event: int | None = None
    does: str = ""  # as ``model`` of its declaration
    asks: bool = False
    quiet: bool = True
    copies: int | None = None  # the argument that says between which memories
    arguments: int | None = None  # of a launch: the array of pointers to them


MODELS = frozenset("record wait query begin end launch graph attach reset callback set".split())
"""Every ``model(...)`` of a function of the API that has code in this room."""

_OTHER = Api(quiet=False)
_LAST = -1


@remembered(most=4096)
def api_of(name: str, dialect: Dialect) -> Api | None:
    """What the function ``name`` does, if it is one of the API."""
    names = names_in_cuda(name, dialect)
    found = declared(*names) if names else None
    if found is not None:
        return _api(found)
    return _OTHER if names else None


def _api(stub: Stub) -> Api:
    names = stub.parameter_names

    def position(attribute: str) -> int | None:
        found = stub.argument(attribute)
        return None if found is None else _LAST if found == "last" else names.index(found)

    kinds = (each.arguments[1:] for each in stub.attributes if each.name in ("makes", "releases"))
    kind = next((_KINDS[each[0]] for each in kinds if each), None)
    model = stub.argument("model") or ""
    return Api(
        kind=kind,
        makes=position("makes"),
        releases=position("releases"),
        flags=position("flags"),
        stream=position("stream"),
        runs=stub.has("runs"),
        reads=tuple(names.index(each.parameter) for each in stub.effects if each.kind == "r"),
        writes=tuple(names.index(each.parameter) for each in stub.effects if each.kind == "w"),
        waits=stub.argument("waits"),
        event=position("event"),
        does=model if model in MODELS else "",
        asks=stub.has("launch_error"),
        copies=position("direction"),
        arguments=position("arguments"),
    )


@remembered(most=8)
def words_of_lifetimes(dialect: Dialect) -> frozenset[str]:
    """Names of functions that make or release what is followed: a function without any of them is not walked."""
    found: set[str] = set()
    for stub in stubs.host().all:
        if ("makes(" in stub.written or "releases(" in stub.written) and _api(stub).kind is not None:
            for name in names_in(dialect, stub.name):
                found |= {name, f"{name}_v2"}
    return frozenset(found)


@remembered(most=8)
def handle_types(dialect: Dialect) -> Mapping[str, str]:
    """Types of handles that are released by a call, each with the kind of thing."""
    handles = {each: each.argument("handle") for each in stubs.host().all if "handle(" in each.written}
    return {
        name: _KINDS[kind]
        for stub, kind in handles.items()
        if kind is not None
        for name in names_in(dialect, stub.name) or (stub.name,)
    }
