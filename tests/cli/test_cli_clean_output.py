"""Names and texts of a stranger in everything that is printed: shown, and never obeyed by what shows it."""

from __future__ import annotations

import json
import os
import re
import unicodedata
import xml.etree.ElementTree as ET
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from smem_lsp.source import clipped, printable

Command = Callable[..., tuple[int, str, str]]
pytestmark = pytest.mark.real_engine

ESC = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b31m"
BIDI = "\u202egnp\u2066\u200b\ufeff\u2028"
HTML = '"><img src=x onerror=alert(1)>]]></style></script><script>alert(2)</script>&lt;'
GITHUB = "::error file=x,line=1::pwned"
NAMES = (
    f"{GITHUB}.cu",
    f"line\n{GITHUB}\r\n.cu",
    f"esc{ESC.replace('/', '')}.cu",
    f"bidi{BIDI}.cu",
    f"html{HTML.replace('/', '')}.cu",
    "markdown`[x](command:evil)`.cu",
    "runner##[add-mask]x.cu",
    "tab\tand\x7f.cu",
)
TEXT = f"""
#define N 256 /* {ESC} {BIDI} {HTML} */
#define EVIL(x) (x) // `{HTML}` [x](command:evil) ![y](http://evil)
// smem: ignore-next-line[{ESC}{HTML}]
// smem: ignore[`SMEM{BIDI}`]
// smem: assume(n == `{HTML}{ESC}`)
__global__ void k(const float* in, float* out, int n) {{
  __shared__ float a[N /* {HTML} {ESC} */];  // {GITHUB} {ESC} {BIDI} ##[error]
  __shared__ float b[N];
  __shared__ float unused[EVIL(4 /* {ESC} */)];
  int t = threadIdx.x;
  a[t] = in[t];
  __syncthreads();
  float s = a[255 - t];
  __syncthreads();
  b[t] = s;
  __syncthreads();
  out[t] = b[255 - t];
}}
__global__ void junk(float* out) {{
  __shared__ float c[N];
  c[threadIdx.x] = 1;
  {BIDI}{ESC} ` {HTML} ;
}}
void go(const float* in, float* out) {{ k<<<1, 256>>>(in, out, 1); }}
"""


@pytest.fixture
def project() -> list[str]:
    for name in NAMES:
        Path(name).write_text(TEXT, encoding="utf-8")
    Path(os.fsdecode(b"\xff\xfe.cu")).write_text(TEXT, encoding="utf-8")
    return sorted(path.name for path in Path().iterdir())


def judge(text: str, *, colour: bool = False) -> None:
    """Nothing but lines of characters that can be seen, and our colours."""
    if colour:
        text = re.sub(r"\x1b\[(?:0|1|1;3[1-6])m", "", text)
    hidden = {char for char in text if unicodedata.category(char) in ("Cc", "Cf", "Zl", "Zp")} - {"\n"}
    assert not hidden, f"{hidden!r} in {text[:2000]!r}"
    assert "##[" not in text
    for line in text.split("\n"):
        if line.lstrip().startswith("::"):
            finding, unread = (
                r"title=SMEM\d{3},file=[^,]*,line=\d",
                r"title=smem-lsp,file=[^,:]*::not checked: ",
            )
            assert re.match(rf"::(?:error|warning|notice) (?:{finding}|{unread})", line)


@pytest.mark.sampled(one_in=3)
@pytest.mark.parametrize("form", ["full", "concise", "json", "sarif", "github"])
@pytest.mark.parametrize("colour", ["never", "always"])
def test_check(smem: Command, project: list[str], form: str, colour: str) -> None:
    for given in (["."], project, ["missing\x1b[2J\n::error::x.cu"]):
        _, out, err = smem("check", "--statistics", "--output-format", form, "--color", colour, "--", *given)
        judge(out, colour=colour == "always" and form in ("full", "concise"))
        judge(err)
        for line in err.splitlines():
            assert line.startswith("smem-lsp: ") or re.match(
                r" *\d+  SMEM\d{3}  |\d+ (statement|kernel)", line
            )
    _, out, _ = smem("check", "--output-format", form, *project)
    if form == "json":
        assert (
            sorted({each["path"] for each in json.loads(out)["findings"]}) == project
        )  # as given all the same
    if form == "sarif":
        texts = [each["message"]["text"] for each in json.loads(out)["runs"][0]["results"]]
        assert texts and not any("](" in text.replace(r"\](", "") for text in texts)


def test_diff(smem: Command, project: list[str]) -> None:
    _, out, err = smem("check", "--diff", "--unsafe-fixes", "--select", "SMEM301", *project)
    judge(err)
    heads = [line for line in out.split("\n") if line.startswith(("--- ", "+++ "))]
    judge("\n".join(heads))
    assert len(heads) == 2 * len(project)  # one of each for every file: no name made another line
    assert r'--- "line\012::error file=x,line=1::pwned\015\012.cu"' in heads


def test_other_commands(smem: Command, project: list[str]) -> None:
    for name in project:
        for command in (
            ("layout",),
            ("layout", "--format", "json"),
            ("trace",),
            ("trace", "--format", "json"),
            ("config",),
            ("fit", "--vary", "N=128,256"),
            ("fit", "--vary", "N=128,256", "--format", "json"),
            ("verify", "--config", "no\x1b[31m\n.toml"),
            ("layout", "--arch", f"sm_{ESC}"),
            ("fit", "--vary", f"{ESC}=1"),
        ):
            _, out, err = smem(*command, name)
            judge(out)
            judge(err)
            assert err.count("\n") <= 1
    for arguments in (
        ("explain", f"x{ESC}\n"),
        (f"lay{ESC}\nout",),
        ("check", f"--fi{ESC}\nx"),
        ("rules", ESC),
    ):
        code, out, err = smem(*arguments)
        judge(err)
        assert (code, out, err.count("\n")) == (2, "", 1)


def test_settings(smem: Command) -> None:
    Path("k.cu").write_text("int x;\n")
    for text in (
        f"select = [{json.dumps(ESC)}]",
        f"{json.dumps(ESC + BIDI)} = 1",
        f"severity.SMEM101 = {json.dumps(GITHUB + ESC)}",
        f"defines = [{json.dumps('1' + ESC)}]",
        f"arch = [{json.dumps('sm_' + ESC)}]",
        f"include-dirs = [{json.dumps('no' + ESC + BIDI)}]",
        f"nvcc = {json.dumps('./' + ESC)}",
        f"compile-commands = {json.dumps('no' + ESC)}",
    ):
        Path("smem.toml").write_text(text.replace("\\u007f", "") + "\n", encoding="utf-8")
        for command in ("check", "config"):
            _, out, err = smem(command, ".")
            judge(out)
            judge(err)
            assert err.count("\n") <= 1


class Page(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.seen: set[tuple[str, str]] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen |= {(tag, name) for name, _ in attrs} | {(tag, "")}


def test_maps_hold_no_element_of_the_text(smem: Command, project: list[str]) -> None:
    harmless = re.sub(r"/\*.*?\*/|//.*", "", TEXT).replace(f"{BIDI}{ESC} ` {HTML} ;", "")
    Path("harmless.cu").write_text(harmless)

    def html(name: str) -> set[tuple[str, str]]:
        page = Page()
        out = smem("layout", name, "--format", "html")[1]
        judge(out)
        page.feed(out)
        return page.seen

    def svg(name: str) -> set[tuple[str, str]]:
        out = smem("layout", f"{name}:k", "--format", "svg")[1]
        judge(out)
        return {(node.tag, key) for node in ET.fromstring(out).iter() for key in (*node.attrib, "")}

    assert html("harmless.cu") and svg("harmless.cu")
    for name in project:
        assert html(name) <= html("harmless.cu")
        assert svg(name) <= svg("harmless.cu")


def test_printable() -> None:
    assert printable("plain → text, ünï, 漢字") == "plain → text, ünï, 漢字"
    assert printable("\x1b[1m\x07\n\t\r\x7f\x9b\u202e\ud800\U000e0041") == (
        r"\x1b[1m\x07\n\t\r\x7f\x9b\u202e\ud800\U000e0041"
    )
    assert printable("##[error]") == r"##\x5berror]"
    assert clipped("x" * 81) == "x" * 80 + "…"
