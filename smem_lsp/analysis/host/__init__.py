"""The host side of CUDA programs.

Holds what the calls of the runtime and driver API mean, a walk of one host function over its streams, events, graphs
and allocations, and what it finds: what is never released, and what nothing orders. May import ``syntax`` and
``interpret``. Never writes a message or an edit.
"""
