"""Turns text into trees.

Holds the preprocessor, the lexer, the Lark grammar and the trees of statements and expressions. May import
``source``. Never asks what a name means.

Nothing here raises on user text.
"""
