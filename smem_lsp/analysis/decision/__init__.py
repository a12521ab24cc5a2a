"""Pairs of accesses.

Holds the decision whether two threads of a block may touch the same byte in one barrier interval, and the verdict on a
kernel that follows (Li and Gopalakrishnan, "Scalable SMT-based verification of GPU kernel functions", FSE 2010: two
arbitrary threads stand for all). May import ``analysis/values``, ``analysis/dataflow`` and
``analysis/threads``. Never runs a block, and never takes a sample for a proof.
"""
