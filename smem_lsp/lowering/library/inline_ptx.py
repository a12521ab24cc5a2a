"""Inline assembler: what its instructions do to shared memory, read from their text (PTX ISA 8.5).

An instruction that is not known, or one that works through the asynchronous proxy, keeps its operands' buffers where
they are; the first kind may be a barrier, too.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeGuard, TypeVar

from smem_lsp.ir.causes import Cause, CauseKind
from smem_lsp.ir.copy_events import CopyEvent, Family, ProxyEvent
from smem_lsp.ir.nodes import AccessKind, BarrierKind, Branch, Seq
from smem_lsp.ir.places import Row
from smem_lsp.ir.values import Const, Op, Value
from smem_lsp.lowering.callees.ptx_text import (
    COMMENT,
    LABEL,
    ORDERS,
    REGISTERS,
    opcode,
    reads_time,
    unquoted,
)
from smem_lsp.lowering.callees.ptx_text import (
    instructions as instructions_of,
)
from smem_lsp.lowering.library import (
    async_copies,
    barriers,
    bulk_copies,
    bulk_flights,
    copy_groups,
    endings,
    mbarriers,
)
from smem_lsp.lowering.library.ptx_registers import computed, without_copies
from smem_lsp.lowering.state import effects
from smem_lsp.lowering.state.context import Context
from smem_lsp.lowering.state.local_scope import LocalScope, Meaning, Variable
from smem_lsp.lowering.state.places import Ref
from smem_lsp.source import checkpoint
from smem_lsp.source.digits import whole_number
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax import tree
from smem_lsp.terms.operators import Operator

_ADDRESS = regex(r"\[\s*%(?P<operand>\d+|\[\w+\])\s*(?:\+\s*(?P<offset>-?\d+)\s*)?\]")
_BRACKETS = regex(r"\[[^\[\]]*(?:\[\w+\][^\[\]]*)*\]")
_OPERAND = regex(r"%(\d+|\[\w+\])")
_MATRICES = {"x1": 1, "x2": 2, "x4": 4}  # of eight rows of eight 16-bit elements, where the shape is m8n8
_BITS = regex(r"\.(?:[bsuf](8|16|32|64|128)|bf16|f16x2|bf16x2)\b")
_STORES = regex(r"st(?:\.\w+(?:::\w+)?)*\.[bsu](?:32|64)\Z")  # one integer, all of it
_HEXADECIMAL = regex(r"0[xX][0-9a-fA-F]{1,16}U?\Z")
_PLAIN_BARRIER = regex(r"(?:bar|barrier)(?:\.cta)?\.sync(?:\.aligned)?\s+0\Z")

_JUMP = regex(r"bra(?:\.uni)? ([\w$%=]+)")

_ANY_JUMP = regex(r"(?:(?P<guard>@!?)%?(?P<over>\w+) )?bra(?:\.uni)? (?P<to>[\w$%=]+)\Z")
_ASKS = regex(
    r"mbarrier\.(?:try|test)_wait\.parity[\w.:]* %?(?P<over>\w+), ?\[[^\]]*(?:\[\w+\][^\]]*)?\], ?(?P<parity>[^,]+)"
)
_IS_TRUE = regex(r"selp(?:\.\w+)+ %(\d+|\[\w+\]), ?1, ?0, ?%?(\w+)\Z")
_GUARD = regex(r" // (!?)(\w+)\Z")  # after an instruction: its predicate
_IF_NOT_ZERO = regex(r"setp\.ne\.b32 %?(\w+), %(\d+), 0\Z")

T = TypeVar("T")

_PLAIN = frozenset(("ld", "ldu", "st"))
# Qualifiers of what other threads may rely on.
_STRONG = frozenset("volatile relaxed acquire release acq_rel mmio sc cluster gpu sys gl cv wt".split())
_GROUPS = ("commit_group", "wait_group", "wait_all")
_OF_THE_BLOCK = frozenset("ldmatrix stmatrix bar barrier".split())
_ENDINGS = (["exit"], ["trap"])  # statements of one instruction, behind which no thread goes on
_BARRIERS = frozenset(("bar", "barrier", "mbarrier"))
_ACCESSES = frozenset("ld ldu ldmatrix st stmatrix atom red".split())
# Those that touch memory, or work beside the thread. What is none of all these may wait for other threads: another
# machine's, or a call.
_OTHERS = frozenset(
    "alloca atom bra brx clusterlaunchcontrol cp exit istypep ld ldmatrix ldu movmatrix multimem prefetchu red ret st"
    " stackrestore stacksave stmatrix suld suq sured sust tcgen05 tensormap tex tld4 txq vabsdiff vabsdiff2 vabsdiff4"
    " vadd2 vadd4 vavrg2 vavrg4 vmad vmax vmax2 vmax4 vmin vmin2 vmin4 vset vset2 vset4 vshl vshr vsub vsub2 vsub4"
    " wgmma wmma".split()
)


@dataclass(slots=True)
class _Operand:
    constraint: str
    expr: tree.Expr
    at: int  # what token indices in ``expr`` are relative to
    name: str  # of `[name] "r"(x)`
    output: bool
    result: Value | Ref | None = None
    told: Value | None = None  # what an output gets, where it is known


@dataclass(slots=True)
class _Instruction:
    """One instruction of a statement, which spans ``size`` tokens. ``words``: its opcode and the qualifiers;
    ``guarded``: it has a predicate; ``refs``: where its operands lead."""

    text: str
    opcode: str
    words: list[str]
    arguments: str
    guarded: bool
    operands: list[_Operand]
    refs: list[Ref]
    size: int

    @classmethod
    def of(cls, text: str, operands: list[_Operand], size: int) -> _Instruction:
        opcode, _, arguments = _GUARD.sub("", text).partition(" ")
        used = [_find(operands, name) for name in _OPERAND.findall(arguments)]
        refs = [op.result for op in used if op is not None and isinstance(op.result, Ref)]
        guarded = _GUARD.search(text) is not None
        return cls(text, opcode, opcode.split("."), arguments, guarded, operands, refs, size)

    @property
    def name(self) -> str:
        return self.words[0]

    @property
    def immediate(self) -> int | None:
        """Its only operand, a number."""
        return _number(self.arguments, self.operands)

    def begins(self, *words: str) -> bool:
        return self.words[: len(words)] == [*words]


def lower(ctx: Context, node: tree.AsmStatement, scope: LocalScope) -> None:
    """Lower one ``asm`` statement."""
    lo, hi = node.chunk
    if not ctx.dialect.nvidia:  # of another machine: it may do anything
        _give_up(ctx, lo, hi, scope)
        ctx.may_synchronise()
        return
    groups = _groups(ctx, lo, hi)
    if groups is None:
        _give_up(ctx, lo, hi, scope)
        return
    kinds, texts = ctx.at.body.tokens.kinds, ctx.at.body.tokens.texts
    code = "".join(unquoted(texts[i]) for i in range(*groups[0]) if kinds[i] == "STRING")
    instructions = without_copies(instructions_of(code))
    if instructions in _ENDINGS:
        with ctx.at.chunk(lo):
            endings.leave(ctx, 0)
        return
    if "GOTO" in kinds[lo:hi] or not _runs_through(code, instructions):
        ctx.limits.note(CauseKind.ASSEMBLER_JUMPS, _line(ctx, lo))
    operands = _operands(ctx, groups[1:3])
    if operands is None:
        _give_up(ctx, lo, hi, scope)
        return
    _evaluate(ctx, operands, scope)
    with ctx.at.chunk(lo):
        if _orders_more(ctx, groups, instructions, operands):
            ctx.outside.signal()
        for instruction in instructions:
            if _GUARD.search(instruction):
                _guarded(ctx, instruction, instructions, operands, hi - lo)
            else:
                _instruction(ctx, instruction, operands, hi - lo)
        _ask_for_phase(ctx, code, instructions, operands)
        if not instructions:  # an address that the compiler is to know nothing of any more
            for operand in operands:
                if isinstance(operand.result, Ref):
                    ctx.escape(operand.result, 0, Cause(CauseKind.ASSEMBLER_OPERAND))
    _outputs(ctx, instructions, operands, scope)


def _line(ctx: Context, at: int) -> Row:
    """The line of a token of the body."""
    return ctx.at.line_at(ctx.at.body.site(at, at + 1).start)


def _give_up(ctx: Context, lo: int, hi: int, scope: LocalScope) -> None:
    """A statement that is not read may do anything with the buffers that it names."""
    effects.name_buffers(ctx, lo, hi, scope, Cause(CauseKind.ASSEMBLER_OPERAND))
    ctx.limits.note(CauseKind.UNREAD_ASSEMBLER, _line(ctx, lo))


def _evaluate(ctx: Context, operands: list[_Operand], scope: LocalScope) -> None:
    """Find what the operands are in front of the statement."""
    for operand in operands:
        with ctx.at.chunk(operand.at):
            operand.result = ctx.lower.operand(ctx, operand.expr, scope)
            if not operand.output or "+" in operand.constraint:
                operand.result = _loaded(ctx, operand)
            if not isinstance(operand.result, Ref) and operand.result is not None:
                ctx.outside.may_be_written(operand.result)


def _loaded(ctx: Context, operand: _Operand) -> Value | Ref:
    assert operand.result is not None
    if operand.constraint == "m":  # a place in memory, not a value
        if isinstance(operand.result, Ref):
            ctx.escape(operand.result, operand.expr.lo, Cause(CauseKind.ASSEMBLER_OPERAND))
        return ctx.out.fresh()
    return effects.load(ctx, operand.result, operand.expr)


def _groups(ctx: Context, lo: int, hi: int) -> list[tuple[int, int]] | None:
    """Token ranges between the colons of ``asm(code : outputs : inputs : clobbers)``; None: no such thing."""
    kinds = ctx.at.body.tokens.kinds
    start = next((i for i in range(lo, hi) if kinds[i] == "LP"), None)
    if start is None:
        return None
    close = ctx.at.body.ahead.partner[start]
    if not start < close < hi + 1:
        return None
    groups: list[tuple[int, int]] = []
    first = i = start + 1
    while i < close:
        if kinds[i] in ("LP", "LB") and ctx.at.body.ahead.partner[i] > i:
            i = ctx.at.body.ahead.partner[i]
        elif kinds[i] in ("COLON", "SCOPE"):
            groups.append((first, i))
            first = i + 1
            if kinds[i] == "SCOPE":
                groups.append((first, first))
        i += 1
    groups.append((first, close))
    return groups


def _runs_through(code: str, instructions: list[str]) -> bool:
    """Does control leave at the end, and do all instructions run that matter? A jump back to a label may only repeat
    the question whether a phase of an ``mbarrier`` is over."""
    jumps = [each for each in instructions if re.match(r"(?:exit|ret|bra|brx)\b", each)]
    if not jumps:
        return True
    pieces = (piece.strip(" \t{}") for piece in re.split(r"[;\n]", COMMENT.sub(" ", code)))
    labels = {found[1] for found in map(LABEL.match, pieces) if found is not None}
    targets = [_JUMP.match(each) for each in jumps]
    if any(found is None or found[1] not in labels for found in targets):
        return False
    opcodes = (each.partition(" ")[0].split(".") for each in instructions)
    asks = ["test_wait"], ["try_wait"]
    return all(
        words[0] in (REGISTERS | {"bra"}) or (words[0] == "mbarrier" and words[1:2] in asks)
        for words in opcodes
    )


def _operands(ctx: Context, groups: list[tuple[int, int]]) -> list[_Operand] | None:
    """Outputs and inputs in the order that ``%0``, ``%1`` count them; None: not understood."""
    kinds, texts = ctx.at.body.tokens.kinds, ctx.at.body.tokens.texts
    partner = ctx.at.body.ahead.partner
    found: list[_Operand] = []
    for number, (lo, hi) in enumerate(groups):
        checkpoint()
        i = lo
        name = ""
        while i < hi:
            if kinds[i] == "COMMA":
                i += 1
                continue
            if kinds[i] == "LB":
                name = texts[i + 1]
                i = partner[i] + 1
                continue
            if kinds[i] != "STRING" or kinds[i + 1 : i + 2] != ["LP"] or not i + 2 < partner[i + 1] < hi:
                return None
            expr = ctx.at.body.chunk("expression", (i + 2, partner[i + 1]))
            if expr is None:
                return None
            found.append(_Operand(unquoted(texts[i]), expr, i + 2, name, number == 0))
            i = partner[i + 1] + 1
            name = ""
    return found


def _guarded(
    ctx: Context, instruction: str, instructions: list[str], operands: list[_Operand], size: int
) -> None:
    """An instruction with a predicate: a branch on the operand that the predicate was set from."""
    point = ctx.out.next_point()
    guard = _GUARD.search(instruction)
    setters = [each for each in instructions if each.startswith("setp")]
    setter = _IF_NOT_ZERO.match(setters[0]) if len(setters) == 1 else None
    condition: Value = ctx.out.fresh()
    if guard is not None and setter is not None and guard.groups() == ("", setter[1]):
        operand = _find(operands, setter[2])
        if operand is not None and operand.result is not None and not isinstance(operand.result, Ref):
            condition = operand.result
    with ctx.out.collect() as items:
        _instruction(ctx, instruction, operands, size)
    if items:
        ctx.out.emit(Branch(point, condition, Seq(tuple(items)), Seq(), None, ctx.at.line(0)))


def _orders_more(
    ctx: Context, groups: list[tuple[int, int]], instructions: list[str], operands: list[_Operand]
) -> bool:
    """May the statement order memory beyond what its instructions say: by a place in memory as an operand, or for the
    compiler, where nothing in it touches memory?"""
    if any("m" in operand.constraint and not isinstance(operand.result, Ref) for operand in operands):
        return True
    texts = ctx.at.body.tokens.texts
    clobbered = any(unquoted(text) == "memory" for text in texts[slice(*groups[3])]) if groups[3:] else False
    return clobbered and not any(opcode(each)[0] in _OTHERS | _BARRIERS for each in instructions)


def _outside(ctx: Context, it: _Instruction) -> None:
    """What an instruction does to memory that is not shared (PTX ISA 8.5, "Memory Consistency Model"): plain loads,
    stores and copies touch it; what is not known, atomic or orders memory may be seen by other blocks."""
    words, shared = it.words, not {"shared", "shared::cta"}.isdisjoint(it.words)
    strong = bool(_STRONG & set(words)) or reads_time(it.arguments)
    if strong or it.name in ORDERS or any("::cluster" in word for word in words):
        ctx.outside.signal()
    elif it.name in REGISTERS | _OF_THE_BLOCK or it.begins("wmma", "mma"):
        return
    elif it.name in _PLAIN or (it.begins("cp", "async") and len(words) > 2):
        copies = it.name == "cp"
        if copies and ({"bulk", "mbarrier"} & set(words) or not (shared or words[2] in _GROUPS)):
            ctx.outside.signal()
        elif copies == shared and not {"local", "param", "const"} & set(words):
            _touch_outside(ctx, it, number=int(copies))
    elif it.name not in ("atom", "red") or not shared:
        ctx.outside.signal()


def _touch_outside(ctx: Context, it: _Instruction, *, number: int) -> None:
    """Read or write what the address in some brackets leads to, unless that is shared."""
    places = _BRACKETS.findall(it.arguments)
    match = _ADDRESS.search(places[number]) if number < len(places) else None
    operand = None if match is None else _find(it.operands, match["operand"])
    known = None if operand is None else operand.result
    if not isinstance(known, Ref):
        ctx.out.touch(AccessKind.WRITE if it.name == "st" else AccessKind.READ, known)


def _instruction(ctx: Context, text: str, operands: list[_Operand], size: int) -> None:
    """One instruction of the statement, which spans ``size`` tokens."""
    it = _Instruction.of(text, operands, size)
    _outside(ctx, it)
    if it.name in _BARRIERS:
        _barrier(ctx, it)
    elif it.begins("cp", "async") and "bulk" not in it.words and "shared" in it.opcode:
        _copy(ctx, it)
    elif it.name in _ACCESSES and "global" not in it.words:
        _memory(ctx, it)
    elif it.begins("cp", "async") and it.words[2:3] in (["commit_group"], ["wait_group"], ["wait_all"]):
        _complete(ctx, it)
    elif it.begins("cp", "async", "bulk") and it.words[3:4] in (["commit_group"], ["wait_group"]):
        bulk_copies.group(ctx, it.words[3], it.immediate, 0, size)
    elif it.begins("fence", "proxy", "async"):
        bulk_copies.fence(ctx, 0, size)
    elif it.name == "mapa":
        ctx.out.remote(0, size)
    elif it.name not in REGISTERS and not it.begins("wmma", "mma"):
        _beside_the_thread(ctx, it)


def _beside_the_thread(ctx: Context, it: _Instruction) -> None:
    """An instruction of the asynchronous proxy, or one that is not known."""
    if it.name not in _OTHERS:
        ctx.may_synchronise()
    if _bulk_copy(ctx, it):
        return
    if it.begins("wgmma", "commit_group") or it.begins("wgmma", "wait_group"):
        bulk_copies.note_group(ctx, it.words[1], it.immediate, 0, Family.MATRICES)
    if it.begins("wgmma", "mma_async") or it.begins("tcgen05", "mma"):  # matrices are read only
        for ref in it.refs:
            bulk_copies.multiply(ctx, ref, it.name, 0, it.size)
        reached = _touch(ctx, it)
        bulk_copies.read(ctx, reached.union(*(ref.bases for ref in it.refs)), 0, it.size)
        return
    for ref in it.refs:
        ctx.access(ref.lost().place(), AccessKind.UPDATE, 0, it.size)
        ctx.escape(ref, 0, Cause(CauseKind.INSTRUCTION_OPERAND, names=(it.name,)))
    _touch(ctx, it)


def _bulk_copy(ctx: Context, it: _Instruction) -> bool:
    """A bulk or tensor copy between shared and global memory; False: another instruction.

    ``cp.async.bulk.shared::cluster.global.mbarrier::... [to], [from], bytes, [mbarrier]`` and
    ``cp.async.bulk.global.shared::cta.bulk_group [to], [from], bytes``; of a tensor, the map and coordinates stand in
    place of the global address, and no number of bytes (PTX ISA, "cp.async.bulk.tensor")."""
    if it.name != "cp" or "bulk" not in it.words:
        return False
    _require_bulk_alignment(ctx, it)
    brackets = _BRACKETS.findall(it.arguments)
    places = [_address(ctx, each, it.operands) for each in brackets]
    found = [each for each in places if each is not None]
    fills = _fills_shared(it.words)
    if fills is None or len(found) != len(it.refs):
        return False
    shared, length = _nth(places, 0 if fills else 1), _bulk_length(it, brackets, fills=fills)
    if shared is None:
        ctx.limits.note(CauseKind.BULK_ADDRESS, ctx.at.line(0), accesses=1)
        return True
    others = [each for each in found if each is not shared]
    if fills:
        word = mbarriers.place_of(others[0]) if len(others) == 1 else None
        bulk_copies.fill(ctx, shared, length, 0, it.size, word)
    else:
        bulk_copies.drain(ctx, shared, length, 0, it.size)
    for each in others:
        mbarriers.update(ctx, each, 0, it.size)
    return True


def _bulk_length(it: _Instruction, brackets: list[str], *, fills: bool) -> Value | None:
    """How many bytes a bulk copy moves, or the map that tells it of a tensor; None: not known."""
    tensor = "tensor" in it.words
    said = _nth(brackets, 1 if fills else 0) if tensor else _nth(it.arguments.split("]"), 2)
    return None if said is None else _value(said.strip("[, ").split(",")[0], it.operands)


def _nth(items: Sequence[T], number: int) -> T | None:
    """None: the instruction has fewer operands than it should."""
    return items[number] if number < len(items) else None


def _require_bulk_alignment(ctx: Context, it: _Instruction) -> None:
    """The addresses of a bulk copy are aligned, but for that of an ``mbarrier``, the last one."""
    with_barrier = any(word.startswith("mbarrier") for word in it.words)
    align = bulk_copies.TENSOR if "tensor" in it.words else bulk_copies.WIDEST
    for ref in it.refs[: -1 if with_barrier else None]:
        ctx.buffers.require_align(ref.bases, align)


def _fills_shared(words: list[str]) -> bool | None:
    """Does a bulk copy write shared memory? False: it reads it; None: neither."""
    spaces = [word.partition("::")[0] for word in words]
    spaces = [space for space in spaces if space in ("shared", "global")]
    if spaces in (["shared", "global"], ["shared"]):
        return True
    return False if spaces == ["global", "shared"] else None


def _touch(ctx: Context, it: _Instruction) -> frozenset[int]:
    """What the operands of the statement may lead into is read and written: these buffers."""
    found = [ctx.clobber(op.result, 0, it.size) for op in it.operands if op.result is not None]
    return frozenset[int]().union(*found)


def _barrier(ctx: Context, it: _Instruction) -> None:
    if it.name == "mbarrier":
        mbarriers.instruction(ctx, it.words, _address(ctx, it.arguments, it.operands), it.refs, it.size)
        return
    for ref in it.refs:
        ctx.access(ref.lost().place(), AccessKind.UPDATE, 0, it.size)
        ctx.buffers.pin(ref.bases, CauseKind.USED_BY_INSTRUCTION, ctx.at.line(0), it.name, within=ref.within)
    if "cluster" in it.words:
        half = barriers.arrive if "arrive" in it.words else barriers.wait
        half(ctx, BarrierKind.CLUSTER, 0, it.size, "")
    elif "warp" in it.words:
        mask = _value(it.arguments, it.operands) or ctx.out.fresh()
        ctx.out.barrier(BarrierKind.WARP, 0, it.size, f"{ctx.dialect.warp_barrier}();", mask)
    elif _PLAIN_BARRIER.match(it.text):
        ctx.out.barrier(BarrierKind.BLOCK, 0, it.size, f"{ctx.dialect.block_barrier}();")
    else:
        _named_barrier(ctx, it)


def _named_barrier(ctx: Context, it: _Instruction) -> None:
    """``bar.sync number, threads`` and the like, with a number other than 0, some of the threads, or votes."""
    number = count = None
    arrives, votes = "arrive" in it.words, "red" in it.words
    given = [_value(each, it.operands) for each in it.arguments.split(",")]
    if votes:  # an output and a predicate stand around the others
        given = given[1:-1]
    if (arrives or votes or "sync" in it.words) and given:
        number, count = given[0], given[1] if len(given) == 2 else None
    if votes and given == [Const(0)]:
        ctx.out.barrier(BarrierKind.BLOCK, 0, it.size, f"{ctx.dialect.block_barrier}();", votes=True)
    else:
        ctx.out.named_barrier(0, it.size, number, count, arrives=arrives)


def _ask_for_phase(ctx: Context, code: str, instructions: list[str], operands: list[_Operand]) -> None:
    """``mbarrier.try_wait`` and ``mbarrier.test_wait``, alone in a statement: asked once, with an output that is not
    zero where the phase is over, or until it is."""
    asks = [each for each in instructions if _ASKS.match(each)]
    if not asks:
        return
    places = [_address(ctx, each, operands) for each in asks]
    place = places[0] if len(places) == 1 else None
    word = None if place is None else mbarriers.place_of(place)
    question = _ASKS.match(asks[0])
    parity = None if question is None else _value(question["parity"], operands)
    if word is None or question is None or _GUARD.search(asks[0]):
        mbarriers.lose(ctx, [each.result for each in operands if isinstance(each.result, Ref)], 0)
    elif _repeats(code, question["over"]):
        bulk_flights.note(ctx, ProxyEvent.PHASE, 0, word=word, parity=parity or ctx.out.fresh())
    else:
        answer = ctx.out.fresh()
        bulk_flights.note(ctx, ProxyEvent.ASK, 0, word=word, parity=parity or ctx.out.fresh(), answer=answer)
        told = [_IS_TRUE.match(each) for each in instructions if not _ASKS.match(each)]
        if len(told) == 1 and told[0] is not None and told[0][2] == question["over"]:
            operand = _find(operands, told[0][1])
            if operand is not None:
                operand.told = answer


def _repeats(code: str, over: str) -> bool:
    """Is the question asked until its answer is true? ``over``: the predicate that gets it."""
    seen: set[str] = set()
    leaves = False
    for piece in re.split(r"[;\n]", COMMENT.sub(" ", code)):
        piece = re.sub(r"^[\s{}]+", "", piece).strip(" \t{}")
        label = LABEL.match(piece)
        if label is not None:
            seen.add(label[1])
            piece = piece[label.end() :]
        jump = _ANY_JUMP.match(" ".join(piece.split()))
        if jump is None:
            continue
        until = jump["guard"] is not None and jump["over"] == over
        if jump["to"] in seen:
            return (until and jump["guard"] == "@!") or (leaves and jump["guard"] is None)
        leaves = leaves or (until and jump["guard"] == "@")
    return False


def _find(operands: list[_Operand], name: str) -> _Operand | None:
    """The operand of ``%name``: a number, or a name in brackets."""
    if name.isdigit():
        return operands[int(name)] if int(name) < len(operands) else None
    return next((op for op in operands if op.name == name.strip("[]")), None)


def _address(ctx: Context, arguments: str, operands: list[_Operand]) -> Ref | None:
    """Where the first address in brackets points; None: not into a buffer that is known."""
    match = _ADDRESS.search(arguments)
    operand = None if match is None else _find(operands, match["operand"])
    if match is None or operand is None or not isinstance(operand.result, Ref):
        return None
    bytes_of = operand.result.viewed(1, (), same=False, pointer=True)
    return bytes_of.moved(Const(int(match["offset"] or 0)))


def _memory(ctx: Context, it: _Instruction) -> None:
    """Loads, stores and atomics on shared or generic addresses."""
    of_matrices = it.name in ("ldmatrix", "stmatrix")
    ref = _address(ctx, it.arguments, it.operands)
    if ref is None:
        if not _touch(ctx, it) and ("shared" in it.opcode or of_matrices):
            ctx.limits.note(CauseKind.INSTRUCTION_ADDRESS, ctx.at.line(0), it.name, accesses=1)
        return
    writes = AccessKind.WRITE if it.name.startswith("st") else AccessKind.READ
    kind = AccessKind.UPDATE if it.name in ("atom", "red") else writes
    width = 16 if of_matrices else _width(it)
    if width is not None:
        ctx.buffers.require_align(ref.bases, width)
    place = ref.viewed(width, (), same=False, pointer=False)
    stored = _value(it.arguments.rpartition("],")[2], it.operands) if _STORES.match(it.opcode) else None
    # ptxas takes shape and number in either order
    m8n8 = of_matrices and "m8n8" in it.words
    matrices = sum(_MATRICES.get(word, 0) for word in it.words) if m8n8 else 0
    if matrices:
        ctx.access(place, kind, 0, it.size, rows=8 * matrices)
    elif of_matrices:  # other shapes of sm_100 and newer
        ctx.access(place.lost(), kind, 0, it.size)
    else:
        ctx.access(place, kind, 0, it.size, stored=stored)


def _width(it: _Instruction) -> int | None:
    """How many bytes a load, a store or an atomic touches; None: not known."""
    bits = _BITS.search(it.opcode)
    if bits is None:
        return None
    width = int(bits[1] or (32 if "x2" in bits[0] else 16)) // 8
    return width * (4 if "v4" in it.words else 2 if "v2" in it.words else 8 if "v8" in it.words else 1)


def _copy(ctx: Context, it: _Instruction) -> None:
    """``cp.async [shared], [global], bytes``"""
    ref = _address(ctx, it.arguments, it.operands)
    if ref is None:
        if not _touch(ctx, it):
            ctx.limits.note(CauseKind.COPY_ADDRESS, ctx.at.line(0), accesses=1)
        return
    last = it.arguments.split("]")[-1].strip(", ").split(",")[0]
    width = _number(last, it.operands)
    async_copies.issue(ctx, ref, width, 0, it.size)


def _complete(ctx: Context, it: _Instruction) -> None:
    """``cp.async.commit_group``, ``cp.async.wait_group N`` and ``cp.async.wait_all``, if they surely run."""
    what = it.words[2]
    if it.guarded:
        copy_groups.mark(ctx, CopyEvent.UNKNOWN, 0)
    elif what == "commit_group":
        copy_groups.mark(ctx, CopyEvent.COMMIT, 0)
    elif what == "wait_all":
        copy_groups.mark(ctx, CopyEvent.ALL, 0)
    else:
        async_copies.wait_prior(ctx, it.immediate, 0)


def _number(argument: str, operands: list[_Operand]) -> int | None:
    """An immediate operand, or one that is passed in."""
    argument = argument.strip()
    number = int(argument.rstrip("U"), 16) if _HEXADECIMAL.match(argument) else whole_number(argument)
    if number is not None:
        return number
    operand = _find(operands, argument[1:]) if argument.startswith("%") else None
    known = None if operand is None else operand.result
    return known.n if isinstance(known, Const) else None


def _value(argument: str, operands: list[_Operand]) -> Value | None:
    """An operand's value; None: not known."""
    number = _number(argument, operands)
    if number is not None:
        return Const(number)
    operand = _find(operands, argument.strip()[1:]) if argument.strip().startswith("%") else None
    return None if operand is None or isinstance(operand.result, Ref) else operand.result


def _outputs(ctx: Context, instructions: list[str], operands: list[_Operand], scope: LocalScope) -> None:
    """What the outputs hold afterwards: an address where one went in and only registers were worked on."""
    opcodes = {instruction.partition(" ")[0].split(".")[0] for instruction in instructions}
    inputs = _addresses_in(operands)
    carried = inputs if opcodes <= REGISTERS - {"mapa"} else []
    exact = len(inputs) == 1 and opcodes <= {"cvta", "cvt", "mov"}
    registers = _registers(instructions, operands)
    for operand in operands:
        checkpoint()
        if not operand.output:
            continue
        with ctx.at.chunk(operand.at):
            meaning = scope.lookup(operand.expr.text) if isinstance(operand.expr, tree.Name) else None
            result = operand.result
            if not isinstance(result, Ref):
                ctx.outside.write(result)
            if isinstance(result, Ref) and not result.pointer and "+" not in operand.constraint:
                ctx.access(result, AccessKind.WRITE, operand.expr.lo, operand.expr.hi)
            elif carried:
                _carry(ctx, operand, meaning, carried, exact=exact)
            if carried:
                continue
            if _is_register(meaning, operand, ctx):
                value = registers.get(id(operand)) or operand.told or ctx.out.fresh()
                ctx.assign(meaning.index, value if meaning.exact else Op(Operator.CAST, (value,)))
            else:
                effects.forget_bound(ctx, operand.expr, scope)


def _addresses_in(operands: list[_Operand]) -> list[Ref]:
    """The addresses that go into a statement."""
    given = (op.result for op in operands if not op.output or "+" in op.constraint)
    return [result for result in given if isinstance(result, Ref)]


def _carry(
    ctx: Context, operand: _Operand, meaning: Meaning | None, addresses: list[Ref], *, exact: bool
) -> None:
    """An output may hold one of these addresses, or a part of it. ``exact``: it is the address."""
    for ref in addresses:
        if isinstance(meaning, Variable):
            number = ref.as_number()
            ctx.alias(meaning.index, number if exact else number.moved(None))
        else:
            ctx.escape(ref, operand.expr.lo, Cause(CauseKind.STORED_BY_ASSEMBLER))


def _registers(instructions: list[str], operands: list[_Operand]) -> dict[int, Value | None]:
    """What the operands (by their identity) hold at the end; nothing is known behind jumps."""
    if any(instruction.startswith(("bra", "brx", "call")) for instruction in instructions):
        return {}

    def at_start(name: str) -> Value | None:
        operand = _find(operands, name[1:]) if name.startswith("%") else None
        if operand is not None and operand.output and "+" not in operand.constraint:
            return None
        return _value(name, operands)

    found = computed(instructions, at_start)
    named = ((_find(operands, name[1:]), value) for name, value in found.items() if name.startswith("%"))
    return {id(operand): value for operand, value in named if operand is not None}


def _is_register(meaning: Meaning | None, operand: _Operand, ctx: Context) -> TypeGuard[Variable]:
    """Does an output write a variable as a whole, and keep no address of it?"""
    return (
        isinstance(meaning, Variable)
        and not (meaning.array or meaning.constant or "m" in operand.constraint)
        and meaning.index not in ctx.variables.objects
    )
