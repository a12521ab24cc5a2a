"""Diagnostics on their way: pushed or pulled, for the newest text only, wherever the text comes from."""

from __future__ import annotations

from pathlib import Path

import pytest
from rules.race_texts import REDUCE, TWICE
from server.client import PATIENCE, ResponseError, held_back, replacing, serving
from server.samples import MERGEABLE, PULL, PUSH, UNUSED, diagnostic_codes, place

URI = "file:///k.cu"


def test_pushed_with_everything_the_client_takes() -> None:
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE, version=7)
        found = {d["code"]: d for d in client.published(URI, 7)}
        assert set(found) == {"SMEM101", "SMEM301"}
        unused, mergeable = found["SMEM101"], found["SMEM301"]
        line, column = place(MERGEABLE, "spare")
        assert unused["range"]["start"] == {"line": line, "character": column}
        assert (unused["severity"], unused["tags"], unused["source"]) == (2, [1], "smem")
        assert "codeDescription" not in unused
        (related,) = mergeable["relatedInformation"]
        assert related["location"]["uri"] == URI and "`tile`" in related["message"]
        assert "finding" in mergeable["data"]


def test_what_the_client_cannot_take_is_folded_in_or_left_out() -> None:
    with serving({}) as client:
        client.open(URI, MERGEABLE)
        found = {d["code"]: d for d in client.published(URI, 1)}
        assert "tags" not in found["SMEM101"]
        assert "relatedInformation" not in found["SMEM301"]
        assert "\nline 2: `tile`" in found["SMEM301"]["message"]


def test_never_pushed_to_a_client_that_pulls() -> None:
    with serving(PULL) as client:
        client.open(URI, MERGEABLE)
        first = client.pulled(URI)
        assert first["kind"] == "full" and set(diagnostic_codes(first["items"])) == {"SMEM101", "SMEM301"}
        again = client.pulled(URI, first["resultId"])
        assert again == {"kind": "unchanged", "resultId": first["resultId"]}
        client.change(URI, 2, {"text": UNUSED})
        second = client.pulled(URI, first["resultId"])
        assert diagnostic_codes(second["items"]) == ["SMEM101"]
        client.close(URI)
        assert client.pulled(URI)["items"] == []
        assert not client.all_of("textDocument/publishDiagnostics")


def test_an_edit_that_moves_nothing_leaves_the_result_unchanged() -> None:
    with serving(PULL) as client:
        client.open(URI, UNUSED)
        first = client.pulled(URI)
        client.change(URI, 2, {"text": UNUSED + "// the end\n"})
        assert client.pulled(URI, first["resultId"])["kind"] == "unchanged"


def test_a_pull_that_is_overtaken_asks_to_be_repeated(tmp_path: Path) -> None:
    with serving(PULL, command=held_back(tmp_path / "gate")) as client:
        client.open(URI, UNUSED)
        client.pulled(URI)
        client.change(URI, 2, {"text": UNUSED + "// slow\n"})
        overtaken = client.ask("textDocument/diagnostic", {"textDocument": {"uri": URI}})
        client.logged("under way")
        client.change(URI, 3, {"text": MERGEABLE})
        with pytest.raises(ResponseError) as caught:
            overtaken.result(PATIENCE)
        assert caught.value.code == -32802 and caught.value.data == {"retriggerRequest": True}
        (tmp_path / "gate").touch()
        assert len(client.pulled(URI)["items"]) == 2


def test_in_a_burst_only_the_newest_text_counts() -> None:
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE)
        client.published(URI, 1)
        for version in range(2, 60):
            client.change(URI, version, replacing((0, 0), (0, 0), "/"))
        client.change(URI, 60, {"text": UNUSED})
        assert diagnostic_codes(client.published(URI, 60)) == ["SMEM101"]
        client.change(URI, 61, {"text": MERGEABLE})
        client.published(URI, 61)
        versions = [params["version"] for params in client.all_of("textDocument/publishDiagnostics")]
        assert versions == sorted(set(versions)) and len(versions) < 61


def test_cleared_when_closed() -> None:
    with serving(PUSH) as client:
        client.open(URI, UNUSED)
        assert client.published(URI, 1)
        client.close(URI)
        assert client.published(URI, None) == []
        assert client.hover(URI, 1, 20) is None
        assert client.actions(URI, (1, 20)) == []
        assert client.request("textDocument/codeLens", {"textDocument": {"uri": URI}}) == []
        assert client.request("smem/layout", client.at(URI, 1, 20)) is None


def test_closed_in_the_middle_of_an_analysis(tmp_path: Path) -> None:
    with serving(PUSH, command=held_back(tmp_path / "gate")) as client:
        client.open(URI, MERGEABLE + "// slow\n")
        client.logged("under way")
        lenses = client.ask("textDocument/codeLens", {"textDocument": {"uri": URI}})
        client.close(URI)
        assert client.published(URI, None) == []
        assert lenses.result(PATIENCE) == []
        (tmp_path / "gate").touch()
        client.open("file:///other.cu", UNUSED)
        assert client.published("file:///other.cu", 1)
        assert [
            p["diagnostics"] for p in client.all_of("textDocument/publishDiagnostics") if p["uri"] == URI
        ] == [[]]


def test_a_lens_that_takes_long_comes_later(tmp_path: Path) -> None:
    asks_again = {**PUSH, "workspace": {"codeLens": {"refreshSupport": True}}}
    with serving(asks_again, command=held_back(tmp_path / "gate")) as client:
        client.open(URI, MERGEABLE)
        client.published(URI, 1)
        (lens,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        line, column = place(MERGEABLE, "256", after="red[")
        wider = replacing((line, column), (line, column + 3), "512")
        client.change(URI, 2, wider, replacing((0, 0), (0, 0), "// slow\n"))
        (earlier,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert earlier["command"]["title"] == lens["command"]["title"]
        assert not client.all_of("workspace/codeLens/refresh")
        (tmp_path / "gate").touch()
        client.wait_for("workspace/codeLens/refresh")
        (later,) = client.request("textDocument/codeLens", {"textDocument": {"uri": URI}})
        assert later["command"]["title"] != lens["command"]["title"]
        assert later["range"]["start"]["line"] == lens["range"]["start"]["line"] + 1


@pytest.mark.parametrize(("encoding", "width"), [("utf-8", 4), ("utf-16", 2), ("utf-32", 1)])
def test_columns_in_the_clients_encoding(encoding: str, width: int) -> None:
    text = UNUSED.replace("  __shared__", "  /* 😀 */ __shared__")
    with serving({**PUSH, "general": {"positionEncodings": [encoding]}}) as client:
        client.open(URI, text)
        (found,) = client.published(URI, 1)
        line, column = place(text, "scratch")
        assert found["range"]["start"] == {"line": line, "character": column + width - 1}
        # an edit behind the character, and a hover
        client.change(URI, 2, replacing((line, column + width - 1), (line, column + width + 6), "renamed"))
        assert "`renamed`" in client.published(URI, 2)[0]["message"]
        hover = client.hover(URI, line, column + width)
        assert hover is not None and "renamed[256]" in hover


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
def test_form_feeds_are_no_lines(encoding: str) -> None:
    text = "\x0c// page\x0btwo\u2028\x85\n" + UNUSED
    with serving({**PUSH, "general": {"positionEncodings": [encoding]}}) as client:
        client.open(URI, text)
        assert client.published(URI, 1)[0]["range"]["start"]["line"] == 2
        client.change(URI, 2, replacing((2, 2), (2, 12), "__shared__ volatile"))
        assert client.published(URI, 2)[0]["range"]["start"] == {"line": 2, "character": 28}


def test_carriage_returns_alone_end_lines() -> None:
    with serving(PUSH) as client:
        client.open(URI, UNUSED.replace("\n", "\r"))
        assert client.published(URI, 1)[0]["range"]["start"]["line"] == 1


def test_positions_outside_the_text() -> None:
    with serving(PUSH) as client:
        client.open(URI, UNUSED)
        client.change(
            URI, 2, replacing((99, 0), (99, 5), MERGEABLE), replacing((0, 999), (0, 999), " // end")
        )
        assert set(diagnostic_codes(client.published(URI, 2))) == {"SMEM101", "SMEM301"}
        assert client.hover(URI, 500, 500) is None
        assert client.actions(URI, (500, 0), (900, 0)) is not None
        line = {
            "textDocument": {"uri": URI},
            "range": {"start": {"line": 0, "character": 0}, "end": {"line": 2**31 - 1, "character": 0}},
        }
        assert client.request("textDocument/inlayHint", line)


@pytest.mark.parametrize("version", [1, 0, -5])
def test_versions_that_do_not_rise_still_count(version: int) -> None:
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE, version=1)
        client.published(URI, 1)
        client.change(URI, version, {"text": UNUSED})
        client.wait_for(
            "textDocument/publishDiagnostics",
            lambda p: p["version"] == version and diagnostic_codes(p["diagnostics"]) == ["SMEM101"],
        )
        client.logged("the edit counts")


def test_edits_of_documents_that_are_not_open() -> None:
    with serving(PUSH) as client:
        client.change(URI, 2, replacing((0, 0), (0, 0), "x"))
        client.close(URI)
        client.change(URI, 3, {"text": UNUSED})
        assert diagnostic_codes(client.published(URI, 3)) == ["SMEM101"]
        client.logged("is not open")


def test_untitled_buffers_by_their_language() -> None:
    with serving(PUSH) as client:
        for language in ("cuda-cpp", "cuda", "cuda_cpp"):
            uri = f"untitled:{language}"
            client.open(uri, UNUSED, language=language)
            assert diagnostic_codes(client.published(uri, 1)) == ["SMEM101"]
        client.open("untitled:cpp", UNUSED, language="cpp")
        assert client.published("untitled:cpp", 1) == []


def test_headers_count_when_they_hold_device_code() -> None:
    with serving(PUSH) as client:
        client.open("file:///a.h", "int host();\n", language="cpp")
        assert client.published("file:///a.h", 1) == []
        client.change("file:///a.h", 2, {"text": UNUSED})
        assert diagnostic_codes(client.published("file:///a.h", 2)) == ["SMEM101"]


def test_a_path_with_spaces_and_umlauts(tmp_path: Path) -> None:
    folder = tmp_path / "mein Käfer"
    folder.mkdir()
    (folder / "größe.h").write_text("#define N 64\n")
    uri = (folder / "kern.cu").as_uri()
    with serving(PUSH, folders=(folder.as_uri(),)) as client:
        client.open(
            uri,
            '#include "größe.h"\n__global__ void k(float* o) {\n  __shared__ float a[N];\n  o[0] = 1;\n}\n',
        )
        client.published(uri, 1)
        hover = client.hover(uri, 2, 19)
        assert hover is not None and "256 B" in hover


def test_an_open_header_is_read_as_its_editor_shows_it(tmp_path: Path) -> None:
    header, kernel = (tmp_path / "n.h").as_uri(), (tmp_path / "k.cu").as_uri()
    (tmp_path / "n.h").write_text("#define N 64\n")
    with serving(PUSH) as client:
        client.open(kernel, '#include "n.h"\n' + UNUSED.replace("256", "N"))
        client.published(kernel, 1)
        assert "256 B" in str(client.hover(kernel, 2, 20))
        client.open(header, "#define N 64\n", language="cpp")
        client.published(header, 1)
        client.change(header, 2, {"text": "#define N 32\n"})
        client.until(lambda: "128 B" in str(client.hover(kernel, 2, 20)), "second analysis of the kernel")


def test_many_findings_are_cut_off_with_a_word() -> None:
    text = "".join(UNUSED.replace("k(", f"k{n}(") for n in range(230))
    with serving(PUSH) as client:
        client.open(URI, text)
        found = client.published(URI, 1)
        assert len(found) == 201 and found[-1]["message"] == "30 more findings in this file are not shown"


def test_hover_does_not_wait_for_an_analysis(tmp_path: Path) -> None:
    """As long as one is under way, hovers come from the text before."""
    with serving(PUSH, command=held_back(tmp_path / "gate")) as client:
        client.open(URI, MERGEABLE)
        client.published(URI, 1)
        client.change(URI, 2, replacing((0, 0), (0, 0), "// slow\n"))
        client.logged("under way")
        line, column = place(MERGEABLE, "red[")
        assert "`float red[256]`" in str(client.hover(URI, line + 1, column))  # one line further down by now
        assert client.hover(URI, 0, 4) is None  # what was typed is not known yet
        assert not [p for p in client.all_of("textDocument/publishDiagnostics") if p["version"] == 2]
        (tmp_path / "gate").touch()
        client.published(URI, 2)


def test_a_place_in_a_header_has_the_location_of_the_header(tmp_path: Path) -> None:
    (tmp_path / "reduce.cuh").write_text(REDUCE)
    uri = (tmp_path / "k.cu").as_uri()
    with serving(PUSH) as client:
        client.open(uri, TWICE, version=1)
        (race,) = [each for each in client.published(uri, 1) if each["code"] == "SMEM201"]
    places = [
        (each["location"]["uri"], each["location"]["range"]["start"]["line"])
        for each in race["relatedInformation"]
    ]
    header = (tmp_path / "reduce.cuh").as_uri()
    assert places == [(header, 13), (uri, 3), (header, 3), (header, 10)]


def test_a_place_in_a_header_is_folded_in_with_its_path(tmp_path: Path) -> None:
    (tmp_path / "reduce.cuh").write_text(REDUCE)
    uri = (tmp_path / "k.cu").as_uri()
    with serving({}) as client:
        client.open(uri, TWICE)
        (race,) = [each for each in client.published(uri, 1) if each["code"] == "SMEM201"]
    assert "reduce.cuh:14: `slots` is read here" in race["message"]
    assert "\nline 4: `block_sum` is called here" in race["message"]
