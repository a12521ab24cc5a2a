"""A function as a compiler sees it: what C++ leaves implicit is written out.

Holds types of expressions, conversions and promotions, which function a call means ([over.match], each of its steps in
a file), and the functions that run without being spelled: constructors, destructors, conversions, operators, default
arguments. What cannot be resolved is told with its reason. May import ``semantics`` and what is below it. Never
guesses, and never knows of threads, shared memory or kernels.
"""
