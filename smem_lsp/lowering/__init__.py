"""From a tree to the IR of one kernel.

Holds the lowering of one kernel, and the layout that ptxas gives its buffers. May import ``unit``, ``semantics``,
``ir`` and its own rooms. Never judges what it has lowered.
"""
