"""What MkDocs asks while it builds the site: the pages that are made, not written.

A page for each rule, from its module; the start page, from the README; the changelog; the schemas; memory maps of the
examples of the rules that are about layouts. Links out of this folder become plain words: the site has no address of
the repository to lead to.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

DRAWN = ("SMEM101", "SMEM104", "SMEM301", "SMEM302", "SMEM303")  # a map of their example helps
_LINK = re.compile(r"(?<!!)\[([^\]]*)\]\(([^)\s]+)\)")
_PICTURE = re.compile(r"!\[([^\]]*)\]\(([^)\s]+)\)")
_CODE = re.compile(r"^\| (SMEM\d{3}) \|", re.M)


def on_files(files: Files, config: Any) -> Files:
    from smem_lsp.config.schema import config_schema
    from smem_lsp.rules.registry import RULES
    from smem_lsp.targets import TARGETS

    def add(uri: str, content: str) -> None:
        files.append(File.generated(config, uri, content=content))

    add("index.md", _start_page())
    add("changelog.md", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"))
    for picture in sorted((ROOT / "tests" / "examples").glob("*.svg")):
        add(f"maps/{picture.name}", picture.read_text(encoding="utf-8"))
    for code, rule in RULES.items():
        add(f"rules/{code}.md", _rule_page(rule))
        if code in DRAWN:
            add(f"maps/{code}.svg", _map(rule))
    names = {code: rule.name for code, rule in RULES.items()}
    add("schema/smem.toml.json", json.dumps(config_schema(names, TARGETS), indent=2) + "\n")
    output = ROOT / "smem_lsp" / "output" / "schema.json"
    add("schema/output.json", output.read_text(encoding="utf-8"))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, files: Files) -> str:
    uri = page.file.src_uri
    if uri == "rules.md":
        markdown = _CODE.sub(r"| [\1](rules/\1.md) |", markdown)
    known = {file.src_uri for file in files}
    markdown = _PICTURE.sub(lambda found: _picture(found, uri), markdown)
    return _LINK.sub(lambda found: _link(found, uri, known), markdown)


def _picture(found: re.Match[str], uri: str) -> str:
    """Those of tests/examples are copied into ``maps``."""
    words, target = found.groups()
    if "tests/examples/" not in target:
        return found[0]
    up = "../" * uri.count("/")
    return f"![{words}]({up}maps/{target.rpartition('/')[2]})"


def _link(found: re.Match[str], uri: str, known: set[str]) -> str:
    words, target = found.groups()
    path = target.partition("#")[0]
    if not path or "://" in target:
        return found[0]
    parts = [*Path(uri).parts[:-1]]
    for part in Path(path).parts:
        if part != "..":
            parts.append(part)
        elif not parts:
            return f"{words} (`{path.replace('../', '')}` of the repository)"
        else:
            parts.pop()
    beside = ROOT / "docs" / Path(uri).parent
    missing = not any((folder / path).exists() for folder in (beside, ROOT))  # MkDocs says so
    return found[0] if missing or "/".join(parts) in known else f"{words} (`{path}` of the repository)"


def _start_page() -> str:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    return text.replace("](docs/", "](").replace("](CHANGELOG.md", "](changelog.md")


def _rule_page(rule: Any) -> str:
    head = f"# {rule.code} {rule.name}\n\nSeverity: {rule.default}\n\n"
    drawn = (
        f"## Memory map\n\n![Memory map of the example](../maps/{rule.code}.svg)\n\n"
        if rule.code in DRAWN
        else ""
    )
    before, limits, after = rule.doc.strip().partition("## Limits")
    silence = (
        f"## Configure\n\n`// smem: ignore[{rule.code}]` on a line silences it there, "
        f'`ignore = ["{rule.code}"]` everywhere; '
        f'`severity.{rule.code} = "info"` sets its highest severity ([settings](../settings.md)).\n'
    )
    return f"{head}{before}{drawn}{limits}{after}\n\n{silence}"


def _map(rule: Any) -> str:
    """What ``smem-lsp layout --format svg`` prints for the example of a rule."""
    from smem_lsp.engine import check
    from smem_lsp.output import layout_svg

    (example,) = re.findall(r"## Example\n\n```cuda\n(.*?)```", rule.doc, re.S)
    report = check(example, path=f"{rule.code}.cu")
    with_buffers = [index for index, each in enumerate(report.kernels) if each.kernel.buffers]
    return layout_svg.render(report, with_buffers[0])
