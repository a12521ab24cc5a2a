"""What all benchmarks share: how one is declared, its command line, its figures, and the results that are kept.

``declared`` says what a benchmark is, ``options`` makes its command line from its parameters, ``records`` keeps and
compares results, ``command`` runs one. ``figures`` and ``programs`` are for the benchmarks themselves.
"""
