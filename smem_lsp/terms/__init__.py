"""The language of values.

Holds the terms of a kernel, one object for each expression, and those of sizes, with the operators that both have; the
normal form of what is added and multiplied; and the domains of what is known of numbers: intervals, congruences, zones.
May import ``source`` and ``targets``. Never knows of the text that a value is written in.
"""
