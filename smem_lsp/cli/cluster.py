"""The files of a run on an existing Dask cluster: ``--executor dask://HOST:PORT``.

Every machine of it has to see the files under the paths that they have here, and to have this version of all that
findings depend on; both are asked before the first file. A thread of a worker keeps one process of ours, the same that
``--jobs`` starts, so what a worker has loaded or set plays no part; nor does the folder that it was started in, which
may be the one that is checked. A worker that dies costs nothing: Dask gives its
files to another one. Only the command line can name a cluster, because the workers run what they are sent.
"""

from __future__ import annotations

import hashlib
import logging
import pickle
import socket
import sys
import threading
import uuid
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import Any

from smem_lsp import isolation
from smem_lsp.cli.errors import UsageError, internal_error
from smem_lsp.cli.outcome import FileOutcome, FileTask, Options, failed
from smem_lsp.cli.pool import Child
from smem_lsp.output.version import VERSION
from smem_lsp.source import clipped

SCHEME = "dask://"
_CONNECT = 10  # seconds for the machine to take a connection
_ANSWER = 30  # seconds for the scheduler to say what it is
_AHEAD = 4  # tasks for each thread of the cluster that are sent before the first of them is needed
_IDLE = 10.0  # seconds after which a worker ends a process that nobody uses
_SAMPLES = 20  # files that are compared before the run
_DISTRIBUTIONS = ("distributed", "lark", "z3-solver")

Facts = dict[str, str]
"""What two machines must agree on, by what it is called in a message."""


def address(executor: str) -> str:
    """Dask's name of the scheduler. Raises UsageError."""
    host, colon, port = executor.removeprefix(SCHEME).rstrip("/").rpartition(":")
    if not executor.startswith(SCHEME) or not (host and colon and port.isdecimal() and len(port) < 6):
        raise UsageError(f"--executor {clipped(executor)}: not of the form {SCHEME}HOST:PORT")
    return f"tcp://{host}:{port}"


def _host_and_port(address: str) -> tuple[str, int]:
    host, _, port = address.removeprefix("tcp://").rpartition(":")
    return host.strip("[]"), int(port)


def check_on_cluster(
    tasks: Sequence[FileTask | FileOutcome], options: Options, executor: str
) -> Iterator[FileOutcome]:
    """In the order of ``tasks``. Raises UsageError where the cluster cannot be used."""
    scheduler = address(executor)
    try:
        import distributed
    except ImportError:
        raise UsageError("--executor needs Dask, which the extra `dask` installs") from None
    logging.getLogger("distributed").setLevel(logging.CRITICAL)  # its lines are no findings
    try:
        # Dask would go on trying where nobody listens.
        socket.create_connection(_host_and_port(scheduler), timeout=_CONNECT).close()
        client = distributed.Client(scheduler, timeout=_ANSWER, set_as_default=False)
    except (OSError, ValueError, RuntimeError) as error:
        raise UsageError(f"--executor {executor}: no scheduler answers: {_first_line(error)}") from None
    try:
        threads = _agreed(client, tasks, executor)
        yield from _arriving(client, tasks, options, _AHEAD * threads)
    finally:
        client.close(timeout=2)


def _agreed(client: Any, tasks: Sequence[FileTask | FileOutcome], executor: str) -> int:
    """The threads of all workers, which have what we have. Raises UsageError."""
    threads: Mapping[str, int] = client.nthreads()
    if not threads:
        raise UsageError(f"--executor {executor}: the cluster has no workers")
    paths = [task.path for task in tasks if isinstance(task, FileTask) and task.given is None][:_SAMPLES]
    folder = str(Path.cwd())
    here = facts(folder, paths)
    there: Mapping[str, Facts | BaseException]
    try:
        there = client.run(on_worker("facts", folder), folder, paths, on_error="return")
    except Exception as error:  # noqa: BLE001  (a worker without smem-lsp fails in whatever way its Dask does)
        raise UsageError(
            f"--executor {executor}: its workers cannot run smem-lsp: {_first_line(error)}"
        ) from None
    for worker, found in sorted(there.items()):
        if not isinstance(found, dict):
            raise UsageError(
                f"--executor {executor}: worker {worker} cannot run smem-lsp {VERSION}: {_first_line(found)}"
            )
        for name, value in here.items():
            if found.get(name) != value:
                raise UsageError(
                    f"--executor {executor}: worker {worker} has another {name}: "
                    f"{found.get(name, 'none')}, here {value}"
                )
    return sum(threads.values())


def on_worker(name: str, folder: str) -> Callable[..., Any]:
    """The function of this module of that name, for workers that check files of ``folder``.

    Dask sends a function by its name, and a worker looks for the module wherever its ``sys.path`` leads, its current
    folder first. What is defined inside of a function goes as code, and this package is looked for by our own rules.
    """
    rules = Path(isolation.__file__).read_text("utf-8")

    def enter(*arguments: Any) -> Any:
        import importlib
        import importlib.util
        import sys

        if "smem_lsp" not in sys.modules:
            known: dict[str, Any] = {"__name__": "isolation", "__file__": ""}
            exec(compile(rules, "isolation", "exec"), known)  # a file of ours
            places = known["module_paths"](folder)
            found = (finder.find_spec("smem_lsp", places, None) for finder in sys.meta_path)
            spec = next((each for each in found if each is not None and each.loader is not None), None)
            if spec is None or spec.loader is None:
                raise ModuleNotFoundError("No module named 'smem_lsp'")
            package = sys.modules["smem_lsp"] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(package)
        return getattr(importlib.import_module("smem_lsp.cli.cluster"), name)(*arguments)

    return enter


def facts(folder: str, paths: Sequence[str]) -> Facts:
    """Of this machine. ``folder``: what ``paths`` are relative to. Runs on workers, too."""
    found = {"smem-lsp": VERSION, "Python": "{}.{}".format(*sys.version_info)}
    for name in _DISTRIBUTIONS:
        found[name] = metadata.version(name)
    found["code of smem-lsp"] = _digest_of_code()
    for path in paths:
        try:
            found[f"text of {path}"] = hashlib.sha256(Path(folder, path).read_bytes()).hexdigest()[:12]
        except OSError as error:
            found[f"text of {path}"] = error.strerror or "unreadable"
    return found


def _digest_of_code() -> str:
    """Two checkouts may differ and bear one version."""
    root = Path(__file__).parents[1]
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0")
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()[:12]


def _arriving(
    client: Any, tasks: Sequence[FileTask | FileOutcome], options: Options, ahead: int
) -> Iterator[FileOutcome]:
    run = uuid.uuid4().hex
    shared = client.scatter(pickle.dumps(options), broadcast=True, hash=False)
    sent: deque[tuple[FileTask | FileOutcome, Any]] = deque()
    todo = iter(tasks)
    folder = str(Path.cwd())
    check = on_worker("run_item", folder)

    def send() -> None:
        while len(sent) < ahead and (task := next(todo, None)) is not None:
            if isinstance(task, FileOutcome):
                sent.append((task, None))
                continue
            future = client.submit(check, run, folder, shared, pickle.dumps(task), pure=False)
            sent.append((task, future))

    try:
        send()
        while sent:
            task, future = sent.popleft()
            yield task if isinstance(task, FileOutcome) else _result(task, future)
            if future is not None:
                future.release()
            send()
    finally:
        client.cancel([future for _, future in sent if future is not None])


def _result(task: FileTask, future: Any) -> FileOutcome:
    from concurrent.futures import CancelledError

    try:
        outcome: FileOutcome = pickle.loads(future.result())
        return outcome
    except CancelledError:
        return failed(task.path, f"{task.path}: not checked, the cluster has gone")
    except Exception as error:  # noqa: BLE001  (whatever a worker or the network does costs one file)
        if type(error).__name__ == "KilledWorker":
            return failed(task.path, f"{task.path}: not checked, every worker that was checking it died")
        return failed(task.path, f"{task.path}: {internal_error(error)}")


def _first_line(error: object) -> str:
    words = error.strerror if isinstance(error, OSError) else None
    lines = (words or str(error)).strip().splitlines()
    return clipped(lines[0]) if lines else type(error).__name__


_mine = threading.local()


class _KeptProcess:
    """A process of ours beside a worker, for one thread of it and one run. It ends when it has been idle."""

    __slots__ = ("_child", "_lock", "_new", "_timer", "run")

    def __init__(self, run: str, new: Callable[[], Child]) -> None:
        self.run = run
        self._new = new
        self._child: Child | None = None
        self._timer: threading.Timer | None = None
        self._lock = threading.Lock()  # the timer has a thread of its own

    def check(self, task: FileTask) -> FileOutcome:
        """Raises OSError or EOFError when the process is gone."""
        with self._lock:
            if self._timer is not None:
                self._timer.cancel()
            try:
                self._child = self._child or self._new()
                return self._child.check(task)
            except BaseException:
                self._leave()
                raise
            finally:
                self._timer = threading.Timer(_IDLE, self.end)
                self._timer.daemon = True
                self._timer.start()

    def end(self) -> None:
        with self._lock:
            self._leave()

    def _leave(self) -> None:
        child, self._child = self._child, None
        if child is not None:
            child.leave()


def run_item(run: str, folder: str, options: bytes, task: bytes) -> bytes:
    """Check one file, on a worker: a pickled FileTask in, a pickled FileOutcome out."""
    kept: _KeptProcess | None = getattr(_mine, "kept", None)
    if kept is None or kept.run != run:
        if kept is not None:
            kept.end()
        unpickled: Options = pickle.loads(options)
        kept = _mine.kept = _KeptProcess(run, lambda: Child(unpickled, folder))
    item: FileTask = pickle.loads(task)
    try:
        outcome = kept.check(item)
    except EOFError:
        outcome = failed(item.path, f"{item.path}: not checked, the process that was checking it died")
    except OSError as error:
        outcome = failed(
            item.path, f"{item.path}: not checked, no process can be started: {error.strerror or error}"
        )
    return pickle.dumps(outcome)
