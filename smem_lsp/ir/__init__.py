"""The IR: data only.

Holds the nodes of a kernel's region tree, its values, and what the author stated about it. May import ``source`` and
``syntax``. Never builds or changes a kernel, but for moving it along the text.
"""
