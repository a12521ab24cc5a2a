"""Dynamic memory and members.

Holds the ranges of dynamic shared memory, and the members of a class in it. May import ``analysis/values``. Never
lays anything out.
"""
