"""The parser's tables, made by Lark from ``grammar/cuda.lark``: once for a wheel, else once for a cache folder.

Plain data, so that who parses needs no Lark, which takes 20 ms to import and as long to set up its tables.
"""

from __future__ import annotations

from typing import Any

FORMAT = 1  # of what ``made`` returns
STARTS = ("statements", "expression", "declaration", "for_head", "condition", "parameters", "initializer")


def made(text: str) -> dict[str, Any]:
    """``starts`` and ``ends``: states by start rule. ``symbols``: names, which are meant by their numbers. ``rules``:
    (name or alias, symbol that it makes, number of children, whether an only child stands for it, which children are
    lists that are joined to the others). ``states``: symbol and action in turn, where n is the next state and -n-1
    means rule n."""
    import lark
    from lark.lexer import Lexer
    from lark.parsers.lalr_analysis import Shift

    class Declared(Lexer):
        """There is no text: the grammar's terminals come from the classifier."""

        __future_interface__ = 1

        def __init__(self, _: object) -> None:
            pass

        def lex(self, lexer_state: Any, parser_state: Any) -> Any:
            raise NotImplementedError

    inner: Any = lark.Lark(text, parser="lalr", lexer=Declared, start=list(STARTS)).parser
    table = inner.parser._parse_table
    # Lark's numbers are others each time: here they are those in which the states are reached.
    numbers = {table.start_states[start]: number for number, start in enumerate(STARTS)}
    symbols: dict[str, int] = {}
    rules: dict[Any, int] = {}
    states: list[list[int]] = []
    reached = list(numbers)
    for state in reached:
        row: list[int] = []
        for name, (action, argument) in sorted(table.states[state].items()):
            if action is Shift and argument not in numbers:
                numbers[argument] = len(numbers)
                reached.append(argument)
            done = numbers[argument] if action is Shift else -1 - rules.setdefault(argument, len(rules))
            row += symbols.setdefault(name, len(symbols)), done
        states.append(row)
    described = []
    for rule in rules:
        name = rule.origin.name
        joined = [
            n for n, each in enumerate(rule.expansion) if not each.is_term and each.name.startswith("_")
        ]
        single = bool(rule.options.expand1 and not rule.alias)
        described.append([rule.alias or name, symbols[name], len(rule.expansion), single, joined])
    return {
        "starts": {start: numbers[table.start_states[start]] for start in STARTS},
        "ends": {start: numbers[table.end_states[start]] for start in STARTS},
        "symbols": list(symbols),
        "rules": described,
        "states": states,
    }
