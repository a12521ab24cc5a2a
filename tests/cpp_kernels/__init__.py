"""Random kernels in all of C++, run: what is told of each is held against what its runs show.

``python -m tests.cpp_kernels``; CONTRIBUTING.md says more. A kernel has one launch in sight, a constant block and no
input, so one run without a race proves that it has none: threads that meet at barriers only, and do not race, do the
same under every schedule.
"""
