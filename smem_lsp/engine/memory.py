"""What is kept of files that were checked, for the next version of them."""

from smem_lsp.ir.survey import forget_worlds
from smem_lsp.syntax.parse import forget_units


def forget_files() -> None:
    """Drop it, to go on with other files: what they include, too, stays. A file under CUTLASS weighs 6 MB."""
    forget_units()
    forget_worlds()
