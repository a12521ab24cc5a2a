"""The functions that are called.

Holds which of them a call in the body means, intrinsics, and what a function does to its arguments and to other
threads. May import ``lowering/state`` and below. Never lowers a call.
"""
