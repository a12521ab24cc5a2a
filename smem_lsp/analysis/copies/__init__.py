"""Which asynchronous copies may be in flight where.

Holds the data flow that ``lowering`` asks at the end of a kernel, over the tree with all that a thread does about its
copies still in it: sets of flights, and paths with what is known of variables on them. May import ``ir`` and ``terms``.
Never changes a buffer or says what is pinned.
"""
