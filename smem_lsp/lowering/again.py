"""Builds a kernel again, one that has been built before and of which a statement is edited.

Most statements that somebody types compute in registers what no analysis can see (``visible``). As long as such a
statement is typed, the kernel stays the same but for its places, and only that statement is lowered: in the state that
lowering had in front of it; where it stands in a function that the kernel calls, once for each call. Whether nothing
else can have changed is looked at, not presumed: the words around the statement are the same and are read alike, it
adds nothing but new variables that nothing else names, it names nothing by which shared memory is reached, and what is
asked of the words of a function that is called has the same answers. Else all of the kernel is lowered.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from smem_lsp.ir.author_facts import NOTHING_STATED, Annotations
from smem_lsp.ir.causes import Cause, Opens
from smem_lsp.ir.nodes import BarrierSite, Kernel, LaunchSite, Node
from smem_lsp.ir.places import At, Numbering, SourceMap, Translation
from smem_lsp.lowering.body import namespace_arrays, statements
from smem_lsp.lowering.body.inlining import MAX_POINTS
from smem_lsp.lowering.body.visitor import Visitor
from smem_lsp.lowering.callees.outward import words_alike
from smem_lsp.lowering.edited import Edit, StatementRange, edits_between
from smem_lsp.lowering.kernel import (
    OF_FILE,
    Built,
    build,
    conditional_regions,
    local_types,
    names_in,
    shared_elsewhere,
    source_parts,
)
from smem_lsp.lowering.numbered import BESIDE
from smem_lsp.lowering.state.context import Context, Surroundings
from smem_lsp.lowering.state.places import Ref
from smem_lsp.lowering.state.snapshot import AddedByStatements, Snapshot, Watched
from smem_lsp.lowering.visible import RelevanceSlice
from smem_lsp.semantics.scope import Scope
from smem_lsp.source import Span, checkpoint
from smem_lsp.source.queries import answers_alike
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex
from smem_lsp.syntax.lexer import TokenLayout, Tokens, packed
from smem_lsp.syntax.parse import Function, TranslationUnit
from smem_lsp.unit.instances import InstanceArguments
from smem_lsp.unit.ptxas_rounding import header_names
from smem_lsp.unit.unit_facts import Launched, UnitFacts, bindings_of, is_unnamed, parts_of

_DIRECTIVE = regex(r"\n[ \t]*#")


@dataclass(frozen=True)
class _Resumable:
    """What it takes to lower the watched statements alone. ``kernel``: with them; ``edited``: the number of the
    function, among the parts of the kernel, that they stand in; ``visits``: each time that they were lowered; ``seen``:
    of the kernel with them; ``pointers``: where these lead in the end; ``constants``: of the kernel, and of its file;
    ``limits``: those that lowering had noted; ``names``: declared in the
    body, with offsets; ``buffers``: words that shared memory, or what becomes of it, is named with; ``asked``: names
    that all of the edited function was looked through for."""

    kernel: Kernel
    edited: int
    watched: StatementRange
    visits: tuple[tuple[Snapshot, AddedByStatements], ...]
    seen: RelevanceSlice
    pointers: Mapping[int, Ref]
    constants: tuple[Scope, Scope]
    limits: Sequence[Cause]
    names: Mapping[str, int]
    buffers: frozenset[str]
    asked: frozenset[str]


@dataclass(frozen=True)
class BuiltVersion:
    """A kernel as it was built. ``parts``: itself and the functions that it may contain; ``said``: what these say;
    ``rest``: what it depends on beside them."""

    parts: tuple[Function, ...]
    said: Sequence[Hashable]
    rest: Hashable
    resumable: _Resumable | None

    @property
    def weight(self) -> int:
        """How much it holds, in nodes of trees."""
        known = self.resumable
        return 1 if known is None else len(known.seen.kernel.body.below) * max(1, len(known.visits))


def build_again(
    before: BuiltVersion | None,
    said: Sequence[Hashable],
    rest: Hashable,
    unit: TranslationUnit,
    around: UnitFacts,
    function: Function,
    binding: InstanceArguments | None = None,
    stated: Annotations = NOTHING_STATED,
    launched: Launched | None = None,
    launches: tuple[LaunchSite, ...] | None = None,
) -> tuple[Kernel, BuiltVersion]:
    """What ``build_kernel`` gives, and the version to hand in the next time. ``before``: an earlier version of the same
    kernel; ``said``: what the kernel says and what each function says that it may contain; ``rest``: all that a kernel
    depends on beside these, where equal values mean equal kernels for equal bodies; ``launches``: of the kernel; None:
    those in this unit."""
    if launches is None:
        launches = around.launches_of(function, binding)
    top = around.constants
    rest = rest, unit.preprocessed.header_key, top.declarations.mark, top.state.packed, stated, launched
    parts = parts_of(function, around)
    edited = edits = None
    if before is not None and function.is_kernel and before.rest == rest:
        edited = _edited(before, parts, said)
    if before is not None and edited is not None:
        edits = edits_between(before.parts[edited], parts[edited])
    if before is not None and edits is not None:
        known = before.resumable
        edit = None if known is None or known.edited != edited else edits.of(known.watched.statements)
        wider = (
            None if edit is None or known is None else edit.within(known.watched.first, known.watched.count)
        )
        if wider is not None and known is not None:
            kernel = _resumed(before, known, wider, unit, around, parts, launches, stated)
            if kernel is not None:
                return kernel, before
    edit = None if edits is None else edits.innermost
    run = None if edit is None else edit.new
    watched = None
    if run is not None and edited is not None and run.count:
        watched = Watched(parts[edited], run.statements, run.first, run.count)
    built = build(unit, around, function, binding, stated, launched, watched, launches)
    resumable = None
    if run is not None and edited is not None:
        resumable = _resumable(built, run, edited, parts)
    return built.kernel, BuiltVersion(parts, said, rest, resumable)


def _edited(before: BuiltVersion, parts: tuple[Function, ...], said: Sequence[Hashable]) -> int | None:
    """The one function, by its number among the parts of a kernel, that has changed; None: there are several."""
    old = before.said
    if len(before.parts) != len(parts) or len(old) != len(said):
        return None
    changed = [at for at, each in enumerate(parts) if each.definition is not before.parts[at].definition]
    if len(changed) != 1 or any(
        one != other for at, (one, other) in enumerate(zip(old, said)) if at not in changed
    ):
        return None
    return changed[0]


def _resumable(
    built: Built, run: StatementRange, edited: int, parts: tuple[Function, ...]
) -> _Resumable | None:
    """None: what follows may depend on the watched statements in more than places."""
    ctx, seen = built.ctx, built.seen
    if seen is None or built.kernel.drained is not None or ctx.copies.waits or ctx.copies.into:
        return None
    if 2 * ctx.out.point > MAX_POINTS or (edited and not _are_only_parts(ctx, parts)):
        return None
    visits = _visits(ctx)
    if visits is None or (not edited and len(visits) != 1):
        return None
    if not visits and _is_there(ctx, parts[edited]):
        return None
    if not all(seen.has_hidden(added.nodes) for _, added in visits):
        return None
    numbers = Numbering.in_map(built.kernel.places)
    return _Resumable(
        built.kernel,
        edited,
        run,
        visits,
        seen,
        ctx.points_to.aliases,
        (ctx.around.constants, ctx.around.file_constants),
        tuple(map(numbers.numbered, ctx.limits.found)),
        ctx.local_names,
        _bound(
            ctx.at.kernel.body.tokens,
            {*(each.name for each in ctx.buffers.declared), *(each.text for each in ctx.buffers.names)},
        ),
        frozenset(name for number, name in ctx.asked if number == parts[edited].number),
    )


def _visits(ctx: Context) -> tuple[tuple[Snapshot, AddedByStatements], ...] | None:
    """Each time that the watched statements were lowered; None where they did more than they may."""
    if ctx.watched is None or ctx.watched.visits is None:
        return None
    found = ctx.watched.visits
    visits = tuple((each.before, each.added) for each in found if each.added is not None)
    return visits if len(visits) == len(found) else None


def _is_there(ctx: Context, function: Function) -> bool:
    """Is anything of a function in the kernel, or may the shared arrays be that it declares?"""
    done = any(each.number == function.number for each in ctx.inlining.done.values())
    return done or ctx.dialect.shared in function.definition.words


def _are_only_parts(ctx: Context, parts: tuple[Function, ...]) -> bool:
    """Does all that is in a kernel stand in functions of its own file, which tell where it is when they move?"""
    unit, numbers = ctx.at.unit, {each.number for each in parts}
    done = {
        each.number for each in ctx.inlining.done.values() if each.number >= 0
    }  # others stand where they are called
    own = all(number >= 0 and unit.file_of(number) is unit.files[0] for number in numbers)
    return own and done <= numbers and not unit.shared_outside


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
    before: BuiltVersion,
    known: _Resumable,
    edit: Edit,
    unit: TranslationUnit,
    around: UnitFacts,
    parts: tuple[Function, ...],
    launches: tuple[LaunchSite, ...],
    stated: Annotations,
) -> Kernel | None:
    """The kernel, if the edited statements change nothing but places; None: that is not sure."""
    function, old, new = parts[0], before.parts[known.edited], parts[known.edited]
    if len(edit.old.own) != len(edit.new.own) or (new is function and new.start != old.start):
        return None
    words = _EditWords(old, new, edit)
    if not words.are_plain or not words.are_apart(_telling(known, unit, around)):
        return None
    if any(True for _ in unit.file_of(new.number).undecided_in(new.span)):
        return None
    if new is not function and (
        is_unnamed(new) or not words_alike(unit, around.helpers, around.dialect, old, new, words.inside)
    ):
        return None
    if not answers_alike(old.definition.store, new):
        return None
    way = _translation(before, known, edit, unit, parts)
    if way is None:
        return None
    places = known.kernel.places.translated(way)
    regions = conditional_regions(unit, function.span)
    if regions != tuple(At.of(places.span(each)) for each in known.kernel.conditional):
        return None
    surroundings = Surroundings(
        unit,
        function,
        *known.constants,
        around.helpers,
        Visitor(),
        regions,
        stated.uniform,
        around.dialect,
    )
    visits = (
        (gone, _added(before, known, snapshot, edit, surroundings, parts)) for snapshot, gone in known.visits
    )
    found = [added for gone, added in visits if added is not None and words.mean_alike(gone, added)]
    nodes = [node for added in found for node in added.nodes]
    variables = frozenset[int]().union(*(added.variables for added in found))
    if len(found) != len(known.visits) or not known.seen.would_hide(nodes, variables):
        return None
    siblings = len(bindings_of(around, function)) - 1
    elsewhere = shared_elsewhere(unit, around.dialect)
    beside = _beside(known, found, way, function, replace(places, parts=source_parts(parts, unit.source)))
    if beside is None:
        return None
    places, limits = beside
    return replace(
        known.kernel,
        limits=limits,
        identifiers=frozenset((*names_in(function.body.tokens), *names_in(function.head))),
        launches=launches,
        siblings=siblings,
        shared_elsewhere=elsewhere and any(each.opens & Opens.CALLS for each in limits),
        places=places,
    )


def _telling(known: _Resumable, unit: TranslationUnit, around: UnitFacts) -> Iterator[frozenset[str]]:
    """Names by which shared memory may be reached, and those that all of the function tells something of."""
    yield known.asked
    yield around.helper_names
    yield unit.shared_names
    yield known.buffers
    yield header_names(unit, around.constants) or frozenset()


@dataclass(frozen=True, slots=True)
class _EditWords:
    """The words of the edited statements in both versions, and those ``around`` them."""

    old: Function
    new: Function
    edit: Edit

    def _range(self, function: Function, run: StatementRange) -> range:
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

    def mean_alike(self, old: AddedByStatements, new: AddedByStatements) -> bool:
        """Do they offer the same places, and declare no name that stands around them? What a body ends with counts."""
        if not _same_places(old.nodes, new.nodes) or bool(old.nodes) != bool(new.nodes):
            return False
        declared = (*old.names, *old.declared, *new.names, *new.declared)
        return self.around.isdisjoint(declared) and not self._are_partly(old, new)

    def _are_partly(self, old: AddedByStatements, new: AddedByStatements) -> bool:
        """Was a part of them not understood, or read in one of two ways, which is not said in words?"""
        for (_, where), added in zip(self.sides, (old, new)):
            _, told = added.limits
            if not any(each.opens & Opens.TEXT for each in told) and any(lo in where for lo in added.unread):
                return True
        return False

    def are_apart(self, names: Iterable[frozenset[str]]) -> bool:
        """Do the statements name none of these?"""
        inside = self.inside
        return all(inside.isdisjoint(each) for each in names)


def _translation(
    before: BuiltVersion, known: _Resumable, edit: Edit, unit: TranslationUnit, parts: tuple[Function, ...]
) -> Translation | None:
    """From the places of the earlier version to those of this one; None where more of the text has changed than the
    edited statements, or places do not follow each other as they did."""
    edited = before.parts[known.edited], parts[known.edited]
    layouts = _around(*edited, edit)
    if layouts is None:
        return None
    old, now = list(known.kernel.places.parts), list(source_parts(parts, unit.source))
    for side, layout in zip((old, now), layouts):
        side[known.edited] = replace(side[known.edited], layout=layout)
    words = [
        [_word_at(function, each.lo) for each in run.own]
        for function, run in zip(edited, (edit.old, edit.new))
    ]
    way = Translation.of(old, now, dict(zip(*words)))
    spans = (Span(way.offset(each.span.start), way.offset(each.span.end, end=True)) for each in old)
    alike = all(span == new.span for span, new in zip(spans, now))
    return way if alike and known.kernel.places.keeps_order(way) else None


def _around(old: Function, new: Function, edit: Edit) -> tuple[TokenLayout, TokenLayout] | None:
    """How what is around the edited statements has moved in the text of the function, and what stands in their lines:
    layouts of both versions in which nothing else is a word."""
    texts = old.definition.text, new.definition.text
    sides = (old, edit.old.own), (new, edit.new.own)
    starts = [_place_of(function, own[0].lo) for function, own in sides]
    ends = [_end_of(function, own[-1].hi - 1) for function, own in sides]
    head, other = (text[:at].rstrip() for text, at in zip(texts, starts))
    tail, last = (text[at:].lstrip() for text, at in zip(texts, ends))
    if head != other or tail != last:
        return None
    rest = (len(texts[0]) - len(tail), len(texts[1]) - len(tail))
    words = [(0, 0), rest, *_first_words(old, new, edit)]
    lines = [
        (texts[0].count("\n", 0, at), texts[1].count("\n", 0, to)) for at, to in (*words, (len(head),) * 2)
    ]
    offsets, counts = dict(words), dict(lines)
    if any(offsets[at] != to for at, to in words) or any(counts[at] != to for at, to in lines):
        return None
    before, after = (
        TokenLayout("", packed(sorted(one)), packed(sorted(other)))
        for one, other in ((offsets, counts), (offsets.values(), counts.values()))
    )
    return before, after


def _first_words(old: Function, new: Function, edit: Edit) -> Iterator[tuple[int, int]]:
    """Where the edited statements begin in the text of the function, and where they did: a barrier may be put in front
    of them."""
    for one, other in zip(edit.old.own, edit.new.own):
        yield _place_of(old, one.lo), _place_of(new, other.lo)


def _word_at(function: Function, at: int) -> Span:
    start = function.body.tokens.offsets[at]
    return Span(start, start + len(function.body.tokens.texts[at]))


def _place_of(function: Function, at: int) -> int:
    """Where a token of the body begins, in the text of the function."""
    return function.body.tokens.offsets[at] - function.start


def _end_of(function: Function, at: int) -> int:
    return _place_of(function, at) + len(function.body.tokens.texts[at])


def _added(
    before: BuiltVersion,
    known: _Resumable,
    snapshot: Snapshot,
    edit: Edit,
    surroundings: Surroundings,
    parts: tuple[Function, ...],
) -> AddedByStatements | None:
    """What the edited statements add to lowering; None: more than can be told apart, or they ask where pointers lead
    that lead elsewhere in the end."""
    now = {old.number: new for old, new in zip(before.parts, parts)}
    stack = [now.get(each.number) for each in snapshot.visit.stack]
    if not all(stack) or stack[-1] is not parts[known.edited]:
        return None
    ctx, scope = snapshot.resumed(
        surroundings, tuple(each for each in stack if each is not None), namespace_arrays.around
    )
    block = edit.new.around
    function = parts[known.edited]
    braces = statements.braces_of(function) if block is None else ctx.at.site(block.lo, block.hi)
    statements.in_iteration(ctx, edit.new.own, scope, braces)
    added = snapshot.added(ctx, ctx.out.items, scope)
    if added is None or any(known.pointers.get(v) != ref for v, ref in added.consulted.items()):
        return None
    return added


def _same_places(old: Sequence[Node], new: Sequence[Node]) -> bool:
    """Do they offer as many places for a barrier, in the same order?"""
    one, other = ([each for each in nodes if isinstance(each, BarrierSite)] for nodes in (old, new))
    return [(p.statement is None, p.at_end) for p in one] == [(p.statement is None, p.at_end) for p in other]


def _beside(
    known: _Resumable,
    found: Sequence[AddedByStatements],
    way: Translation,
    function: Function,
    places: SourceMap,
) -> tuple[SourceMap, tuple[Cause, ...]] | None:
    """``places`` of the kernel in this version with what no analysis looks at: lines that only causes name, and names
    that it declares; and all its causes. None: an analysis would look at what has changed of these."""
    before, now = Numbering.in_map(known.kernel.places), Numbering.in_map(places)
    noted = list(known.limits)
    names = {name: at if at < 0 else way.offset(at) for name, at in known.names.items()}
    declared: dict[str, int] = {}
    for (_, gone), added in reversed([*zip(known.visits, found)]):
        first, old = gone.limits
        come = [now.numbered(each) for each in added.limits[1]]
        kept = [before.numbered(each) for each in old if not _may_change(each)]
        if kept != [each for each in come if not _may_change(each)]:
            return None
        noted[first : first + len(old)] = come
        declared |= added.names
        for name in gone.names:
            del names[name]
    own, limits = frozenset(known.limits), known.kernel.limits
    of_file = [each for each in limits if each.kind in OF_FILE]
    rest = (each for each in limits if each.kind not in OF_FILE and each not in own)
    names = {**dict(local_types(function)), **names, **declared}
    places = replace(places, lines=tuple(now.lines), names=names)
    return places, tuple(dict.fromkeys((*of_file, *noted, *rest)))


def _may_change(cause: Cause) -> bool:
    """Does it say nothing that an analysis looks at?"""
    return bool(cause.opens & BESIDE)
