"""Which function a call means.

Holds overloads, intrinsics, and what a function does to its arguments and to other threads. May import
``lowering/state`` and below. Never lowers a call.
"""
