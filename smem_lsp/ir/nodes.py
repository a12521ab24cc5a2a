"""The simplified IR of one kernel: buffers, and a region tree of what happens to them.

The region tree holds the events that matter to shared memory in program order. Every node has a ``point``: its
number in pre-order, unique in the kernel; a loop also owns a point for its end. Places in the text are numbers, and
``Kernel.places`` says where they are (``ir.places``); a range is ``None`` where the text came out of a macro body and
must not be edited.
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace

from smem_lsp.ir.author_facts import NOTHING_STATED, Annotations
from smem_lsp.ir.causes import Cause, Opens
from smem_lsp.ir.global_memory import GlobalMemory
from smem_lsp.ir.mapping import BufferNumber, Key, NameNumber, Point, VariableNumber
from smem_lsp.ir.places import At, Row, SourceMap
from smem_lsp.ir.values import Bytes, Value
from smem_lsp.ir.values import MemberPath as MemberPart
from smem_lsp.source import SourceText, Span, checkpoint, record
from smem_lsp.source.budget import pause
from smem_lsp.source.record import dataclass
from smem_lsp.targets.dialects import CUDA, Dialect
from smem_lsp.targets.every import WARP_SIZE
from smem_lsp.terms.operators import OperandType, Operator
from smem_lsp.terms.symbolic import Symbol, SymbolicTerm, compared, named, replaced

FEWEST_LANDINGS = 4
"""Points behind each wait for asynchronous copies that are kept free for what lands there, at least."""
NO_OBJECT = -1
"""What a copy waits for that is bound to no object: its thread waits for it in groups."""


class AddressSpace(enum.Enum):
    STATIC = "static"
    DYNAMIC = "dynamic"


class AccessKind(enum.Enum):
    """What an access does to the bytes it touches."""

    READ = "R"
    WRITE = "W"
    UPDATE = "X"  # reads and writes: += and atomics

    @property
    def reads(self) -> bool:
        return self is not AccessKind.WRITE

    @property
    def writes(self) -> bool:
        return self is not AccessKind.READ


@record
class DeclarationSite:
    """Where a buffer is declared, for rewrites. Spans are None when any token of them came from a macro body."""

    statement: At | None  # from the first specifier to the `;`
    specifiers: At | None  # `__shared__ float`
    declarator: At | None  # `tile[32][33]`
    name: At | None
    position: int  # index of this declarator in the declaration
    count: int  # declarators in the declaration
    scope: At  # the block the declaration stands in, braces included
    in_switch: bool = False  # directly in a switch body: jumping over a reference there is an error in C++


@record
class StorageMember:
    """A data member of a class in shared memory, or what a union shares among several. Bytes from the start of the
    buffer. ``path``: "mainloop.As", "epilogue/scan" for a union without a name; ``text``: its declaration."""

    path: str
    offset: int
    size: int
    align: int
    text: str
    type: str  # of its elements
    plain: bool  # no constructor of its own: it may stand in a union
    dims: tuple[int | None, ...] = ()  # of an array
    element_bytes: int | None = None


@record
class Kept:
    """Bytes of a buffer that never share with others, and why. ``within`` None: all of it."""

    within: Bytes | None
    reason: Cause


@record
class Written:
    """The words of a declaration, as the author has written them."""

    type: str | None = None  # with qualifiers, ready to be written again; None: out of a macro
    pointer: str = ""  # "*", "* volatile": what follows the type in front of the name
    dims: tuple[str, ...] = ()
    qualifiers: tuple[str, ...] = ()  # volatile, const
    attributes: tuple[str, ...] = ()  # alignas(16), __align__(8)


class Owner(enum.Enum):
    """Whose a buffer is: the kernel's own, or that of a function which the kernel calls. One that is ``LENT`` keeps its
    bytes for no other reason than that."""

    KERNEL = enum.auto()
    CALLED = enum.auto()
    LENT = enum.auto()


class Sight(enum.Enum):
    """Which accesses to a buffer are in the region tree, with what they write: all, all but what asynchronous copies
    write and when, or some."""

    ALL = enum.auto()
    BUT_COPIES = enum.auto()
    SOME = enum.auto()


@record
class Buffer:
    """One declared shared object."""

    index: BufferNumber
    name: str
    type: str  # element type as written, qualifiers and attributes removed: "float"
    written: Written
    dims: tuple[int | None, ...]  # () for a scalar; None where a dimension is not known
    element_bytes: int | None
    bytes: int | None  # None when unknown
    align: int | None  # natural alignment, or what alignas/__align__ asks for
    space: AddressSpace
    declared: At  # the declarator's name
    site: DeclarationSite
    fixed: Cause | None = None  # why it may never share bytes; None: it may
    owner: Owner = Owner.KERNEL
    handed: bool = False  # memory that a function gets by pointer, whoever's it is
    sight: Sight = Sight.ALL
    spanned: bool = False  # the distance of two addresses in it, or their order, is asked for
    required_align: int = 1  # what accesses through wider types ask for
    stays: bool = False  # something is written to it as volatile: no compiler drops it
    function: str = ""  # name of the function that declares it
    record: bool = False  # an element is a class, struct or union
    holds_pointers: bool = False  # an element is or has a pointer, as far as one can tell
    collective: bool | None = (
        None  # storage of a collective of CUB: do several warps exchange values through it?
    )
    group: int = 0  # ptxas lays those of one group out after those of the last, as they are declared
    members: tuple[StorageMember, ...] = ()  # of the classes that its bytes are seen as, rising offsets
    kept: tuple[Kept, ...] = ()  # parts of it

    @property
    def owned(self) -> bool:
        """Does it belong to a function that the kernel calls?"""
        return self.owner is not Owner.KERNEL

    @property
    def seen(self) -> bool:
        """Is every access to it in the region tree, with what it writes?"""
        return self.sight is Sight.ALL

    @property
    def placed(self) -> bool:
        """The same, but for what asynchronous copies write and when."""
        return self.sight is not Sight.SOME


@record
class BufferAlias:
    """What a kernel calls some bytes of a buffer: the array itself, a member of it by its path, or a reference to a
    part of it. ``within``: the bytes, from the start of the buffer; ``type``: of its elements; ``site``: of a
    reference, where it is declared."""

    text: str  # "tile", "smem.epilogue.Cs"
    buffer: BufferNumber
    within: Bytes
    type: str
    dims: tuple[int | None, ...] = ()
    site: DeclarationSite | None = None

    @property
    def declared(self) -> At | None:
        """Of a reference: its name where it is declared."""
        return None if self.site is None else self.site.name

    @property
    def scope(self) -> At | None:
        """Of a reference: the block that it is declared in."""
        return None if self.site is None else self.site.scope


@record
class Elsewhere:
    """A place in another file than the kernel's: in a header that it includes."""

    source: SourceText = field(compare=False)
    span: Span

    @property
    def line(self) -> int:
        """1-based."""
        return self.source.line_number(self.span.start)


@record
class Tile:
    """A matrix that a warp moves together, ``rows`` times ``row_bytes``, each ``pitch`` bytes behind the one before;
    which lane moves which of them is not said. ``start``: its first byte, from the start of the buffer."""

    rows: int
    row_bytes: int
    pitch: int
    start: Value | None = None


@record
class Atomic:
    """An atomic operation: what was there before (key of an ``Unknown``), and what it adds to an integer; None: it does
    something else. ``compares``: it writes only where a certain value stands."""

    before: Key
    added: Value | None = None
    compares: bool = False


@record
class Access:
    """One access to a buffer, by every thread that reaches it.

    ``offset`` and ``width``: the bytes it touches, counted from the start of the buffer; None: some of them.
    ``stored``: what a write puts there; ``plain``: an update that is a read and a write, ``+=``. ``rows``: the warp
    moves so many rows of ``width`` bytes together (``ldmatrix``, ``stmatrix``): one at the address that each of its
    first lanes gives, what the others give means nothing; 0: each thread moves its own. ``tile``: of an access to
    bytes that are not known, what it moves. ``name``: number of the last name on the way to them, -1: not known;
    ``within``: the object in the buffer that was named, a member of a class;
    None: not known; ``strayed``: through an address that was not followed, so into one of the parts that are kept;
    ``subscripts``: without ``index``, those of arrays on the way to it, each with how many elements the array has;
    ``elsewhere``: where it stands, in a function of another file; ``line`` is that of the call then; ``keeps``: why the
    bytes never share with others, its first name stands for theirs, None: they may; ``length``: how
    many bytes from ``offset`` on the asynchronous proxy moves, at some time from now on: then ``width`` is None.
    """

    point: Point
    buffer: BufferNumber
    kind: AccessKind
    index: tuple[Value, ...] | None  # one value per dimension; None: some element, not known which
    span: At | None
    line: Row
    guess: bool = False  # rests on a guess of the parser, or is made at a time that is not known
    offset: Value | None = None
    width: int | None = None
    part: MemberPart | None = None  # of a class whose layout is not known
    stored: Value | None = None
    atomic: Atomic | None = None
    plain: bool = False
    asynchronous: bool = False  # a copy is issued here, or has landed: an update of any of its bytes
    rows: int = 0
    tile: Tile | None = None
    within: Bytes | None = None
    strayed: bool = False
    subscripts: tuple[tuple[Value, int], ...] = ()
    bound: int = NO_OBJECT  # of a copy that is issued here: what its thread waits for, as in ``CopyWait``
    # of what threads do together, which of them what is not said: its first byte, and of a copy how many; a collective
    # of the block uses its storage
    start: Value | None = None
    size: int = 0
    divided: bool = False  # all threads of the block copy together, each its own part
    elsewhere: Elsewhere | None = None
    name: NameNumber = -1
    keeps: Cause | None = None
    length: Value | None = None
    issues: tuple[Point, ...] = ()  # of what has landed here: where the asynchronous proxy started it, points

    @property
    def beside(self) -> bool:
        """Does the asynchronous proxy make it, at some time from now on?"""
        return self.length is not None

    @property
    def grouped(self) -> bool:
        """Is a copy issued here that its thread waits for in groups?"""
        return self.asynchronous and self.kind is AccessKind.WRITE and self.bound == NO_OBJECT

    @property
    def lands(self) -> bool:
        """Have copies landed here, whose issues are accesses of their own?"""
        return self.asynchronous and self.kind is AccessKind.UPDATE

    @property
    def is_unplaced(self) -> bool:
        """Does it touch a member of which not even a stand-in for its place is known?"""
        return self.part is not None and self.part.stand_in is None

    def same_layout(self, other: Access) -> bool:
        """Do both count the bytes of their storage in the same way, so that their places compare?"""
        one, another = self.part, other.part
        return one is another is None or (one is not None and one.comparable(another))

    @property
    def together(self) -> bool:
        """Is a copy of ``size`` bytes from ``start`` on issued here, by several threads?"""
        return self.start is not None and self.size > 0 and self.asynchronous

    @property
    def serves(self) -> bool:
        """Is it the storage of a collective of the block?"""
        return self.start is not None and not self.asynchronous


class BarrierKind(enum.Enum):
    """Which threads a barrier is for."""

    BLOCK = "block"
    WARP = "warp"
    NAMED = "named"  # those of one of the sixteen numbered barriers of a block (PTX ISA, "bar")
    CLUSTER = "cluster"  # those of all blocks of a cluster
    TILE = "tile"  # so many ``lanes`` that stand together in the block, of several warps
    HALF = (
        "half"  # those of the block, where each of them says that it is there before it waits for the others
    )
    OTHER = "other"  # threads that are not known


class BarrierFamily(enum.Enum):
    """What the number of a named barrier counts from."""

    PTX = "ptx"  # 0: the operand of ``bar.sync``
    CUTLASS = "cutlass"  # the first barrier that the library leaves to its users
    OBJECT = "object"  # nothing: it stands for the word of a ``cuda::barrier``


@record
class Barrier:
    """A synchronisation statement. Only one for all of the block can ever separate accesses."""

    point: Point
    kind: BarrierKind
    span: At | None
    line: Row
    spelling: str  # "__syncthreads();"
    guess: bool = False  # perhaps in a function that is not called at all
    mask: Value | None = None  # of a warp barrier: lanes that take part; None: all that are here
    # of a named one: its number, how many threads it is for (None: all), and whether they go on without waiting
    number: Value | None = None
    count: Value | None = None
    arrives: bool = False
    votes: bool = False  # it also tells all threads what they say: __syncthreads_count()
    family: BarrierFamily = BarrierFamily.PTX
    lanes: int = WARP_SIZE  # of a warp barrier or a tile: so many neighbours wait for each other, no others
    arrived: Point | None = (
        None  # of a half that waits: where all threads have said that they are there (point)
    )

    @property
    def of_block(self) -> bool:
        """Does all of the block wait in it, as it does in ``__syncthreads()``?"""
        return self.kind in (BarrierKind.BLOCK, BarrierKind.CLUSTER)


@record
class WarpCollective:
    """Lanes of a warp exchange values through registers: a shuffle or a vote. It orders no memory. ``mask``: lanes
    that take part; None: all that are here; ``given``: what each of them hands over, as far as that is known."""

    point: Point
    span: At | None
    line: Row
    spelling: str  # "__shfl_down_sync"
    mask: Value | None
    given: tuple[Value, ...] = ()


@record
class GlobalAccess:
    """A thread reads or writes memory that is not shared, at ``base[index]``; None: somewhere. ``line``: of the
    statement; ``width``: bytes of an element; None: not known; ``signals``: it may tell other blocks what was
    done before, or be told."""

    point: Point
    kind: AccessKind
    base: Value | None
    index: Value | None
    line: Row
    width: int | None = None
    signals: bool = False


class CopyWaitKind(enum.Enum):
    """What a thread does with the copies it has issued: in groups, of which the newest need not have landed (PTX ISA,
    "cp.async.commit_group", "cp.async.wait_group"), or in the stages of a pipeline, whose oldest is waited for."""

    COMMIT = "commit"  # to a group
    GROUPS = "groups"  # waits till all but the newest groups have landed
    ALL = "all"  # waits till those of no group have landed, too
    STAGE = "stage"  # to one more stage that is under way
    OLDEST = "oldest"  # waits till those of the oldest stage have landed
    RELEASE = "release"  # the oldest stage makes way
    UNKNOWN = "unknown"  # perhaps one of these


@record
class CopyWait:
    """A thread commits its asynchronous copies or waits for them. ``left``: groups that need not have landed;
    ``bound``: the object that the copies are bound to, a barrier or a pipeline."""

    point: Point
    kind: CopyWaitKind
    left: int
    line: Row
    bound: int


class ProxyKind(enum.Enum):
    """What the asynchronous proxy does (PTX ISA, "Async proxy")."""

    COPY = "copy"  # reads bytes of a buffer, until its thread waits
    READ = "read"  # reads some bytes of a buffer
    FENCE = "fence"  # sees what the thread has written before
    COMMIT = "commit"  # the bulk copies issued so far become a group
    WAIT = "wait"  # all but the newest groups have read what they copy


@record
class Proxy:
    """An event of the asynchronous proxy: bulk and tensor copies, matrix instructions that read shared memory.

    A ``COPY`` reads ``width`` bytes of ``buffer`` from ``offset`` on (None: some bytes). A ``WAIT`` leaves the ``left``
    newest groups open (None: not known how many).
    """

    point: Point
    kind: ProxyKind
    span: At | None
    line: Row
    buffer: BufferNumber = -1
    offset: Value | None = None
    width: int = 0
    left: int | None = 0


@record
class Remote:
    """A thread gets the address of shared memory of another block of its cluster."""

    point: Point
    span: At | None
    line: Row


@record
class Assignment:
    """A local variable gets a value. ``reading``: the type that it has, where that may be one which does not hold the
    value."""

    point: Point
    variable: VariableNumber
    value: Value
    reading: OperandType = OperandType.UNKNOWN


@record
class Branch:
    """``if``, ``?:``, ``&&``, ``||`` and each arm of a ``switch``: one of two arms runs for a thread."""

    point: Point
    condition: Value
    then: Seq
    otherwise: Seq
    span: At | None  # the whole statement
    line: Row


@record
class Induction:
    """``for (i = init; i < bound; i += step)`` whose variable the body does not change."""

    variable: VariableNumber
    init: Value
    step: Value
    bound: Value
    inclusive: bool


@record
class Loop:
    """A loop. ``min_trip`` 0: it may not run at all; ``trips``: the exact count where it is known."""

    point: Point
    end_point: Point
    min_trip: int
    trips: int | None
    condition: Value
    induction: Induction | None
    body: Seq
    span: At | None
    line: Row
    again: Value | None = None  # the condition as read at the end of the body; None: in the same words
    tail: int = 0  # how many nodes at the end of the body run after a `continue` too: step and condition
    late: bool = False  # `do`: the condition is checked behind the body only


class JumpKind(enum.Enum):
    BREAK = "break"
    CONTINUE = "continue"
    RETURN = "return"
    LEAVE = "leave"  # ``return`` of a function that is being inlined, ``goto``; none is left in a kernel


@record
class Jump:
    """A thread leaves an iteration, a loop or the kernel. ``target``: the label, of a ``goto``."""

    point: Point
    kind: JumpKind
    line: Row
    target: str = ""


@record
class BarrierSite:
    """A spot between two statements of a block, where a barrier could be inserted.

    ``statement``: what would follow the barrier, the closing brace at the end of a block; None out of a macro.
    """

    point: Point
    statement: At | None
    line: Row
    at_end: bool = False


@record
class Seq:
    """Nodes in program order."""

    items: tuple[Node, ...] = ()
    _below: tuple[Node, ...] | None = field(default=None, init=False, repr=False, compare=False)

    @property
    def below(self) -> tuple[Node, ...]:
        """All nodes below it, in pre-order: found once, as some forty analyses look at each body."""
        if self._below is None:
            object.__setattr__(self, "_below", tuple(_below(self)))
        return self._below or ()

    def __iter__(self) -> Iterator[Node]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


Node = (
    Access
    | Barrier
    | WarpCollective
    | GlobalAccess
    | CopyWait
    | Proxy
    | Remote
    | Assignment
    | Branch
    | Loop
    | Jump
    | BarrierSite
)


BETWEEN_LOOKS = 16
"""Nodes that a walk passes between two looks at its budget, where it does next to nothing at most of them."""


def walk(seq: Seq) -> Iterator[Node]:
    """All nodes below ``seq``, in pre-order."""
    nodes = seq.below
    for at in range(0, len(nodes), BETWEEN_LOOKS):
        pause()
        yield from nodes[at : at + BETWEEN_LOOKS]


def _below(seq: Seq) -> Iterator[Node]:
    stack: list[Node] = list(reversed(seq.items))
    while stack:
        checkpoint()
        node = stack.pop()
        yield node
        for inner in reversed(bodies(node)):
            stack.extend(reversed(inner.items))


def bodies(node: Node) -> tuple[Seq, ...]:
    """What stands in a node: the arms of a branch, the body of a loop."""
    if isinstance(node, Branch):
        return node.then, node.otherwise
    return (node.body,) if isinstance(node, Loop) else ()


Region = Branch | Loop
Around = tuple[Region, ...]


def placed(seq: Seq) -> Iterator[tuple[Node, Around]]:
    """All nodes below ``seq``, in pre-order, each with the branches and loops around it, the outermost first."""
    waiting: list[tuple[Node, Around]] = [(node, ()) for node in reversed(seq.items)]
    while waiting:
        pause()
        node, around = waiting.pop()
        yield node, around
        if isinstance(node, Region):
            within = (*around, node)
            for inner in reversed(bodies(node)):
                waiting += ((each, within) for each in reversed(inner.items))


def of_own_iteration(items: Iterable[Node]) -> Iterator[Node]:
    """Nodes among them and in their branches, in pre-order: all but those inside of loops."""
    waiting = list(items)[::-1]
    while waiting:
        pause()
        node = waiting.pop()
        yield node
        if isinstance(node, Branch):
            waiting += (*node.then, *node.otherwise)[::-1]


def inside_changed(node: Node, change: Callable[[Sequence[Node]], Iterable[Node]]) -> Node:
    """A node with each block in it changed; what runs after a ``continue``, too, on its own."""
    if isinstance(node, Branch):
        then, otherwise = change(node.then.items), change(node.otherwise.items)
        return replace(node, then=Seq(tuple(then)), otherwise=Seq(tuple(otherwise)))
    if isinstance(node, Loop):
        ahead = len(node.body) - node.tail
        body, tail = tuple(change(node.body.items[:ahead])), tuple(change(node.body.items[ahead:]))
        return replace(node, body=Seq((*body, *tail)), tail=len(tail))
    return node


def changed(seq: Seq, change: Callable[[Node], Iterable[Node]]) -> Seq:
    """What ``change`` makes of each node, however deep; of a branch or a loop it is told with its blocks changed."""
    made: dict[int, Node] = {}  # by the branch or loop (id)

    def block(items: Iterable[Node]) -> Iterator[Node]:
        for each in items:
            yield from change(made.get(id(each), each))

    for node in reversed(seq.below):
        checkpoint()
        if isinstance(node, Region):
            made[id(node)] = inside_changed(node, block)
    return Seq(tuple(block(seq.items)))


Dims = tuple[int, int, int]


def storages_of(buffers: Sequence[Buffer]) -> dict[int, int]:
    """Buffer -> the buffer whose bytes it shares: itself, or the first of those in dynamic memory."""
    dynamic = next((each.index for each in buffers if each.space is AddressSpace.DYNAMIC), -1)
    return {each.index: dynamic if each.space is AddressSpace.DYNAMIC else each.index for each in buffers}


Axes = tuple[int | None, int | None, int | None]  # extents; None where one is not known
Configuration = tuple[object, ...]


PassedMembers = tuple[tuple[int, str, str, SymbolicTerm], ...]


@record(deep=True)
class HostTerms:
    """What host code passes to a launch, as terms; None where nothing is known. ``arguments``: those of the kernel;
    ``template``: its explicit template arguments; ``members``: integers in those arguments that are objects, each with
    the position of the argument, its class, and the members and elements that lead to it."""

    block: tuple[SymbolicTerm | None, SymbolicTerm | None, SymbolicTerm | None] = (None, None, None)
    grid: tuple[SymbolicTerm | None, SymbolicTerm | None, SymbolicTerm | None] = (None, None, None)
    dynamic: SymbolicTerm | None = None
    arguments: tuple[SymbolicTerm | None, ...] = ()
    conditions: tuple[Comparison, ...] = ()  # that hold whenever the launch is reached
    template: tuple[SymbolicTerm | None, ...] = ()
    members: PassedMembers = ()


@record
class Comparison:
    """``left operator right`` is true."""

    left: SymbolicTerm
    operator: str  # "==", "!=", "<", "<=", ">", ">="
    right: SymbolicTerm

    def __str__(self) -> str:
        return f"{compared(self.left)} {self.operator} {compared(self.right)}"


@record
class LaunchFact:
    """A comparison that is true for a launch, in the words of its kernel: parameters, ``blockDim``, ``gridDim``.
    ``text``: ``len == blockDim.x``."""

    left: Value
    operator: Operator
    right: Value
    text: str


@record
class InWords:
    """A number in the words of a kernel: ``4 * tile``."""

    value: Value
    text: str


@record
class ImpossibleSize:
    """Bytes of dynamic shared memory that no launch has. ``overflow``: the words for a part of the size that is as many
    in ``int``, which does not hold them."""

    bytes: int
    overflow: str = ""


@record
class LaunchSite:
    """``kernel<<<grid, block, dynamic>>>(...)`` or ``cudaLaunchKernelEx`` in sight; None where the argument is no
    constant. ``cluster``: blocks of a cluster, where an attribute of the launch says so; ``addends``: what the dynamic
    bytes are the sum of, from left to right, where the argument, or the local constant that it is, is a sum, perhaps in
    brackets that a factor stands beside. A launch
    that host code may reach with different numbers has several sites at one place. ``signature``: what tells the kernel
    from others of its name; None: no other one is in sight, or it may be any of them."""

    kernel: str
    block: Dims | None
    dynamic_bytes: int | None
    dynamic_expression: str | None
    span: Span
    line: int
    grid: Dims | None = None
    cluster: Dims | None = None
    extended: bool = False  # cudaLaunchKernelEx
    impossible: ImpossibleSize | None = None  # what is passed in place of dynamic bytes
    addends: tuple[int | None, ...] = ()
    path: str | None = None  # of the file that it stands in; None: the kernel's own
    variants: int = 1  # sites of this launch: conditions choose which of them happens
    open: bool = False  # other files may call a function on the way to it with other arguments
    unfollowed: bool = False  # code in sight that is not followed computes its block
    doubted: bool = False  # such code decides whether it is reached with these numbers
    terms: HostTerms = HostTerms()
    equalities: tuple[LaunchFact, ...] = ()  # all with ``==``
    conditions: tuple[LaunchFact, ...] = ()  # others, which hold because the host checks them
    dynamic: InWords | None = None  # the dynamic bytes, where they are no number
    signature: str | None = None
    own: frozenset[Symbol] = frozenset()  # of host code, by whose names the kernel has other numbers
    in_string: bool = False  # so the kernel is named, for the driver to look it up
    caller: str | None = None  # "path:line" of the call in another file that leads to it with these numbers

    @property
    def threads(self) -> int | None:
        return None if self.block is None else self.block[0] * self.block[1] * self.block[2]

    @property
    def axes(self) -> Axes:
        """The extents of the block that are known: of ``dim3(n, 1)`` y and z."""
        return self.block or _numbers(self.terms.block)

    @property
    def grid_axes(self) -> Axes:
        """The extents of the grid that are known."""
        return self.grid or _numbers(self.terms.grid)

    @property
    def configuration(self) -> Configuration:
        """All but the place and what follows from the terms."""
        return (
            self.block,
            self.dynamic_bytes,
            self.impossible,
            self.dynamic_expression,
            self.grid,
            self.cluster,
            self.terms,
            self.open,
            self.unfollowed,
            self.doubted,
            self.variants,
            self.signature,
        )

    @property
    def block_text(self) -> str:
        """``256 x 1 x 1``, ``n x 4 x 1``; "unknown" for an axis of which nothing is known."""
        axes = zip(self.axes, self.terms.block)
        words = (self.said(term) if number is None and term else str(number) for number, term in axes)
        return " x ".join("unknown" if word == "None" else word for word in words)

    def said(self, term: SymbolicTerm) -> str:
        """A term of the launch beside the kernel's: ``the launch's n``, where the kernel has another ``n``."""
        return str(replaced(term, {each: named(f"the launch's {each.name}") for each in self.own}))

    @property
    def place(self) -> str:
        """In words: ``line 40``, or ``runner.cu:203`` in another file; ``line 40, called from main.cu:7``."""
        place = f"line {self.line}" if self.path is None else f"{self.path}:{self.line}"
        return place if self.caller is None else f"{place}, called from {self.caller}"

    def at(self, span: Span, line: int) -> LaunchSite:
        """The same launch at another place."""
        return replace(self, span=span, line=line)


def _numbers(terms: tuple[SymbolicTerm | None, SymbolicTerm | None, SymbolicTerm | None]) -> Axes:
    x, y, z = (None if term is None or (term.number or 0) <= 0 else term.number for term in terms)
    return x, y, z


MORE_CONTEXTS = "more contexts"  # files that include the header
MORE_INSTANCES = "more instances"


@record
class HeaderContext:
    """A unit through which a header is read. ``main``: its main file; ``macros``: what others define for the kernel's
    text, as ``BM=128``."""

    main: str
    macros: tuple[str, ...] = ()


@record
class InlinedCall:
    """A function of the file whose body stands in a kernel. ``line``: of its name; ``span``: of the function;
    ``first`` and ``last``: points, between which its nodes lie."""

    name: str
    line: Row
    span: At
    first: Point
    last: Point


@record
class FollowedCall:
    """A call whose body stands in a kernel, between the points ``first`` and ``last``. ``name``: of what is called, ""
    where it has none; ``span``: of the call, None out of a macro or in another file (``elsewhere``); ``line``: of it in
    the kernel's file, or of the call there that leads to it."""

    name: str
    span: At | None
    line: Row
    elsewhere: Elsewhere | None
    first: Point
    last: Point


@record
class WithFinalWait:
    """A kernel with one more wait of every thread, after which no copy is in flight any more. ``place``: the point of
    the Place that it would stand at; ``loose``: it has to cover copies of no group too; ``buffers``: they keep their
    bytes for those copies only; ``body``: the tree with what then has landed."""

    place: Point
    loose: bool
    buffers: frozenset[BufferNumber]
    body: Seq


@record
class PresumedCall:
    """A call that is not followed and of which nothing says that it waits for threads of the block. ``in_warp``: its
    name speaks of a warp, whose lanes may wait for each other in it."""

    name: str
    in_warp: bool


@dataclass(frozen=True)
class Kernel:
    """One ``__global__`` function."""

    name: str
    at: At  # the whole definition
    name_at: At
    row: Row  # of the name
    buffers: tuple[Buffer, ...]
    body: Seq
    variables: tuple[str, ...]  # names of the local variables, by index
    template: bool  # with parameters that are not bound
    internal: bool  # internal linkage: every launch is in this file
    may_opt_in: bool  # some call in sight may raise the dynamic shared memory that it can be launched with
    launch_bounds: tuple[int, int | None] | None  # (threads, blocks)
    launches: tuple[LaunchSite, ...]
    limits: tuple[Cause, ...] = ()  # what is not known of it, in the order in which that was found
    places: SourceMap = field(default=SourceMap(), compare=False)
    inlined: tuple[InlinedCall, ...] = ()  # calls of these that were followed
    calls: tuple[FollowedCall, ...] = ()  # all that were, those of headers and of lambdas, too
    instance: str | None = None  # of a template: `k<32, float>`
    siblings: int = 0  # other instances of it in sight
    foremost: bool = True  # of all of them, the one that is launched first
    contexts: tuple[HeaderContext, ...] = ()  # through which its header was read
    through: bool = False  # ``contexts`` were asked for, and other files include its header, too
    uncalled: bool = False  # no kernel, but a device function that none in sight calls
    more_instances: str | None = None  # why there may be others than those in sight; None: there are not
    left_out: tuple[str, ...] = ()  # in sight and not looked at: MORE_INSTANCES, MORE_CONTEXTS
    unknown_accesses: int = 0  # that are not resolved, at least
    opaque: tuple[Point, ...] = ()  # points, rising, of calls that may wait for other threads
    presumed: Mapping[Point, PresumedCall] = field(
        default_factory=dict
    )  # those of which nothing says that they do
    volatile_elsewhere: bool = False  # a function of a header that was followed has volatile objects
    # a call is not followed, and a function of the file that is no kernel declares or names shared arrays
    shared_elsewhere: bool = False
    helper_bytes: tuple[Buffer, ...] = field(default=())  # arrays of the __device__ functions it reaches
    # buffer -> why no reference can stand for it: a lambda that would copy it or not see it
    unreferable: Mapping[int, Cause] = field(default_factory=dict)
    redeclared: frozenset[str] = frozenset()  # names that are declared more than once in the body
    names: tuple[BufferAlias, ...] = ()  # that accesses go by
    identifiers: frozenset[str] = frozenset()  # every name that stands in the function
    possible_rounding: int = (
        1  # the same, when it is not certain that all functions that ask for it are compiled
    )
    rounding: int = 1  # bytes: the total is a multiple of it once the file uses an `extern __shared__` array
    opening: At | None = None  # of no length, after the `{` of the body
    conditional: tuple[At, ...] = ()  # `#if` to `#endif` inside the body
    memory: GlobalMemory = field(default_factory=GlobalMemory)
    cluster: Dims | None = None  # blocks, by __cluster_dims__
    non_portable: bool = False  # something in sight may allow clusters that not every device takes
    stated: Annotations = NOTHING_STATED
    agreed: frozenset[Value] = (
        frozenset()
    )  # values that the author states to be the same for all threads of a block

    dialect: Dialect = CUDA  # what it is written in
    drained: WithFinalWait | None = None  # None: no copy is left in flight, or one wait is not enough

    @property
    def span(self) -> Span:
        """The whole definition, in its file."""
        return self.places.span(self.at)

    @property
    def name_span(self) -> Span:
        """Its name, in its file."""
        return self.places.span(self.name_at)

    @property
    def line(self) -> int:
        """Of its name, from 1 on."""
        return self.places.line(self.row)

    def with_wait(self, drained: WithFinalWait) -> Kernel:
        """The same with that wait."""
        buffers = (replace(b, fixed=None, kept=()) if b.index in drained.buffers else b for b in self.buffers)
        return replace(self, body=drained.body, buffers=tuple(buffers), drained=None)

    def open(self, what: Opens) -> tuple[Cause, ...]:
        """Why some of that is not known; empty: it is."""
        return tuple(each for each in self.limits if each.opens & what)

    @property
    def complete(self) -> bool:
        """Is every statement parsed, without a guess on a declaration, barrier or access?"""
        return not self.open(Opens.TEXT)

    @property
    def unknown_barriers(self) -> int:
        """How many calls that are not followed wait for other threads, for all that is known."""
        return len(self.opaque) - len(self.presumed)

    @property
    def irregular(self) -> Cause | None:
        """``goto``, inline assembler with labels: why control flow is not known."""
        return next((each for each in self.limits if each.opens & Opens.FLOW), None)

    @property
    def unexact(self) -> Cause | None:
        """Why the declared bytes may differ from what ptxas reports; that some text is not understood comes last."""
        found = sorted(self.open(Opens.BYTES), key=lambda each: bool(each.opens & (Opens.TEXT | Opens.FLOW)))
        return found[0] if found else None

    @property
    def doubtful_blocks(self) -> frozenset[Dims]:
        """The blocks that no launch may have: where code in sight that is not followed chooses one of several."""
        sure = {site.block for site in self.launches if not (site.doubted and site.variants > 1)}
        return frozenset(site.block for site in self.launches if site.block is not None) - sure

    @property
    def unfollowed_launches(self) -> list[LaunchSite]:
        """The launches whose block is not known, where code in sight computes those of all: nobody can choose another
        one. Empty where somebody can."""
        unknown = [site for site in self.launches if site.block is None]
        return unknown if all(site.unfollowed for site in unknown) else []

    @property
    def passed(self) -> set[int | None]:
        """The dynamic bytes of its launches; None where one in sight is not known, and the author does not state it."""
        stated = None if self.stated.dynamic is None else self.stated.dynamic[1]
        found = {stated if site.dynamic_bytes is None else site.dynamic_bytes for site in self.launches}
        return found or (set() if stated is None else {stated})
