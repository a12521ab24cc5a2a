"""GPU targets.

Holds one record for each compute capability, the numbers that all of them share, and the names of each dialect. May
import nothing of ours. Never computes anything about a kernel.
"""

from smem_lsp.targets.capabilities import TARGETS as TARGETS
from smem_lsp.targets.capabilities import Target as Target
from smem_lsp.targets.lookup import UnknownTarget as UnknownTarget
from smem_lsp.targets.lookup import attribute as attribute
from smem_lsp.targets.lookup import target as target
