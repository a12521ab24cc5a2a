"""``cudaLaunchKernelEx(&config, kernel, ...)``: the values that the calling function stores in ``config``.

A member is known if it is assigned once, outside all branches and loops, and its object is never passed to another
function.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from smem_lsp.ir.nodes import Dims
from smem_lsp.source import checkpoint
from smem_lsp.syntax import tree
from smem_lsp.syntax.parse import Body
from smem_lsp.targets.dialects import CUDA

_AXES = {"x": 0, "y": 1, "z": 2}

Path = tuple[str, ...]  # of a member: ("gridDim",), ("0", "val", "clusterDim", "x")


@dataclass(slots=True)
class _Object:
    """A ``cudaLaunchConfig_t`` or an array of ``cudaLaunchAttribute``. ``members``: None where a value is unknown."""

    zero: bool  # whatever is not assigned is zero
    members: dict[Path, tree.Expr | None] = field(default_factory=dict)
    at: dict[Path, int] = field(default_factory=dict)  # base of the token indices of each


@dataclass(frozen=True, slots=True)
class Configured:
    """Expressions of one launch; None where unknown. ``cluster``: one for each of the three axes."""

    kernel: tree.Name
    grid: tree.Expr | None
    block: tree.Expr | None
    dynamic: tree.Expr | None
    dynamic_at: int  # base of its token indices
    no_dynamic: bool  # none is passed
    cluster: tuple[tree.Expr, ...] | None


class LaunchConfigs:
    """The launch configurations of one function; the caller reports its statements in order."""

    __slots__ = ("_objects",)

    def __init__(self) -> None:
        self._objects: dict[str, _Object] = {}

    def declare(self, declaration: tree.Declaration, body: Body) -> None:
        if CUDA.config_types.isdisjoint(declaration.words):
            return
        for declarator in declaration.declarators:
            checkpoint()
            if declarator.name and not declarator.pointers and _stays_here(body, declarator.name):
                made = declarator.initializer
                zero = isinstance(made, tree.Braces) and all(_is_zero(item) for item in made.items)
                self._objects[declarator.name] = _Object(zero)

    def assign(self, expr: tree.Expr, at: int, *, sure: bool) -> None:
        """``sure``: the statement runs whenever the function does; ``at``: base of the token indices."""
        if not isinstance(expr, tree.Assign):
            return
        name, path = _path(expr.target)
        known = self._objects.get(name)
        if known is None:
            return
        again = [
            other for other in known.members if other[: len(path)] == path or path[: len(other)] == other
        ]
        known.members[path] = expr.value if sure and path and not again and expr.operator == "=" else None
        known.members.update(dict.fromkeys(again))
        known.at[path] = at

    def launch(self, expr: tree.Expr) -> Configured | None:
        """The launch of a call; None if it is no launch."""
        if (
            not isinstance(expr, tree.Call)
            or not isinstance(expr.callee, tree.Name)
            or len(expr.arguments) < 2
        ):
            return None
        config, kernel = expr.arguments[:2]
        if expr.callee.text.split("::")[-1] != CUDA.configured_launch or not isinstance(kernel, tree.Name):
            return None
        known = None
        if (
            isinstance(config, tree.Unary)
            and config.operator == "&"
            and isinstance(config.operand, tree.Name)
        ):
            known = self._objects.get(config.operand.text)
        if known is None:
            return Configured(kernel, None, None, None, 0, False, None)
        members = known.members
        passed = ("dynamicSmemBytes",) in members
        return Configured(
            kernel,
            members.get(("gridDim",)),
            members.get(("blockDim",)),
            members.get(("dynamicSmemBytes",)),
            known.at.get(("dynamicSmemBytes",), 0),
            known.zero and not passed,
            self._cluster(members.get(("attrs",))),
        )

    def _cluster(self, attributes: tree.Expr | None) -> tuple[tree.Expr, ...] | None:
        known = self._objects.get(attributes.text) if isinstance(attributes, tree.Name) else None
        if known is None:
            return None
        for path, value in known.members.items():
            checkpoint()
            index = path[0] if path else ""
            if (
                path[1:] == ("id",)
                and isinstance(value, tree.Name)
                and value.text.endswith("ClusterDimension")
            ):
                axes = [known.members.get((index, "val", "clusterDim", axis)) for axis in _AXES]
                found = tuple(axis for axis in axes if axis is not None)
                return found if len(found) == 3 else None
        return None


def dims_of(exprs: Sequence[tree.Expr], evaluate: Callable[[tree.Expr], int | None]) -> Dims | None:
    """Three extents; None unless all are positive constants."""
    values = [evaluate(expr) for expr in exprs]
    x, y, z = values
    if x is None or y is None or z is None or min(x, y, z) <= 0:
        return None
    return x, y, z


def _path(target: tree.Expr) -> tuple[str, Path]:
    """``config.gridDim.x`` -> ("config", ("gridDim", "x"))."""
    path: list[str] = []
    while isinstance(target, tree.Member | tree.Index):
        if isinstance(target, tree.Member):
            path.append(target.name if target.operator == "." else "?")
        else:
            path.append(target.index.text if isinstance(target.index, tree.Number) else "?")
        target = target.base
    return (target.text if isinstance(target, tree.Name) else ""), tuple(reversed(path))


def _is_zero(expr: tree.Expr) -> bool:
    return isinstance(expr, tree.Number) and expr.text in ("0", "false", "nullptr")


def _stays_here(body: Body, name: str) -> bool:
    """Is the address of an object passed only to functions that read it, and is no reference bound to it?"""
    kinds, texts = body.tokens.kinds, body.tokens.texts
    for i, text in enumerate(texts):
        checkpoint()
        if text != name or kinds[i] != "NAME":
            continue
        before, after = kinds[i - 1] if i else "", kinds[i + 1] if i + 1 < len(kinds) else ""
        if before == "AMP" and kinds[i - 2] in ("LP", "COMMA"):
            opening = i - 2
            while opening > 0 and kinds[opening] != "LP":
                opening -= 1
            if texts[opening - 1] in CUDA.config_readers:
                continue
            return False
        attributes = before == "EQ" and texts[i - 2 : i - 1] == ["attrs"]
        if after not in ("DOT", "LB", "SEMI", "EQ", "LC", "COMMA") and not attributes:
            return False
        if before in ("COMMA", "LP", "EQ") and after not in ("DOT", "LB") and not attributes:
            return False
    return True
