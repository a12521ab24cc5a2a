"""Values.

Holds terms, affine forms, ranges, trip counts and symbolic execution. May import ``ir`` and ``targets``. Never asks
which thread runs a statement.
"""
