"""Edits of files, seeded: after each of them a store that has seen all texts before must tell what a new process tells.

``python -m tests.fuzz``; CONTRIBUTING.md says more.
"""
