"""The streams of a host function, drawn: a lane for each, and an arrow for each wait."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

from smem_lsp.engine import check
from smem_lsp.output.page_style import source_hash
from smem_lsp.output.stream_timeline import as_html, as_svg, as_text
from smem_lsp.rules.host_streams import streams_named

_TEXT = """\
__global__ void k(float* p) { p[threadIdx.x] = 1; }
void work(float* p) {
  cudaStream_t a, b;
  cudaEvent_t ready;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  cudaEventCreate(&ready);
  k<<<1, 32, 0, a>>>(p);
  cudaEventRecord(ready, a);
  cudaStreamWaitEvent(b, ready);
  k<<<1, 32, 0, b>>>(p);
  cudaStreamSynchronize(b);
  k<<<1, 32>>>(p);
  cudaEventDestroy(ready);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
"""


def test_text_and_picture_say_the_same() -> None:
    host = check(_TEXT, path="a.cu").host
    assert host is not None
    streams = streams_named(host, "work")
    assert streams is not None and [each.name for each in streams] == ["0", "a", "b"]
    assert as_text(streams).splitlines() == [
        *("stream 0", "13  ● launch k", ""),
        *("stream a", "8  ● launch k", "9  ◆ record ready", ""),
        *("stream b", "10  ▷ wait for ready", "11  ● launch k", "12  ■ the host waits"),
    ]
    root = ElementTree.fromstring(as_svg("work", streams))
    texts = [each.text for each in root.iter() if each.tag.endswith("}text")]
    assert texts[:5] == ["work: what happens in its streams", "host", "0", "a", "b"]
    assert texts[5:] == [
        *("8", "launch k", "9", "record ready", "10", "wait for ready"),
        *("11", "launch k", "12", "the host waits", "13", "launch k"),
    ]
    titles = [each.text for each in root.iter() if each.tag.endswith("}title")]
    assert titles == ["wait for ready, recorded in line 9", "the host waits in line 12"]


def test_names_are_escaped() -> None:
    host = check(_TEXT, path="a.cu").host
    assert host is not None
    assert "<T>" not in as_svg("host<T>", streams_named(host, "work") or ())


def test_a_kernel_and_an_unknown_name_have_no_streams() -> None:
    host = check(_TEXT, path="a.cu").host
    assert host is not None
    assert streams_named(host, "k") is None
    assert streams_named(host, "nobody") is None


def test_every_sign_of_the_text_is_one_of_four() -> None:
    path = Path(__file__).parents[1] / "host" / "programs" / "async_fork_join.cu"
    host = check(path.read_text(encoding="utf-8"), path=str(path)).host
    assert host is not None
    drawn = as_text(streams_named(host, "host") or ())
    assert set(re.findall(r"^ *\d+  (.)", drawn, re.M)) == {"●", "◆", "▷"}


def test_a_page_that_loads_nothing_has_the_picture() -> None:
    host = check(_TEXT, path="a.cu").host
    assert host is not None
    streams = streams_named(host, "work")
    assert streams is not None
    page = as_html("work", streams)
    assert as_svg("work", streams) in page and "<title>Streams of work</title>" in page
    (style,) = re.findall(r"<style>(.*?)</style>", page)
    assert (
        f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src '{source_hash(style)}'" in page
    )
    assert "<script" not in page
