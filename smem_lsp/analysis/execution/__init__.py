"""The execution of one block.

Holds the interpreter, its programs, and which accesses conflict under which order. May import ``analysis/threads``
and ``analysis/values``. Never decides whether a conflict is worth reporting.
"""
