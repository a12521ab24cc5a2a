"""Forgetting files that were checked."""

from smem_lsp.semantics.file_scope import forget_declarations
from smem_lsp.syntax.parse import forget_units
from smem_lsp.unit.host_text import forget_host_code
from smem_lsp.unit.instances import forget_instances
from smem_lsp.unit.unit_facts import forget_fingerprints


def forget_files() -> None:
    """Drop what is kept for the next version of each file: 6 MB for one that includes CUTLASS. What is known of
    each header stays, because other files include it too."""
    forget_units()
    forget_declarations()
    forget_fingerprints()
    forget_instances()
    forget_host_code()
