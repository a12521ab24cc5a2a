"""What each compute capability offers: data only, no arithmetic on kernels."""

from smem_lsp.targets.capabilities import TARGETS as TARGETS
from smem_lsp.targets.capabilities import Target as Target
from smem_lsp.targets.lookup import UnknownTarget as UnknownTarget
from smem_lsp.targets.lookup import target as target
