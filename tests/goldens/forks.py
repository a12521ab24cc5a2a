"""Pieces of work, each in a process forked from this one: whatever one of them reads, the next one has not read."""

from __future__ import annotations

import os
import pickle
import select
import signal
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")


class Died(Exception):
    """A process ended without an answer."""


def each_in_its_own_process(works: Iterable[Callable[[], T]], most: int) -> Iterator[tuple[int, T | Died]]:
    """The answers as they come, each with the number of its work; ``most`` processes at a time."""
    running: dict[int, tuple[int, int]] = {}  # end of a pipe -> process, number of its work
    waiting = enumerate(works)
    try:
        while True:
            while len(running) < most and (next_one := next(waiting, None)) is not None:
                number, work = next_one
                pipe, process = start(work)
                running[pipe] = process, number
            if not running:
                return
            for pipe in select.select(list(running), [], [])[0]:
                process, number = running.pop(pipe)
                try:
                    yield number, answer(pipe, process)
                except Died as death:
                    yield number, death
    finally:
        for pipe, (process, _) in running.items():
            os.kill(process, signal.SIGKILL)
            os.waitpid(process, 0)
            os.close(pipe)


def start(work: Callable[[], object]) -> tuple[int, int]:
    """A process that does it: the end of the pipe that brings its answer, and its number."""
    here, there = os.pipe()
    process = os.fork()
    if process:
        os.close(there)
        return here, process
    status = 1
    try:
        os.close(here)
        data = pickle.dumps(work())
        with os.fdopen(there, "wb") as pipe:
            pipe.write(data)
        status = 0
    finally:
        os._exit(status)


def answer(pipe: int, process: int) -> Any:
    """What the process has to say. Raises Died."""
    with os.fdopen(pipe, "rb") as file:
        data = file.read()
    _, status = os.waitpid(process, 0)
    if status != 0:
        raise Died(f"the process ended with {status}")
    return pickle.loads(data)
