"""Many small cases as one test: a thousand are collected by three processes and reported one by one, for nothing."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterable
from typing import Any


def every(name: str, cases: Iterable[Any]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Calls the test with each of ``cases`` as its parameter ``name``, or with the parts of each as ``"one, other"``.
    The first that fails is named. For cases that need no fixture of their own."""
    names = [each.strip() for each in name.split(",")]

    def looped(test: Callable[..., None]) -> Callable[..., None]:
        @functools.wraps(test)
        def loop(**fixtures: Any) -> None:
            count = 0
            for case in cases:
                count += 1
                values = dict(zip(names, [case] if len(names) == 1 else case, strict=True))
                try:
                    test(**values, **fixtures)
                except Exception as error:
                    shown = ", ".join(f"{key} = {value!r}" for key, value in values.items())
                    raise AssertionError(f"with {shown}: {error}") from error
            assert count, "no case"

        signature = inspect.signature(test)
        left = [each for each in signature.parameters.values() if each.name not in names]
        loop.__signature__ = signature.replace(parameters=left)  # type: ignore[attr-defined]
        return loop

    return looped
