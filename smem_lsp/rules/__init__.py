"""Rules.

Holds one module for each rule, and the facts that rules are asked with. May import ``analysis``, ``allocation`` and
below. Never changes text.
"""
