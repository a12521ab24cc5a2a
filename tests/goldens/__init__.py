"""What the tool says of pinned texts, kept by commit, and how two such records differ.

``python -m tests.goldens record`` and ``python -m tests.goldens compare BASE``; CONTRIBUTING.md says more.
"""
