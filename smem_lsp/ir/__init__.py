"""The IR: data only.

Holds the nodes of a kernel's region tree, the walks through it, its values, and what the author stated about it. May
import ``source`` and ``syntax``. Never builds a kernel, and changes one only as a walk is told, or to move it along the
text.
"""
