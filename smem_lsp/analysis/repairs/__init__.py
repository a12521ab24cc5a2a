"""Repairs.

Holds where a barrier, a wait or a fence would have to stand. May import ``analysis/hazards`` and below. Never writes
text.
"""
