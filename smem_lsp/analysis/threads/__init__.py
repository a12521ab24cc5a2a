"""Threads.

Holds block shapes, uniformity, divergence, and which elements are private to a thread. May import ``analysis/values``
and ``analysis/dataflow``. Never runs a block.
"""
