"""What is kept of files that were checked, for the next version of them."""

from smem_lsp.syntax.parse import forget_units
from smem_lsp.unit.unit_facts import forget_fingerprints


def forget_files() -> None:
    """Drop it, to go on with other files: what they include, too, stays. A file under CUTLASS weighs 6 MB."""
    forget_units()
    forget_fingerprints()
