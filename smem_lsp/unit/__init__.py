"""The translation unit.

Holds launches and their configurations, instances of templates, opt-ins, and ``__shared__`` declarations. May import
``semantics`` and ``ir``. Never lowers a statement.
"""
