"""The language of values.

Holds the normal form of values that are added and multiplied, and the domains of what is known of numbers: intervals,
congruences, zones. May import ``source``. Never knows of CUDA, nor of the text that a value is written in.
"""
