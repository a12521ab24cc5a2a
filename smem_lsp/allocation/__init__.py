"""Layouts.

Holds allocators, their bounds, and a validator of what they return. May import ``ir`` and ``analysis/dataflow``.
Never knows of source text.
"""
