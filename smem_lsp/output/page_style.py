"""The style of an HTML map: one text, so that the page can name it by its hash."""

from __future__ import annotations

import base64
import hashlib
from dataclasses import field
from pathlib import Path

from smem_lsp.output.map_colours import DARK, FILLS, LIGHT, variables
from smem_lsp.output.map_labels import CUT, text_width
from smem_lsp.output.markup import number
from smem_lsp.output.svg_parts import MONO
from smem_lsp.source.record import dataclass

TEXT = 12.0  # font size of names and source lines, in pixels, as in the style sheet
WIDTHS = (150.0, 220.0, 300.0, 420.0)  # of panels for which the numbers of the byte axis are chosen


@dataclass(slots=True)
class StyleRules:
    """Style rules made for this page: a class for each place, so that no element needs a style of its own."""

    classes: dict[str, str] = field(default_factory=dict)
    lengths: set[tuple[str, int]] = field(default_factory=set)  # in columns, of names ("n") and sizes ("m")
    alternatives: int = 0  # the most layouts that one switch chooses from

    def place(self, **declarations: float | str) -> str:
        """A class with these declarations; numbers are pixels."""
        text = ";".join(
            f"{key.replace('_', '-')}:{value if isinstance(value, str) else f'{number(value)}px'}"
            for key, value in declarations.items()
        )
        return self.classes.setdefault(text, f"a{len(self.classes)}")


def beside(name: str) -> str:
    """The text of a file that lies beside this one."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def source_hash(text: str) -> str:
    """How a content security policy names an inline style or script."""
    return f"sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}"


def style_sheet(rules: StyleRules) -> str:
    """The style of a page: colours of the themes, the common part, and the rules of this page."""
    mono = f"--mono:{MONO}"
    parts = [
        f"body{{{variables(LIGHT)};{mono};color-scheme:light dark}}",
        f"@media (prefers-color-scheme:dark){{body{{{variables(DARK)}}}}}",
        f"body.vscode-light,body.vscode-high-contrast-light{{{variables(LIGHT)};color-scheme:light}}",
        f"body.vscode-dark,body.vscode-high-contrast:not(.vscode-high-contrast-light){{{variables(DARK)};color-scheme:dark}}",
        beside("layout_page.css"),
    ]
    parts += [f".f{shade}{{background-color:{colour}}}" for shade, colour in enumerate(FILLS)]
    for stripes, degrees in enumerate((135, 45, 0, 90), start=1):
        lines = f"repeating-linear-gradient({degrees}deg,transparent 0 5px,rgba(20,23,27,.3) 5px 6.5px)"
        parts.append(f".x{stripes}{{background-image:{lines}}}")
    parts += [f".{name}{{{text}}}" for text, name in rules.classes.items()]
    for kind, length in sorted(rules.lengths):
        narrow = f"@container (max-width:{number(text_width('m' * length, TEXT) + 6)}px)"
        hidden = f".h.{kind}{length}{{display:none}}.v.{kind}{length}{{display:block}}"
        parts.append(f"{narrow}{{{hidden if kind == 'n' else f'.{kind}{length}{{display:none}}'}}}")
    parts.append("@container (max-width:13px){.bar .lab{display:none}}")
    parts.append(f"@container (max-width:{number(text_width('m' * CUT, TEXT))}px){{.cut{{display:none}}}}")
    parts += [
        f"@container (max-width:{width - 1:.0f}px){{.w{width:.0f}{{display:none}}}}" for width in WIDTHS
    ]
    for order in range(rules.alternatives):
        chosen = f".kernel:has(.switch input[value='{order}']:checked) .q{order}"
        parts.append(f".q{order}{{display:none}}{chosen}{{display:block}}")
    return "\n".join(parts)
