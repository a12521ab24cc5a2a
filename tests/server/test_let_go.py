"""Documents whose analyses are let go for their memory: what is asked of them is found once more."""

from __future__ import annotations

import asyncio
import sys
import time
from pathlib import Path
from typing import Any
from weakref import WeakSet, ref

import pytest
from server.client import Client, serving
from server.samples import MERGEABLE, PULL, PUSH, UNUSED, diagnostic_codes, place
from server.test_scheduler import Waiting

from smem_lsp.source import Superseded
from smem_lsp.source.queries import KEPT

AGAIN = "analysed once more"
DEBUG = {"initializationOptions": {"settings": {"nvcc": "off", "logLevel": "debug"}}}


def with_budget(size: int) -> tuple[str, ...]:
    """A server whose caches share so many bytes."""
    code = f"import smem_lsp.server.process as p; p.MOST_KEPT = {size}\n"
    return (
        sys.executable,
        "-c",
        code + "import smem_lsp.server; raise SystemExit(smem_lsp.server.serve(None))",
    )


def opened(client: Client, folder: Path, texts: list[str], *, pull: bool = False) -> list[str]:
    uris = [(folder / f"k{n}.cu").as_uri() for n in range(len(texts))]
    for uri, text in zip(uris, texts):
        client.open(uri, text)
        if pull:
            client.pulled(uri)
        else:
            client.published(uri, 1)
    return uris


OTHERS = [UNUSED.replace("k(", f"k{n}(") for n in range(3)]


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("size", [1, 32_000_000])
@pytest.mark.parametrize("asked", ["hover", "actions", "lens", "hints", "map", "pull"])
def test_a_document_that_was_let_go_gives_the_same_answers(asked: str, size: int, tmp_path: Path) -> None:
    pull = asked == "pull"
    at = place(MERGEABLE, "red[")

    def answer(client: Client, uri: str) -> Any:
        match asked:
            case "hover":
                return client.hover(uri, *at)
            case "actions":
                found = client.actions(uri, place(MERGEABLE, "spare"))
                return [
                    client.request("codeAction/resolve", each)["edit"] for each in found if "data" in each
                ]
            case "lens":
                return client.request("textDocument/codeLens", {"textDocument": {"uri": uri}})
            case "hints":
                whole = {"start": {"line": 0, "character": 0}, "end": {"line": 20, "character": 0}}
                return client.request(
                    "textDocument/inlayHint", {"textDocument": {"uri": uri}, "range": whole}
                )
            case "map":
                return client.request("smem/layout", {**client.at(uri, 2, 20), "format": "text", "width": 80})
            case _:
                return client.pulled(uri)

    with serving(PULL if pull else PUSH, command=with_budget(size), **DEBUG) as client:
        (uri,) = opened(client, tmp_path, [MERGEABLE], pull=pull)
        before = answer(client, uri)
        opened(client, tmp_path / "others", OTHERS, pull=pull)
        with client.arrived:
            client.received.clear()
        assert AGAIN not in client.log
        assert answer(client, uri) == before and before
        if pull:
            assert client.pulled(uri, before["resultId"])["kind"] == "unchanged"
        client.hover(uri, *at)
        client.request("smem/explain", {"code": "SMEM101"})
        assert (AGAIN in client.log) == (size == 1)
        assert not client.received  # nothing is sent twice, and no refresh


def test_a_header_renews_the_findings_of_a_document_that_was_let_go(tmp_path: Path) -> None:
    (tmp_path / "n.h").write_text("#define N 1\n")
    header = (tmp_path / "n.h").as_uri()
    text = '#include "n.h"\n#if N\n' + UNUSED + "#endif\n"
    with serving(PUSH, command=with_budget(1), **DEBUG) as client:
        (uri,) = opened(client, tmp_path, [text])
        opened(client, tmp_path / "others", OTHERS)
        client.open(header, "#define N 1\n", language="cpp")
        client.until(lambda: len(client.all_of("textDocument/publishDiagnostics")) >= 5)
        with client.arrived:
            client.received.clear()

        def last() -> list[object] | None:
            found = [p for p in client.all_of("textDocument/publishDiagnostics") if p["uri"] == uri]
            return diagnostic_codes(found[-1]["diagnostics"]) if found else None

        client.change(header, 2, {"text": "#define N 0\n"})
        client.until(lambda: last() == [], "end of the findings")
        client.change(header, 3, {"text": "#define N 2\n"})
        client.until(lambda: last() == ["SMEM101"], "finding")


def test_what_changed_unseen_is_told_once_it_is_seen(tmp_path: Path) -> None:
    (tmp_path / "n.h").write_text("#define N 1\n")
    text = '#include "n.h"\n#if N\n' + UNUSED + "#endif\n"
    with serving(PUSH, command=with_budget(1), **DEBUG) as client:
        (uri,) = opened(client, tmp_path, [text])
        opened(client, tmp_path / "others", OTHERS)
        with client.arrived:
            client.received.clear()
        (tmp_path / "n.h").write_text("#define N 0\n")
        time.sleep(2.5)  # a header is not looked at twice in two seconds
        client.hover(uri, 4, 19)
        assert client.published(uri, 1) == []


@pytest.mark.parametrize(("most", "left"), [(35, 3), (1_000, 10), (1, 1)])
def test_documents_share_the_budget(most: int, left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    async def story() -> None:
        owner = Waiting()
        watched = []
        for n in range(10):
            owner.analyses.changed(f"u{n}", at_once=True)
            waiting = asyncio.ensure_future(owner.analyses.fresh(f"u{n}"))
            await asyncio.sleep(0)
            owner.finish(weight=10)
            watched.append(ref(await waiting))
            owner.published.clear()
            owner.runs.clear()
            del waiting
            KEPT.begin()  # as the next check does
            KEPT.trim()
        KEPT.rest()
        alive = [n for n, each in enumerate(watched) if each() is not None]
        assert alive == list(range(10 - left, 10))
        gone = 10 - left
        for n in range(10):  # whatever is missed is made again, once, and nothing is published
            found = asyncio.ensure_future(owner.analyses.fresh(f"u{n}"))
            await asyncio.sleep(0)
            if owner.runs:
                owner.finish(weight=10)
                owner.runs.clear()
            assert (await found).snapshot.uri == f"u{n}"
        assert len(owner.renewed) >= gone and not owner.published
        assert left < 10 or not owner.renewed

    monkeypatch.setattr(KEPT, "_tables", WeakSet())
    monkeypatch.setattr(KEPT, "most", most)
    asyncio.run(story())


def test_an_edit_of_what_is_made_again_is_published(monkeypatch: pytest.MonkeyPatch) -> None:
    """And whoever waits gets the analysis of the new text."""

    async def story() -> None:
        owner = Waiting()
        owner.analyses.changed("u", at_once=True)
        owner.finish()
        await asyncio.sleep(0.01)
        first = owner.runs.pop()[0].revision
        owner.published.clear()
        owner.analyses._newest = None
        KEPT.rest()
        assert owner.analyses.latest("u") is None
        waiting = asyncio.ensure_future(owner.analyses.fresh("u"))
        await asyncio.sleep(0)
        assert [run.revision for run, _ in owner.runs] == [first]
        owner.analyses.changed("u", at_once=True)
        owner.runs[0][1].set_exception(Superseded())
        await asyncio.sleep(0.01)
        owner.finish()
        found = await waiting
        assert found is not None and owner.published == [found] and not owner.renewed

    monkeypatch.setattr(KEPT, "_tables", WeakSet())
    monkeypatch.setattr(KEPT, "most", 0)
    asyncio.run(story())
