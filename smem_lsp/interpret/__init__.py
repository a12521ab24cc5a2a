"""The abstract interpreter of C++.

Holds how control goes through the statements of a function: blocks and their names, branches, loops, ``switch``,
``try``, jumps, and how deep it is followed. What a path knows is a domain's, which is a class that goes on from
``Interpreter``. May import ``syntax`` and ``source``. Never knows what a value is.
"""
