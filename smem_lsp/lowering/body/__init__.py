"""The visitor.

Holds expressions, statements, declarations, calls and inlining: one recursive visitor. May import all other rooms of
``lowering``, and ``unit``. Never decides what a library call means.
"""
