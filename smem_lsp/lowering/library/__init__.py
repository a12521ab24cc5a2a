"""What library calls mean.

Holds one file for each library: asynchronous copies, pipelines, mbarriers, CUB, wmma, cooperative groups, inline PTX.
May import ``lowering/callees`` and below, and ``analysis/copies``. Never visits a body: arguments are lowered through
``ctx.lower``.
"""
