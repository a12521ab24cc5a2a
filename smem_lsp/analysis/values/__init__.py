"""Values.

Holds affine forms, ranges, trip counts and symbolic execution. May import ``ir``, ``terms`` and ``targets``. Never asks
which thread runs a statement.
"""
