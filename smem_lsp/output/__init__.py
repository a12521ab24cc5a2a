"""Output.

Holds findings, plans and maps as text, JSON, SARIF, SVG and HTML. May import ``engine`` and below. Never decides what
is reported.
"""
