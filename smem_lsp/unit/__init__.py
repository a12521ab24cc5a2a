"""The translation unit.

Holds launches and their configurations, instances of templates, opt-ins, and ``__shared__`` declarations. May import
``semantics``, ``interpret``, ``ir`` and ``targets``. Never lowers a statement.
"""
