"""The language of values.

Holds the normal form of values that are added and multiplied, and what operators make of intervals. May import
``source``. Never knows of CUDA, nor of the text that a value is written in.
"""
