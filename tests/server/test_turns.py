"""One document that takes long, and everybody else's answers meanwhile: the real server over stdio."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest
from server.client import PATIENCE, Client, serving
from server.samples import MERGEABLE, PULL, PUSH, UNUSED, diagnostic_codes

HOSTILE = "file:///hostile.cu"
OTHER = "file:///other.cu"


def text_of(kernels: int) -> str:
    """Each kernel is another one, so that none is known from the one before; a hundred take a second."""
    return "".join(
        MERGEABLE.replace("sum(", f"sum{n}(").replace("[256]", f"[{256 + n}]").replace("sum<<<", f"sum{n}<<<")
        for n in range(kernels)
    )


TEXT = text_of(1200)


def begun(text: str) -> Iterator[Client]:
    """A server that has begun with a hostile document."""
    with serving(PUSH) as client:
        client.open("file:///first.cu", UNUSED)
        client.published("file:///first.cu", 1)  # it has warmed up
        client.open(HOSTILE, text)
        time.sleep(0.7)
        yield client
        assert client.all_of("textDocument/publishDiagnostics")


@pytest.fixture
def busy() -> Iterator[Client]:
    yield from begun(TEXT)


@pytest.fixture
def busy_for_a_while() -> Iterator[Client]:
    yield from begun(text_of(300))


def is_published(client: Client, uri: str) -> bool:
    return any(params["uri"] == uri for params in client.all_of("textDocument/publishDiagnostics"))


@pytest.mark.slow(seconds=4)
def test_others_are_analysed_while_it_is_open(busy: Client) -> None:
    times: list[float] = []
    for version in range(1, 9):
        started = time.perf_counter()
        text = UNUSED.replace("scratch", f"scratch{version}")
        if version == 1:
            busy.open(OTHER, text)
        else:
            busy.change(OTHER, version, {"text": text})
        assert f"scratch{version}" in str(busy.published(OTHER, version))
        times.append(time.perf_counter() - started)
    assert not is_published(busy, HOSTILE)  # or there was nothing to wait for
    print(f"another document's diagnostics: {max(times):.3f} s at most of {[f'{t:.3f}' for t in times]}")


@pytest.mark.slow(seconds=3)
def test_questions_about_others_are_answered_meanwhile(busy: Client) -> None:
    busy.open(OTHER, UNUSED)
    busy.published(OTHER, 1)
    times: list[float] = []
    for _ in range(3):
        started = time.perf_counter()
        lenses = busy.request("textDocument/codeLens", {"textDocument": {"uri": OTHER}})
        assert lenses and busy.hover(OTHER, 1, 20) and busy.actions(OTHER, (1, 20))
        assert busy.request("smem/layout", busy.at(OTHER, 1, 20))["kernel"]["name"] == "k"
        times.append((time.perf_counter() - started) / 4)
    assert not is_published(busy, HOSTILE)
    print(f"a request: {max(times):.3f} s at most")


@pytest.mark.slow(seconds=9)
def test_it_is_still_analysed_in_the_end(busy_for_a_while: Client) -> None:
    busy = busy_for_a_while
    lenses = busy.ask("textDocument/codeLens", {"textDocument": {"uri": HOSTILE}})
    for version in range(1, 4):
        if version == 1:
            busy.open(OTHER, UNUSED)
        else:
            busy.change(OTHER, version, {"text": UNUSED})
        busy.published(OTHER, version)
    assert diagnostic_codes(busy.published(HOSTILE, 1))
    assert isinstance(lenses.result(PATIENCE), list)


def test_when_it_is_closed_nobody_waits_for_it(busy: Client) -> None:
    pull = busy.ask("textDocument/diagnostic", {"textDocument": {"uri": HOSTILE}})
    started = time.perf_counter()
    busy.close(HOSTILE)
    assert pull.result(PATIENCE)["items"] == []
    busy.open(OTHER, UNUSED)
    busy.published(OTHER, 1)
    print(f"closed, and another document's diagnostics: {time.perf_counter() - started:.3f} s")
    told = busy.all_of("textDocument/publishDiagnostics")
    assert not any(
        params["diagnostics"] for params in told if params["uri"] == HOSTILE
    )  # it was not waited for


def test_two_of_them_and_a_small_one_opened_at_once() -> None:
    """The restored session of an editor: what was opened last is not all that is analysed."""
    with serving(PULL) as client:
        small = [f"file:///small{n}.cu" for n in range(3)]
        client.open(HOSTILE, TEXT)
        for uri in small:
            client.open(uri, UNUSED)
        client.open("file:///hostile2.cu", TEXT.replace("tile", "tale"))
        started = time.perf_counter()
        asked = [client.ask("textDocument/diagnostic", {"textDocument": {"uri": uri}}) for uri in small]
        for answer in asked:
            assert diagnostic_codes(answer.result(PATIENCE)["items"]) == ["SMEM101"]
        print(f"three small documents between two hostile ones: {time.perf_counter() - started:.3f} s")
        late = client.ask("textDocument/diagnostic", {"textDocument": {"uri": HOSTILE}})
        client.request("smem/explain", {"code": "SMEM101"})
        assert not late.done()  # what was opened first is still analysed
