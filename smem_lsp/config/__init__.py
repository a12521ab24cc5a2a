"""Settings.

Holds the settings of a project and the files they stand in. May import ``source`` and ``targets``. Never looks at
CUDA code.
"""

from smem_lsp.config.gitignore import GitIgnore
from smem_lsp.config.load import (
    ConfigError,
    LoadedSettings,
    config_in,
    defaults,
    discover,
    find_config,
    load_config,
)
from smem_lsp.config.patterns import matches
from smem_lsp.config.settings import DEFAULT_TARGETS, Config
from smem_lsp.config.table import KEYS, SEVERITIES, UnknownKey, WrongValue, config_from_table

__all__ = [
    "DEFAULT_TARGETS",
    "KEYS",
    "SEVERITIES",
    "Config",
    "ConfigError",
    "GitIgnore",
    "LoadedSettings",
    "UnknownKey",
    "WrongValue",
    "config_from_table",
    "config_in",
    "defaults",
    "discover",
    "find_config",
    "load_config",
    "matches",
]
