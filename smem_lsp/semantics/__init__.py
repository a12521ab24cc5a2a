"""C++ as the front end of a compiler knows it.

Holds types, record layout, names and scopes, constants, templates and deduction. May import ``syntax`` and
``interpret``. Never knows of threads, shared memory or kernels.
"""
