"""Edits and messages of all kinds in any number, against the real server: is every request answered once, and does the
server hold the very text that the client has?"""

from __future__ import annotations

import json
import random
import sys
import time
from collections import Counter
from dataclasses import dataclass
from typing import Any

from server.client import PATIENCE, Client, span
from server.samples import MERGEABLE, PULL, UNUSED, WITH_BARRIER
from server.test_documents import model_lines
from server.test_framing import RUBBISH
from server.test_fuzz import STRANGE, Fuzzer

# The product has no way to read a text back, and needs none: here a rule's page named "text URI" is the text.
COMMAND = (
    sys.executable,
    "-c",
    "import smem_lsp.server.page_requests as requests\n"
    "from smem_lsp.server.protocol import EXPLAIN\n"
    "real = requests.HANDLERS[EXPLAIN]\n"
    "def explain(workspace, params):\n"
    "    asked, _, uri = params.code.partition(' ')\n"
    "    if asked != 'text':\n"
    "        return real(workspace, params)\n"
    "    document = workspace.documents.get(uri)\n"
    "    return {'text': None if document is None else document.text}\n"
    "requests.HANDLERS = {**requests.HANDLERS, EXPLAIN: explain}\n"
    "import smem_lsp.server; raise SystemExit(smem_lsp.server.serve())",
)
PIECES = (
    "",
    "x",
    "\n",
    "\r",
    "\r\n",
    "😀",
    "é",
    "// c\r\n",
    "  int y = 1;\n",
    "__syncthreads();",
    "\u2028",
    "{",
    "}",
    "\t",
)
LONGEST = 3000  # characters of an edited document


@dataclass(frozen=True)
class Result:
    edits: int
    messages: int
    requests: int
    unanswered: int
    answered_twice: int
    texts_that_differ: int
    seconds: float
    peak: int  # KiB of memory that the server held at most, 0 where the system does not tell
    defects: int  # tracebacks in its log


def soak(edits: int, messages: int, *, seed: int = 20_262) -> Result:
    """So many edits of documents that are compared and, among them, so many messages of all kinds."""
    rng = random.Random(seed)
    client = Client(COMMAND)
    started = time.perf_counter()
    try:
        client.initialize(
            {**PULL, "general": {"positionEncodings": ["utf-32"]}},
            initializationOptions={"settings": {"nvcc": "off"}},
        )
        texts = {f"file:///edited{n}.cu": text for n, text in enumerate((MERGEABLE, UNUSED, WITH_BARRIER))}
        versions = dict.fromkeys(texts, 1)
        for uri, text in texts.items():
            client.open(uri, text)
        fuzzer = Fuzzer(seed)
        expected: Counter[int | str] = Counter()
        total = edits + messages
        left = edits
        differing = 0
        for number in range(1, total + 1):
            if rng.random() * (total - number + 1) < left:
                left -= 1
                uri = rng.choice(tuple(texts))
                versions[uri] += 1
                changes = []
                for _ in range(rng.choice((1, 1, 1, 2, 3))):
                    change, texts[uri] = edit(rng, texts[uri])
                    changes.append(change)
                client.change(uri, versions[uri], *changes)
            else:
                send(client, rng, fuzzer, number, expected)
            if number % 2000 == 0:
                differing += sum(read_back(client, uri) != text for uri, text in texts.items())
        client.open("file:///last.cu", UNUSED)
        pull = client.ask(
            "textDocument/diagnostic", {"textDocument": {"uri": "file:///last.cu"}}, "last pull"
        )
        assert [d["code"] for d in pull.result(20 * PATIENCE)["items"]] == ["SMEM101"]
        differing += sum(read_back(client, uri) != text for uri, text in texts.items())
        answers = answers_of(client, expected)
        peak = peak_memory(client.process.pid)
        assert client.shut_down() == 0
    finally:
        client.kill()
    client.join()
    return Result(
        edits=edits,
        messages=messages,
        requests=expected.total(),
        unanswered=(expected - answers).total(),
        answered_twice=(answers - expected).total(),
        texts_that_differ=differing,
        seconds=time.perf_counter() - started,
        peak=peak,
        defects=client.log.count("Traceback"),
    )


def edit(rng: random.Random, text: str) -> tuple[dict[str, Any], str]:
    """A change and the text after it, worked out in the plainest way."""
    if len(text) > LONGEST or rng.random() < 0.01:
        whole = rng.choice((MERGEABLE, UNUSED, WITH_BARRIER, ""))
        return {"text": whole}, whole
    lines = model_lines(text)
    places: list[tuple[int, int, int]] = []
    for _ in range(2):
        line = rng.randrange(len(lines))
        column = rng.randint(0, len(lines[line].rstrip("\r\n")))
        places.append((sum(map(len, lines[:line])) + column, line, column))
    (start, *first), (end, *last) = sorted(places)
    if rng.random() < 0.8 or end - start > 80:
        end, last = start, first
    piece = rng.choice(PIECES)
    change = {"range": span((first[0], first[1]), (last[0], last[1])), "text": piece}
    return change, text[:start] + piece + text[end:]


def send(
    client: Client, rng: random.Random, fuzzer: Fuzzer, number: int, expected: Counter[int | str]
) -> None:
    """One message, right, wrong or mangled, now and then with junk before it."""
    if rng.random() < 0.01:
        assert client.process.stdin is not None
        client.process.stdin.write(rng.choice([junk for junk in RUBBISH.values() if len(junk) < 70_000]))
    body = fuzzer.body(number)
    if rng.random() < 0.05:
        method = rng.choice(
            ("textDocument/didOpen", "$/cancelRequest", "initialize", "initialized", "made/up")
        )
        identity = rng.choice((number, f"s{number}", *STRANGE))
        body = json.dumps({"jsonrpc": "2.0", "id": identity, "method": method, "params": {}}).encode()
    identity = answerable(body)
    if identity is not None:
        expected[identity] += 1
    client.write(body)


def answerable(body: bytes) -> int | str | None:
    """The id of a request that must be answered with it."""
    try:
        message = json.loads(body)
    except ValueError:
        return None
    if not isinstance(message, dict):
        return None
    identity = message.get("id")
    if isinstance(identity, bool) or not isinstance(identity, int | str):
        return None
    if message.get("jsonrpc") != "2.0":
        return identity
    return identity if "method" in message else None


def read_back(client: Client, uri: str) -> str | None:
    answer = client.ask("smem/explain", {"code": f"text {uri}"}, f"read {uri} {time.monotonic_ns()}")
    text: str | None = answer.result(20 * PATIENCE)["text"]
    return text


def answers_of(client: Client, expected: Counter[int | str]) -> Counter[int | str]:
    """The answers to what was written by hand, all of them or those that came in time."""
    limit = time.monotonic() + 5 * PATIENCE
    while True:
        with client.arrived:
            answers = Counter(
                message["params"]["id"]
                for message in client.received
                if message["method"] == "answer to nothing" and message["params"]["id"] is not None
            )
            if not expected - answers or time.monotonic() > limit:
                return answers
            client.arrived.wait(1.0)


def peak_memory(process: int) -> int:
    if sys.platform != "linux":
        return 0
    with open(f"/proc/{process}/status") as status:  # noqa: PTH123  (not a file of ours)
        return next(int(line.split()[1]) for line in status if line.startswith("VmHWM"))
