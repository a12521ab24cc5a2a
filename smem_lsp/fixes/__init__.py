"""Rewrites.

Holds the text edits of every remedy. May import ``rules`` and below. Never offers what a rule has not asked for.
"""
