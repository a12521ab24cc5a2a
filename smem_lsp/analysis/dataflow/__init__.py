"""Data flow.

Holds conflicts, liveness, interference and reaching writes on the region tree. May import ``ir``. Never looks at
values.
"""
