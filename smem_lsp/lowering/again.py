"""Builds a kernel again, one that has been built before and of which a statement is edited.

Most statements that somebody types compute in registers what no analysis can see (``visible``). As long as such a
statement is typed, the kernel stays the same but for its places, and only that statement is lowered: in the state that
lowering had in front of it. Whether nothing else can have changed is looked at, not presumed: the words around the
statement are the same and are read alike, it adds nothing but new variables that nothing else names, and it names
nothing by which shared memory is reached. Else all of the kernel is lowered.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from smem_lsp.ir.author_facts import NOTHING_STATED, Stated
from smem_lsp.ir.nodes import Kernel, LaunchSite, Node, Place
from smem_lsp.ir.shift import Move, Moves, Places, Replaced, moved_words, shift_kernel
from smem_lsp.lowering.body import namespace_arrays, statements
from smem_lsp.lowering.body.visitor import Visitor
from smem_lsp.lowering.edited import Edit, Run, edit_between
from smem_lsp.lowering.kernel import Built, build, conditional_regions, local_types, names_in, reads_nothing
from smem_lsp.lowering.state.context import Surroundings
from smem_lsp.lowering.state.places import Ref
from smem_lsp.lowering.state.snapshot import Added, Snapshot, Watched
from smem_lsp.lowering.visible import Seen
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import Span, checkpoint
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import Tokens
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.instances import Binding
from smem_lsp.unit.ptxas_rounding import header_names
from smem_lsp.unit.unit_facts import Launched, UnitFacts, bindings_of, parts_of

_DIRECTIVE = regex(r"\n[ \t]*#")


@dataclass(frozen=True)
class _Resumable:
    """What it takes to lower the watched statements alone. ``kernel``: with them; ``parts``: the functions that it may
    contain; ``seen``: of the kernel with them; ``pointers``: where these lead in the end; ``constants``: of the
    function, and of its file; ``words``: the lists of ``LimitsFound`` that they may add to; ``names``: declared in the
    body, with offsets; ``buffers``: words that shared memory, or what becomes of it, is named with."""

    kernel: Kernel
    parts: tuple[Function, ...]
    watched: Run
    before: Snapshot
    added: Added
    seen: Seen
    pointers: Mapping[int, Ref]
    constants: tuple[Scope, Scope]
    words: Mapping[str, Sequence[str]]
    names: Mapping[str, int]
    buffers: frozenset[str]


@dataclass(frozen=True)
class Version:
    """A kernel as it was built. ``rest``: what it depends on beside its own body."""

    function: Function
    rest: Hashable
    resumable: _Resumable | None

    @property
    def weight(self) -> int:
        """How much it holds, in nodes of trees."""
        return 1 if self.resumable is None else len(self.resumable.seen.kernel.body.below)


def build_again(
    before: Version | None,
    rest: Hashable,
    unit: TranslationUnit,
    around: UnitFacts,
    function: Function,
    binding: Binding | None = None,
    stated: Stated = NOTHING_STATED,
    launched: Launched | None = None,
    launches: tuple[LaunchSite, ...] | None = None,
) -> tuple[Kernel, Version]:
    """What ``build_kernel`` gives, and the version to hand in the next time. ``before``: an earlier version of the same
    kernel; ``rest``: all that a kernel depends on beside its own body, where equal values mean equal kernels for equal
    bodies; ``launches``: of the kernel; None: those in this unit."""
    if launches is None:
        launches = around.launches_of(function, binding)
    top = around.constants
    rest = rest, unit.preprocessed.header_key, top.declarations.mark, top.state.packed, stated, launched
    edit = None
    if before is not None and function.is_kernel and before.rest == rest:
        known = before.resumable
        stop = None if known is None else known.watched.statements
        edit = edit_between(before.function, function, stop)
        if edit is not None and known is not None and known.watched.statements is edit.old.statements:
            wider = edit.within(known.watched.first, known.watched.count)
            kernel = (
                None
                if wider is None
                else _resumed(before, known, wider, unit, around, function, launches, stated)
            )
            if kernel is not None:
                return kernel, before
        if stop is not None:  # it may be a smaller one
            edit = edit_between(before.function, function)
    run = None if edit is None else edit.new
    watched = None if run is None or not run.count else Watched(run.statements, run.first, run.count)
    built = build(unit, around, function, binding, stated, launched, watched, launches)
    resumable = None if run is None else _resumable(built, run, parts_of(function, around))
    return built.kernel, Version(function, rest, resumable)


def _resumable(built: Built, run: Run, parts: tuple[Function, ...]) -> _Resumable | None:
    """None: what follows may depend on the watched statements in more than places."""
    ctx, seen = built.ctx, built.seen
    watched = ctx.watched
    if watched is None or watched.before is None or watched.added is None or watched.visits != 1:
        return None
    if seen is None or built.kernel.drained is not None or ctx.copies.waits or ctx.copies.into:
        return None
    if ctx.limits.passed_over:  # what other functions declare counts then
        return None
    added, limits = watched.added, ctx.limits
    if not seen.has_hidden(added.nodes):
        return None
    return _Resumable(
        built.kernel,
        parts,
        run,
        watched.before,
        added,
        seen,
        ctx.points_to.aliases,
        (ctx.around.constants, ctx.around.file_constants),
        {name: tuple(getattr(limits, name)) for name in added.words},
        ctx.local_names,
        _bound(
            ctx.at.kernel.body.tokens,
            {*(each.name for each in ctx.buffers.declared), *(each.text for each in ctx.buffers.names)},
        ),
    )


_ENDS = frozenset(("SEMI", "LC", "RC"))


def _bound(tokens: Tokens, names: set[str]) -> frozenset[str]:
    """``names``, and all that is ever assigned something with one of them in it: the words that tell what becomes of
    shared memory (``ptxas_layout``)."""
    found = set(names)
    grown = True
    while grown:
        size, targets = len(found), set[str]()
        for at, (kind, text) in enumerate(zip(tokens.kinds, tokens.texts)):
            checkpoint()
            if kind in _ENDS:
                targets.clear()
            elif kind == "EQ" and at and tokens.kinds[at - 1] == "NAME":
                targets.add(tokens.texts[at - 1])
            elif text in found:
                found |= targets
        grown = len(found) > size
    return frozenset(found)


def _resumed(
    before: Version,
    known: _Resumable,
    edit: Edit,
    unit: TranslationUnit,
    around: UnitFacts,
    function: Function,
    launches: tuple[LaunchSite, ...],
    stated: Stated,
) -> Kernel | None:
    """The kernel, if the edited statements change nothing but places; None: that is not sure."""
    if len(edit.old.own) != len(edit.new.own) or function.start != before.function.start:
        return None
    words = _Words(before.function, function, edit)
    if not words.are_plain or not words.are_apart(_telling(known, unit, around)):
        return None
    if any(True for _ in unit.file_of(function.number).undecided_in(function.span)):
        return None
    moves = _moves(before.function, known, edit, function, unit, around)
    if moves is None:
        return None
    regions = conditional_regions(unit, function.span)
    if regions != tuple(map(moves.span, known.kernel.conditional)):
        return None
    added = _added(known, edit, unit, around, function, stated, regions)
    if added is None or not _same_places(known.added.nodes, added.nodes):
        return None
    if not words.around.isdisjoint((*known.added.names, *added.names)):
        return None
    if words.are_partly(known.added, added) or not known.seen.would_hide(added.nodes, added.variables):
        return None
    siblings = len(bindings_of(around, function)) - 1
    return _placed(known, added, moves, function, launches, regions, siblings)


def _telling(known: _Resumable, unit: TranslationUnit, around: UnitFacts) -> Iterator[frozenset[str]]:
    """Names by which shared memory may be reached."""
    yield around.helper_names
    yield unit.shared_names
    yield known.buffers
    yield header_names(unit, around.constants) or frozenset()


@dataclass(frozen=True, slots=True)
class _Words:
    """The words of the edited statements in both versions, and those ``around`` them."""

    old: Function
    new: Function
    edit: Edit

    def _range(self, function: Function, run: Run) -> range:
        return range(run.own[0].lo, run.own[-1].hi)

    @property
    def sides(self) -> Iterator[tuple[Function, range]]:
        yield self.old, self._range(self.old, self.edit.old)
        yield self.new, self._range(self.new, self.edit.new)

    @property
    def are_plain(self) -> bool:
        """Is no macro and no directive among them?"""
        for function, where in self.sides:
            offsets = function.body.tokens.offsets[where.start : where.stop]
            if min(offsets) < 0:
                return False
            start = function.start
            if _DIRECTIVE.search(function.definition.text, offsets[0] - start, offsets[-1] - start):
                return False
        return True

    @property
    def inside(self) -> frozenset[str]:
        return frozenset(function.body.tokens.texts[at] for function, where in self.sides for at in where)

    @property
    def around(self) -> frozenset[str]:
        texts = self.new.body.tokens.texts
        where = self._range(self.new, self.edit.new)
        return frozenset((*texts[: where.start], *texts[where.stop :], *self.new.head.texts))

    def are_partly(self, old: Added, new: Added) -> bool:
        """Was a part of them not understood, or read in one of two ways, which is not said in words?"""
        for (function, where), added in zip(self.sides, (old, new)):
            _, told = added.words["partly"]
            body = function.body
            if not told and any(lo in where for lo, _ in (*body.failed, *body.guessed)):
                return True
        return False

    def are_apart(self, names: Iterable[frozenset[str]]) -> bool:
        """Do the statements name none of these?"""
        inside = self.inside
        return all(inside.isdisjoint(each) for each in names)


def _moves(
    before: Function,
    known: _Resumable,
    edit: Edit,
    function: Function,
    unit: TranslationUnit,
    around: UnitFacts,
) -> Moves | None:
    """From the places of the earlier version to those of this one; None where more of the text has changed than the
    edited statements."""
    parts = parts_of(function, around)
    if [each.definition for each in parts[1:]] != [each.definition for each in known.parts[1:]]:
        return None
    own, *others = known.kernel.parts
    within = _within(before, function, edit)
    if within is None or unit.source.line_number(function.span.start) != own.first_line:
        return None
    found = [Move(own.span, own.first_line, own.last_line, 0, 0, within)]
    for old, new in zip(others, parts[1:]):
        start = new.span.start
        lines = unit.source.line_number(start) - old.first_line
        found.append(Move(old.span, old.first_line, old.last_line, start - old.span.start, lines))
    return Moves(tuple(found))


def _within(old: Function, new: Function, edit: Edit) -> Replaced | None:
    """How what is around the edited statements has moved in the text of the function, and each of them."""
    texts = old.definition.text, new.definition.text
    sides = (old, edit.old.own), (new, edit.new.own)
    starts = [_place_of(function, own[0].lo) for function, own in sides]
    ends = [_end_of(function, own[-1].hi - 1) for function, own in sides]
    head, other = (text[:at].rstrip() for text, at in zip(texts, starts))
    tail, last = (text[at:].lstrip() for text, at in zip(texts, ends))
    if head != other or tail != last:
        return None
    pairs = [(0, 0), (len(head), len(head)), (len(texts[0]) - len(tail), len(texts[1]) - len(tail))]
    for one, another in zip(edit.old.own, edit.new.own):
        for place in (_place_of, _end_of):  # of the first word, where a barrier may be put in front
            pairs.append((place(old, one.lo), place(new, another.lo)))
    lines = [(texts[0].count("\n", 0, at), texts[1].count("\n", 0, to)) for at, to in pairs]
    offsets, counts = dict(pairs[2:]) | dict(pairs[:1]), dict(lines)
    if any(offsets[at] != to for at, to in pairs[2:]) or any(counts[at] != to for at, to in lines):
        return None
    return Replaced(
        Places(tuple(sorted(offsets)), tuple(sorted(counts))),
        Places(tuple(sorted(offsets.values())), tuple(sorted(counts.values()))),
    )


def _place_of(function: Function, at: int) -> int:
    """Where a token of the body begins, in the text of the function."""
    return function.body.tokens.offsets[at] - function.start


def _end_of(function: Function, at: int) -> int:
    return _place_of(function, at) + len(function.body.tokens.texts[at])


def _added(
    known: _Resumable,
    edit: Edit,
    unit: TranslationUnit,
    around: UnitFacts,
    function: Function,
    stated: Stated,
    conditional: tuple[Span, ...],
) -> Added | None:
    """What the edited statements add to lowering; None: more than can be told apart, or they ask where pointers lead
    that lead elsewhere in the end."""
    constants, of_file = known.constants
    surroundings = Surroundings(
        unit,
        function,
        constants,
        of_file,
        around.helpers,
        Visitor(),
        conditional,
        stated.uniform,
        around.dialect,
    )
    ctx, scope = known.before.resumed(surroundings)
    outermost = list(scope.outwards())[-1]
    outermost.around = namespace_arrays.around(ctx, constants)
    block = edit.new.around
    braces = statements.braces_of(function) if block is None else function.body.site(block.lo, block.hi)
    statements.in_turn(ctx, edit.new.own, scope, braces)
    added = known.before.added(ctx, ctx.out.items, scope)
    if added is None or any(known.pointers.get(v) != ref for v, ref in added.consulted.items()):
        return None
    return added


def _same_places(old: Sequence[Node], new: Sequence[Node]) -> bool:
    """Do they offer as many places for a barrier, in the same order?"""
    one, other = ([each for each in nodes if isinstance(each, Place)] for nodes in (old, new))
    return [(p.statement is None, p.at_end) for p in one] == [(p.statement is None, p.at_end) for p in other]


def _placed(
    known: _Resumable,
    added: Added,
    moves: Moves,
    function: Function,
    launches: tuple[LaunchSite, ...],
    conditional: tuple[Span, ...],
    siblings: int,
) -> Kernel | None:
    """The kernel at its places in this version."""
    words: dict[str, list[str]] = {}
    for name, (first, gone) in known.added.words.items():
        old, (_, come) = known.words[name], added.words[name]
        words[name] = [*old[:first], *come, *old[first + len(gone) :]]
    (_, gone), (_, come) = known.added.words["partly"], added.words["partly"]
    if [moved_words(each, moves) for each in gone] != list(come):
        return None
    names = {
        name: moves.span(Span(at, at)).start
        for name, at in known.names.items()
        if name not in known.added.names
    }
    return replace(
        shift_kernel(known.kernel, moves),
        assumed=tuple(dict.fromkeys((*words["assumed"], *map(reads_nothing, words["unseen"])))),
        unseen=tuple(dict.fromkeys(words["unseen"])),
        local_names={**dict(local_types(function)), **names, **added.names},
        identifiers=frozenset((*names_in(function.body.tokens), *names_in(function.head))),
        conditional=conditional,
        launches=launches,
        siblings=siblings,
    )
