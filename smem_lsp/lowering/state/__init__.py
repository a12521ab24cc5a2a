"""What lowering knows at one statement.

Holds the context, local scopes, places in memory and the effects of reading them. May import ``semantics`` and
``ir``. Never visits a tree.
"""
