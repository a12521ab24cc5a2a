"""Banks.

Holds bank conflicts, and the padding and swizzles that end them. May import ``analysis/threads`` and
``analysis/values``. Never judges occupancy.
"""
