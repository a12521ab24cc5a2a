"""What stands in a hover is words and code, whatever the author of the file has called his things."""

from __future__ import annotations

import re

import pytest
from client import Client
from hypothesis import given
from hypothesis import strategies as st

from smem_lsp.server.markdown import markdown_line, plain_line


@pytest.mark.parametrize(
    ("line", "markdown", "plain"),
    [
        ("**`float a[256]`** 1,024 B", "**`float a[256]`** 1,024 B", "float a[256] 1,024 B"),
        ("Live: lines 3–9", "Live: lines 3–9", "Live: lines 3–9"),
        ("(sm_90, 256 threads)", "(sm_90, 256 threads)", "(sm_90, 256 threads)"),
        ("−64 B → 2 blocks/SM", "−64 B → 2 blocks/SM", "−64 B → 2 blocks/SM"),
        ("`<img src=x>`", "`<img src=x>`", "<img src=x>"),
        ("<img src=x>", r"\<img src=x>", "<img src=x>"),
        ("`a`<b>`c`", r"`a`\<b>`c`", "a<b>c"),
        ("a ` <b>", r"a ' \<b>", "a  <b>"),
        ("``` x", "' x", " x"),
        ("[x](command:evil)", r"\[x\](command\:evil)", "[x](command:evil)"),
        ("![x][y]", r"!\[x\]\[y\]", "![x][y]"),
        ("see https://x.y and www.x.y, a@b", r"see https\://x.y and www\.x.y, a\@b", None),
        ("\x1b[31m\n# x", r"\\x1b\[31m\\n# x", r"\x1b[31m\n# x"),
        ("`\u202e\r`", r"`\u202e\r`", r"\u202e\r"),
    ],
)
def test_lines(line: str, markdown: str, plain: str | None) -> None:
    assert markdown_line(line) == markdown
    assert plain_line(line) == (line if plain is None else plain)


CODE = re.compile(r"`[^`]*`")


@given(st.text("`*<>[]()!:\\\n\x1b abwcommand.@/#", max_size=40))
def test_outside_of_code_nothing_is_markup(line: str) -> None:
    made = markdown_line(line)
    words = CODE.sub("", made)
    assert "`" not in words
    assert not re.search(r"(?<!\\)(?:\\\\)*[<\[\]@]", words)
    assert not re.search(r"[A-Za-z]://", words)
    assert made.isprintable()


URI = "file:///hostile.cu"
TEXT = """
#define N 256
#define EVIL [x](command:evil) `<img src=x onerror=alert(1)>`
__global__ void k(const float* in, float* out, int n) {
  __shared__ float a[N /* <img src=x> ` [x](command:evil) \x1b[31m */];
  __shared__ float b[n > 0 ? sizeof("`<img src=x>`[x](command:y)\u202e") : 1];
  volatile __shared__ float c[EVIL];
  a[threadIdx.x] = b[threadIdx.x] + c[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
"""


def test_hovers_over_a_hostile_file() -> None:
    client = Client()
    try:
        client.initialize({"textDocument": {"hover": {"contentFormat": ["markdown"]}}})
        client.open(URI, TEXT)
        lines = TEXT.split("\n")
        places = [(number, at) for number, line in enumerate(lines) for at in range(0, len(line), 2)]
        found = [text for number, at in places if (text := client.hover(URI, number, at)) is not None]
    finally:
        client.kill()
    assert len(set(found)) >= 4
    for text in found:
        words = CODE.sub("", re.sub(r"```text\n.*?\n```", "", text, flags=re.S))
        assert "`" not in words
        assert not re.search(r"(?<!\\)[<\[]", words)
        assert text.replace("\n", "").isprintable()
