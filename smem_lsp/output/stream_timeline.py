"""The streams of a host function side by side, in the order of the text: who waits for whom. As text and as SVG."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from smem_lsp.analysis.host.model import Token
from smem_lsp.output.map_colours import LIGHT
from smem_lsp.output.markup import element, escaped
from smem_lsp.output.page_style import source_hash
from smem_lsp.output.svg_parts import SANS_SERIF, css, stroke, text_at
from smem_lsp.rules.host_streams import Stream
from smem_lsp.source.record import dataclass

_LANE = 200.0  # pixels between two streams
_ROW = 26.0
_LEFT = 130.0  # of the first stream; the host stands before it
_TOP = 64.0
_HOST = 70.0


@dataclass(frozen=True, slots=True)
class _Row:
    """One token: the number of its stream, and its line."""

    lane: int
    line: int
    token: Token


def drawn(function: str, streams: Sequence[Stream], form: str) -> str:
    """``form``: "svg", "html"; else text."""
    match form:
        case "svg":
            return as_svg(function, streams)
        case "html":
            return as_html(function, streams)
    return as_text(streams)


def as_text(streams: Sequence[Stream]) -> str:
    """A paragraph for each stream."""
    return "\n".join("\n".join((f"stream {each.name}", *each.drawn, "")) for each in streams)


def as_svg(function: str, streams: Sequence[Stream]) -> str:
    """A picture: a lane for the host and one for each stream, time runs down."""
    rows = sorted(
        (_Row(lane, line, token) for lane, each in enumerate(streams) for line, token in each.tokens),
        key=lambda row: row.token.place,
    )
    width = _LEFT + _LANE * len(streams)
    bottom = _TOP + _ROW * len(rows)
    background = {"class": "bg", "fill": LIGHT["bg"], "width": width, "height": bottom + 16}
    parts = [
        element("rect", {"x": 0, "y": 0, **background}),
        text_at(16, 26, f"{function}: what happens in its streams", "ink", size=15, bold=True),
        *_lanes(streams, bottom),
        *_arrows(rows),
        *(mark for at, row in enumerate(rows) for mark in _marks(at, row)),
    ]
    look = {"font-family": SANS_SERIF, "font-size": 12, "role": "img"}
    size = {"width": width, "height": bottom + 16, "viewBox": f"0 0 {width:g} {bottom + 16:g}"}
    head = {"xmlns": "http://www.w3.org/2000/svg", **size, **look}
    return element("svg", head, element("style", {}, css()), *parts) + "\n"


def as_html(function: str, streams: Sequence[Stream]) -> str:
    """The picture as a page that loads nothing and runs nothing."""
    style, picture = css(), as_svg(function, streams)
    policy = f"default-src 'none'; base-uri 'none'; form-action 'none'; style-src '{source_hash(style)}'"
    lines = [
        "<!DOCTYPE html>",
        '<html lang="en">',
        "<head>",
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">',
        '<meta name="color-scheme" content="light dark">',
        f"<title>{escaped(f'Streams of {function}')}</title>",
        "</head>",
        f"<body>{picture}</body>",
        "</html>",
    ]
    return "\n".join(lines) + "\n"


def _x(lane: int) -> float:
    return _LEFT + _LANE * lane


def _y(row: int) -> float:
    return _TOP + _ROW * row + _ROW / 2


def _lanes(streams: Sequence[Stream], bottom: float) -> Iterator[str]:
    lanes = [(_HOST, "host"), *((_x(lane), each.name) for lane, each in enumerate(streams))]
    for x, name in lanes:
        yield text_at(x, _TOP - 12, name, "muted", bold=True, mono=name != "host", anchor="middle")
        yield stroke(f"M{x:g} {_TOP:g}V{bottom:g}", "grid", width=2.0)


def _marks(at: int, row: _Row) -> Iterator[str]:
    """The line, a sign in the lane, and what happens."""
    x, y = _x(row.lane), _y(at)
    yield text_at(36, y + 4, str(row.line), "muted", mono=True, anchor="end")
    filled = row.token.kind == "work"
    circle = {"cx": x, "cy": y, "r": 5.0, "class": "ink s-ink" if filled else "bg s-ink"}
    yield element("circle", {**circle, "fill": LIGHT["ink" if filled else "bg"], "stroke": LIGHT["ink"]})
    yield text_at(x + 12, y + 4, row.token.what, "ink", mono=True)


def _arrows(rows: Sequence[_Row]) -> Iterator[str]:
    """From each record to the waits that it serves, and from a stream to the host that waits for it."""
    recorded: dict[str, tuple[int, _Row]] = {}
    for at, row in enumerate(rows):
        event = row.token.event
        if row.token.kind == "record" and event is not None:
            recorded[event] = at, row
        elif row.token.kind == "wait" and event in recorded:
            start, record = recorded[event]
            between = _y(start) + _ROW / 2  # where no words stand
            path = f"M{_x(record.lane):g} {_y(start):g}V{between:g}H{_x(row.lane):g}V{_y(at) - 6:g}m-4 -6l4 6l4 -6"
            yield stroke(
                path, "barrier", width=1.6, title=f"{row.token.what}, recorded in line {record.line}"
            )
        elif row.token.kind == "host":
            path = f"M{_x(row.lane):g} {_y(at):g}H{_HOST + 2:g}m6 -4l-6 4l6 4"
            yield stroke(path, "barrier", width=1.6, dash="4 3", title=f"the host waits in line {row.line}")
