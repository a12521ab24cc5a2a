"""What the calls of the CUDA runtime and driver API do to streams, events, graphs, pools and memory: one table.

CUDA Runtime API, "Stream Management" to "Graph Management", "API synchronization behavior"; CUDA Driver API, the same.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.targets.dialects import Dialect

STREAM, EVENT, GRAPH, GRAPH_EXEC, POOL = "stream", "event", "graph", "executable graph", "memory pool"
ALLOCATION, MANAGED = "allocation", "managed allocation"


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
    does: str = (
        ""  # "record", "wait", "query", "begin", "end", "launch", "graph", "attach", "reset", "callback"
    )
    asks: bool = False
    quiet: bool = True
    copies: int | None = None  # the argument that says between which memories
    arguments: int | None = None  # of a launch: the array of pointers to them


def _copy(stream: int | None, *, to: int | None = 0, of: int | None = 1, kind: int | None = None) -> Api:
    made = Api(
        runs=True,
        stream=stream,
        writes=() if to is None else (to,),
        reads=() if of is None else (of,),
        copies=kind,
    )
    return made if stream is not None else replace(made, waits="copy")


_DESTROY_STREAM = Api(kind=STREAM, releases=0)
_WAIT_DEVICE = Api(waits="device")
_SHARED: Mapping[str, Api] = {  # spelled alike in the runtime and the driver API
    "StreamCreateWithPriority": Api(kind=STREAM, makes=0, flags=1),
    "StreamDestroy": _DESTROY_STREAM,
    "StreamSynchronize": Api(waits="stream", stream=0),
    "StreamQuery": Api(does="query", stream=0),
    "StreamWaitEvent": Api(does="wait", stream=0, event=1),
    "StreamBeginCapture": Api(does="begin", stream=0),
    "StreamBeginCaptureToGraph": Api(does="begin", stream=0),
    "StreamEndCapture": Api(kind=GRAPH, makes=1, does="end", stream=0),
    "StreamAttachMemAsync": Api(does="attach", stream=0, reads=(1,)),
    "EventRecord": Api(does="record", event=0, stream=1),
    "EventRecordWithFlags": Api(does="record", event=0, stream=1),
    "EventSynchronize": Api(waits="event", event=0),
    "EventQuery": Api(does="query", event=0),
    "EventElapsedTime": Api(),
    "EventDestroy": Api(kind=EVENT, releases=0),
    "GraphCreate": Api(kind=GRAPH, makes=0),
    "GraphClone": Api(kind=GRAPH, makes=0),
    "GraphDestroy": Api(kind=GRAPH, releases=0),
    "GraphInstantiate": Api(kind=GRAPH_EXEC, makes=0),
    "GraphInstantiateWithFlags": Api(kind=GRAPH_EXEC, makes=0),
    "GraphInstantiateWithParams": Api(kind=GRAPH_EXEC, makes=0),
    "GraphExecDestroy": Api(kind=GRAPH_EXEC, releases=0),
    "GraphLaunch": Api(does="graph", stream=1, runs=True),
    "MemPoolCreate": Api(kind=POOL, makes=0),
    "MemPoolDestroy": Api(kind=POOL, releases=0),
    "MemPrefetchAsync": Api(stream=-1),
    "LaunchHostFunc": Api(does="callback", stream=0),
    "StreamAddCallback": Api(does="callback", stream=0),
}
_RUNTIME: Mapping[str, Api] = {
    **_SHARED,
    "StreamCreate": Api(kind=STREAM, makes=0),
    "StreamCreateWithFlags": Api(kind=STREAM, makes=0, flags=1),
    "EventCreate": Api(kind=EVENT, makes=0),
    "EventCreateWithFlags": Api(kind=EVENT, makes=0),
    "MallocAsync": Api(kind=ALLOCATION, makes=0, stream=2, runs=True),
    "MallocFromPoolAsync": Api(kind=ALLOCATION, makes=0, stream=3, runs=True),
    "FreeAsync": Api(kind=ALLOCATION, releases=0, stream=1, runs=True),
    "MallocManaged": Api(kind=MANAGED, makes=0, flags=2),
    "Malloc": Api(),
    "MallocHost": Api(),
    "HostAlloc": Api(),
    "Free": Api(releases=0, waits="device"),
    "FreeHost": Api(waits="device"),
    "DeviceSynchronize": _WAIT_DEVICE,
    "ThreadSynchronize": _WAIT_DEVICE,
    "DeviceReset": Api(does="reset", waits="device"),
    "GetLastError": Api(asks=True),
    "PeekAtLastError": Api(asks=True),
    "Memcpy": _copy(None, kind=3),
    "MemcpyAsync": _copy(4, kind=3),
    "Memcpy2D": _copy(None, of=2, kind=6),
    "Memcpy2DAsync": _copy(7, of=2, kind=6),
    "MemcpyPeerAsync": _copy(5, of=2),
    "MemcpyToSymbol": _copy(None, to=None, kind=4),
    "MemcpyFromSymbol": _copy(None, of=None, kind=4),
    "MemcpyToSymbolAsync": _copy(5, to=None, kind=4),
    "MemcpyFromSymbolAsync": _copy(5, of=None, kind=4),
    "Memset": Api(runs=True, writes=(0,), does="set"),
    "MemsetAsync": Api(runs=True, writes=(0,), stream=3),
    "Memset2D": Api(runs=True, writes=(0,), does="set"),
    "Memset2DAsync": Api(runs=True, writes=(0,), stream=5),
    "LaunchKernel": Api(does="launch", runs=True, stream=5, arguments=3),
    "LaunchCooperativeKernel": Api(does="launch", runs=True, stream=5, arguments=3),
    "LaunchKernelEx": Api(does="launch", runs=True),
    "LaunchKernelExC": Api(does="launch", runs=True, arguments=2),
}
_DRIVER: Mapping[str, Api] = {
    **_SHARED,
    "StreamCreate": Api(kind=STREAM, makes=0, flags=1),
    "EventCreate": Api(kind=EVENT, makes=0),
    "MemAllocAsync": Api(kind=ALLOCATION, makes=0, stream=2, runs=True),
    "MemAllocFromPoolAsync": Api(kind=ALLOCATION, makes=0, stream=3, runs=True),
    "MemFreeAsync": Api(kind=ALLOCATION, releases=0, stream=1, runs=True),
    "MemAllocManaged": Api(kind=MANAGED, makes=0, flags=2),
    "MemAlloc": Api(),
    "MemFree": Api(releases=0, waits="device"),
    "MemFreeHost": Api(waits="device"),
    "CtxSynchronize": _WAIT_DEVICE,
    "MemcpyHtoD": _copy(None),
    "MemcpyDtoH": _copy(None),
    "MemcpyDtoD": replace(_copy(None), waits=None),
    "MemcpyHtoDAsync": _copy(3),
    "MemcpyDtoHAsync": _copy(3),
    "MemcpyDtoDAsync": _copy(3),
    "MemcpyAsync": _copy(3),
    "MemsetD8": Api(runs=True, writes=(0,), does="set"),
    "MemsetD32": Api(runs=True, writes=(0,), does="set"),
    "MemsetD8Async": Api(runs=True, writes=(0,), stream=3),
    "MemsetD32Async": Api(runs=True, writes=(0,), stream=3),
    "LaunchKernel": Api(does="launch", runs=True, stream=8, arguments=9),
    "LaunchCooperativeKernel": Api(does="launch", runs=True, stream=8, arguments=9),
    "LaunchKernelEx": Api(does="launch", runs=True, arguments=2),
}

_VERSION = regex(r"(?:_v\d+|_ptsz|_ptds)+\Z")
_OTHER = Api(quiet=False)
_READER = Api()
# of the rest: those that ask, set up or compute, and leave all work where it is
_READS = regex(
    r"[A-Z]\w*(?:Get|Set|Occupancy|Advise|Query|CanAccess|Add\w*Node|AddDependencies|Update|Upload|Export)\w*"
    r"|(?:Get|Set|Occupancy|Pointer|Init|Choose|Device|Mem)\w*(?:Attribute|Device|Count|Info|Version|Properties|"
    r"Name|String|Limit|Active\w*|Potential\w*|Priority\w*|Flags|Advise)\w*|Init|Profiler(?:Start|Stop)"
)


@remembered(most=4096)
def api_of(name: str, dialect: Dialect) -> Api | None:
    """What the function ``name`` does, if it is one of the API."""
    for prefix, table in (*((each, _RUNTIME) for each in dialect.runtime_api), (dialect.driver_api, _DRIVER)):
        rest = name.removeprefix(prefix)
        if rest == name or not rest[:1].isupper():
            continue
        rest = _VERSION.sub("", rest)
        found = table.get(rest)
        if found is not None:
            return found
        return _READER if _READS.fullmatch(rest) else _OTHER
    return None


@remembered(most=8)
def words_of_lifetimes(dialect: Dialect) -> frozenset[str]:
    """Names of functions that make or release what is followed: a function without any of them is not walked."""
    found: set[str] = set()
    for prefix, table in (*((each, _RUNTIME) for each in dialect.runtime_api), (dialect.driver_api, _DRIVER)):
        for name, api in table.items():
            if api.kind is not None:
                found |= {prefix + name, f"{prefix}{name}_v2"}
    return frozenset(found)


@remembered(most=8)
def handle_types(dialect: Dialect) -> Mapping[str, str]:
    """Types of handles that are released by a call, each with the kind of thing."""
    kinds = {
        "Stream": STREAM,
        "Event": EVENT,
        "Graph": GRAPH,
        "GraphExec": GRAPH_EXEC,
        "MemPool": POOL,
    }
    of_driver = {"CUstream": STREAM, "CUevent": EVENT, "CUgraph": GRAPH, "CUgraphExec": GRAPH_EXEC}
    found = {f"{prefix}{name}_t": kind for prefix in dialect.runtime_api for name, kind in kinds.items()}
    return found | of_driver | {"CUmemoryPool": POOL}
