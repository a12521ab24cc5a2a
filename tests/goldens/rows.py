"""What a report says, as rows of plain data: one for the file, for each finding and kernel, for each contract.

Nothing of the product is imported but the report's own output, so that a record of an older commit can be made.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from smem_lsp.engine import FileReport, KernelReport

Row = dict[str, Any]
_OF_VERDICT = ("kind", "words", "proved_for", "assumes", "pairs", "apart", "reasons", "races")
_PLANS = ("plans", "carved", "carved_terms")
_UNTOLD = ("fingerprint", "name", "path")  # say nothing that the others do not


def rows_of(report: FileReport) -> list[Row]:
    """All of a report, in its order: fixes and verdicts are worked out for it."""
    from smem_lsp.output import json_

    rows = [{"row": "finding", **_told(each)} for each in json_.finding_objects(report, {})]
    rows += _kernels(report)
    rows += ({"row": "function", **_without_path(each)} for each in json_.function_objects(report))
    file = _without_path(json_.file_object(report))  # last: what was asked for above may have been cut
    file["stopped"] = sorted(file["stopped"])
    return [{"row": "file", **file}, *rows]


def line_of(row: Row) -> str:
    """As it is kept and compared."""
    return json.dumps(row, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def _told(finding: Row) -> Row:
    kept = {key: value for key, value in finding.items() if key not in _UNTOLD}
    kept["fixes"] = [
        {**fix, "edits": [_without_path(edit) for edit in fix["edits"]]} for fix in finding["fixes"]
    ]
    return kept


def _kernels(report: FileReport) -> Iterator[Row]:
    from smem_lsp.output import json_

    times: Counter[tuple[object, ...]] = Counter()
    for kernel in (*report.kernels, *report.rest):
        whole = json_.kernel_object(report.source, kernel)
        name = whole["instance"] or whole["name"]
        key = name, whole["line"]
        times[key] += 1
        yield {
            "row": "kernel",
            "kernel": name,
            "line": whole["line"],
            "number": times[key],
            "verdict": _verdict(kernel),
            "plans": {part: whole[part] for part in _PLANS},
            "rest": {
                key: value
                for key, value in whole.items()
                if key not in (*_PLANS, "races", "name", "instance", "line", "path")
            },
        }


def _verdict(kernel: KernelReport) -> Row:
    found = kernel.verdict
    told = {name: getattr(found, name) for name in _OF_VERDICT}
    told["kind"] = found.kind.value
    told["reasons"] = [[each.line, each.words, each.pairs] for each in found.reasons]
    told["shared"] = bool(kernel.kernel.buffers or kernel.kernel.helper_bytes)
    return told


def _without_path(row: Row) -> Row:
    return {key: value for key, value in row.items() if key != "path"}
