"""smem-lsp: shared memory of CUDA kernels, understood.

Public: ``check(text, *, path, config) -> Report``, ``apply(text, fix) -> str`` and ``occupancy(arch, ...)``. Everything
else may change. The names are loaded when they are first used: importing the package costs nothing, and imports
nothing, not even of the standard library (``isolation`` comes before that).
"""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from smem_lsp.analysis.occupancy import occupancy
    from smem_lsp.engine import apply, check

__all__ = ["apply", "check", "occupancy"]


def __getattr__(name: str) -> object:
    if name in ("apply", "check"):
        from smem_lsp import engine

        return getattr(engine, name)
    if name == "occupancy":
        from smem_lsp.analysis.occupancy import occupancy

        return occupancy
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
