"""Code actions: what is offered where, and that applying one gives what the engine promised."""

from __future__ import annotations

from typing import Any

import pytest
from server.client import Client, ResponseError, serving
from server.samples import FIXED, MERGEABLE, PUSH, UNUSED, WITH_BARRIER, place
from test_final_wait import RING

from smem_lsp import apply, check
from smem_lsp.server.fix_all import changed_lines
from smem_lsp.source import LineIndex, apply_edits

URI = "file:///k.cu"
EAGER: dict[str, Any] = {
    "textDocument": {"codeAction": {"codeActionLiteralSupport": {"codeActionKind": {"valueSet": []}}}}
}


def applied(text: str, edit: dict[str, Any], version: int | None = 1) -> str:
    """What a client makes of a WorkspaceEdit for one document, columns in UTF-16 but the text in ASCII."""
    if version is None:
        changes = edit["changes"][URI]
    else:
        (document,) = edit["documentChanges"]
        assert document["textDocument"] == {"uri": URI, "version": version}
        changes = document["edits"]
    starts = LineIndex(text).starts
    for change in reversed(changes):
        start, end = (
            starts[p["line"]] + p["character"] for p in (change["range"]["start"], change["range"]["end"])
        )
        text = text[:start] + change["newText"] + text[end:]
    return text


def titled(actions: list[dict[str, Any]], start: str) -> dict[str, Any]:
    (found,) = [action for action in actions if action["title"].startswith(start)]
    return found


def resolved(client: Client, action: dict[str, Any]) -> dict[str, Any]:
    assert "edit" not in action
    found: dict[str, Any] = client.request("codeAction/resolve", action)
    return found


def test_the_fix_of_a_finding() -> None:
    with serving(PUSH) as client:
        client.open(URI, UNUSED)
        diagnostics = client.published(URI, 1)
        actions = client.actions(URI, place(UNUSED, "scratch"), diagnostics=diagnostics)
        action = titled(actions, "Remove the declaration of `scratch`")
        assert (action["kind"], action["isPreferred"], action["diagnostics"]) == (
            "quickfix",
            True,
            diagnostics,
        )
        assert applied(UNUSED, resolved(client, action)["edit"]) == FIXED


@pytest.mark.parametrize("line", [0, 2, 11])
def test_a_merge_anywhere_in_the_kernel_is_the_engines(line: int) -> None:
    (fix,) = (
        fix for f in check(MERGEABLE).findings if f.code == "SMEM301" for fix in check(MERGEABLE).fixes_for(f)
    )
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE)
        (action,) = client.actions(URI, (line, 12), only=["refactor.rewrite"])
        assert action["kind"] == "refactor.rewrite.mergeBuffers" and action["title"].startswith(
            "Merge tile + red"
        )
        assert applied(MERGEABLE, resolved(client, action)["edit"]) == apply(MERGEABLE, fix)


def test_a_merge_is_offered_once() -> None:
    """At the finding itself the quick fix says it already."""
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE)
        merges = [a for a in client.actions(URI, place(MERGEABLE, "red[")) if a["title"].startswith("Merge")]
        assert [action["kind"] for action in merges] == ["quickfix"]


def test_the_cursor_alone_lights_no_bulb_in_the_middle_of_a_kernel() -> None:
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE)
        inside = place(MERGEABLE, "float s")
        assert client.actions(URI, inside, triggerKind=2) == []
        assert client.actions(URI, inside, triggerKind=1)
        assert client.actions(URI, place(MERGEABLE, "tile["), triggerKind=2)


def test_every_point_of_the_curve_is_offered() -> None:
    with serving(PUSH) as client:
        client.open(URI, WITH_BARRIER)
        (action,) = client.actions(URI, (4, 10), only=["refactor"])
        assert action["title"] == "Merge a + b: −28,000 B, 1 barrier more"
        after = applied(WITH_BARRIER, resolved(client, action)["edit"])
        assert after.count("__syncthreads") == 3


def test_a_plan_with_one_more_wait_is_offered_once() -> None:
    with serving(PUSH) as client:
        client.open(URI, RING)
        actions = client.actions(URI, place(RING, "ring"), only=["refactor.rewrite"])
        (action,) = (each for each in actions if "1 wait more" in each["title"])
        assert applied(RING, resolved(client, action)["edit"]).count("__pipeline_wait_prior(0);") == 1


def in_iteration(*buffers: str) -> str:
    """A kernel that uses each of its buffers before the next one."""
    lines = [f"  __shared__ float {name};" for name in buffers]
    for name in (buffer.partition("[")[0] for buffer in buffers):
        lines += [
            f"  {name}[tid] = s;",
            "  __syncthreads();",
            f"  s += {name}[255 - tid];",
            "  __syncthreads();",
        ]
    head = "static __global__ void k(const float* in, float* out) {\n  int tid = threadIdx.x;\n  float s = in[tid];\n"
    tail = "  out[tid] = s;\n}\nvoid run(float* p) { k<<<1, 256>>>(p, p); }\n"
    return head + "\n".join(lines) + "\n" + tail


FOUR = in_iteration("a[256]", "b[256]", "c[512]", "d[256]")


def merges_at(text: str, start: tuple[int, int], end: tuple[int, int] | None = None) -> list[dict[str, Any]]:
    with serving(PUSH) as client:
        client.open(URI, text)
        actions = client.actions(URI, start, end or start, only=["refactor.rewrite.mergeBuffers"])
        for action in actions:
            action["after"] = applied(text, resolved(client, action)["edit"])
        return actions


def test_a_buffer_can_be_merged_with_each_of_the_others() -> None:
    actions = merges_at(FOUR, place(FOUR, "d["))
    assert [action["title"] for action in actions] == [
        "Merge a + b + c + d: −3,072 B",
        "Merge a + d: −1,024 B",
        "Merge b + d: −1,024 B",
        "Merge c + d: −1,024 B",
    ]
    assert [check(action["after"]).kernels[0].static_bytes for action in actions] == [2048, 4096, 4096, 4096]


def test_the_selected_buffers_are_merged() -> None:
    actions = merges_at(FOUR, place(FOUR, "b["), place(FOUR, "d["))
    assert [action["title"] for action in actions] == [
        "Merge a + b + c + d: −3,072 B",
        "Merge b + c + d: −2,048 B",
    ]
    after = check(actions[1]["after"])
    assert (after.kernels[0].static_bytes, "__shared__ float a[256];" in after.source.text) == (3072, True)


CHOOSING = {"initializationOptions": {"settings": {"nvcc": "off"}, "commands": ["smem.chooseAction"]}}
ANNOTATING = {
    **PUSH,
    "workspace": {"workspaceEdit": {"documentChanges": True, "changeAnnotationSupport": {}}},
}


def test_more_than_three_merges_are_one_entry_that_lets_the_user_choose() -> None:
    """Where the client has a list for them; what is chosen is resolved like any other action."""
    with serving(ANNOTATING, **CHOOSING) as client:
        client.open(URI, FOUR)
        actions = client.actions(URI, place(FOUR, "d["), only=["refactor.rewrite.mergeBuffers"])
        (entry,) = actions
        assert entry["title"] == "Merge other buffers (4 ways) ▾" and "data" not in entry
        assert entry["command"]["command"] == "smem.chooseAction"
        choices = entry["command"]["arguments"][0]["choices"]
        assert [choice["action"]["title"] for choice in choices][::3] == [
            "Merge a + b + c + d: −3,072 B",
            "Merge c + d: −1,024 B",
        ]
        assert choices[3]["detail"].startswith("Merge c, d: 5,120 → 4,096 B, no barrier added")
        edit = resolved(client, choices[3]["action"])["edit"]
        assert edit["changeAnnotations"]["fix"]["description"] == choices[3]["detail"]
        assert {each["annotationId"] for each in edit["documentChanges"][0]["edits"]} == {"fix"}
        assert check(applied(FOUR, edit)).kernels[0].static_bytes == 4096


SEVERAL = """\
__global__ void k(const float* in, float* out) {
  __shared__ float unused_a[256], unused_b[64], s[256];
  for (int i = 0; i < 9; ++i) {
    s[threadIdx.x] = in[i];
    __syncthreads();
    out[i] += s[255 - threadIdx.x];
  }
}
void run(float* p) { k<<<1, 256>>>(p, p); }
"""


def test_titles_are_short_and_one_action_is_preferred() -> None:
    with serving(PUSH) as client:
        client.open(URI, SEVERAL)
        actions = client.actions(URI, (0, 0), (8, 0))
        assert all(len(action["title"]) <= 60 for action in actions)
        assert [action["title"] for action in actions if action.get("isPreferred")] == [
            "Remove the declaration of `unused_a`"
        ]
        barrier = actions[0]  # the gravest finding comes first
        assert barrier["title"] == "Add `__syncthreads()` at the end of the loop (line 7)"
        detail = barrier["data"]["detail"]
        assert detail.startswith("Add `__syncthreads()` at the end of the loop (line 7) (assumes")


def test_elsewhere_in_the_kernel_only_the_whole_is_offered() -> None:
    (action,) = merges_at(FOUR, place(FOUR, "out[tid]"))
    assert action["title"].startswith("Merge a + b + c + d: ")


def test_sets_of_buffers_that_share_are_offered_one_by_one() -> None:
    text = """\
static __global__ void k(const float* in, float* out) {
  __shared__ float a[256], b[256], c[256], d[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  b[tid] = in[tid + 256];
  __syncthreads();
  float s = a[255 - tid] + b[255 - tid];
  __syncthreads();
  c[tid] = s;
  d[tid] = s * s;
  __syncthreads();
  out[tid] = c[255 - tid] + d[255 - tid];
}
void run(float* p) { k<<<1, 256>>>(p, p); }
"""
    actions = merges_at(text, place(text, "float s"))
    assert [action["title"] for action in actions] == [
        "Merge a + b + c + d: −2,048 B",
        "Merge a + c: −1,024 B",
        "Merge b + d: −1,024 B",
    ]


def test_a_menu_has_few_of_them() -> None:
    many = in_iteration(*(f"b{number}[{256 + 32 * number}]" for number in range(12)))
    whole, *parts = merges_at(many, place(many, "b11["))
    assert whole["title"].startswith("Merge b0 + b1 + b2 + ") and " more: −" in whole["title"]
    assert len(whole["title"]) <= 60
    assert [part["title"].partition(":")[0] for part in parts] == [
        f"Merge b{number} + b11" for number in (10, 9, 8, 7, 6, 5)
    ]


@pytest.mark.parametrize(
    ("only", "kinds"),
    [
        ([], {"quickfix", "source.fixAll.smem"}),
        ([""], {"quickfix", "refactor.rewrite.mergeBuffers", "source.fixAll.smem"}),
        (["quickfix"], {"quickfix"}),
        (["refactor.rewrite.mergeBuffers"], {"refactor.rewrite.mergeBuffers"}),
        (["source"], {"source.fixAll.smem"}),
        (["source.fixAll"], {"source.fixAll.smem"}),
        (["source.fixAll.ruff"], set()),
        (["refactor.extract"], set()),
    ],
)
def test_only_the_kinds_that_are_asked_for(client: Client, only: list[str], kinds: set[str]) -> None:
    context = {"only": only} if only else {}
    start, end = place(MERGEABLE, "red["), place(MERGEABLE, "spare")
    assert {action["kind"] for action in client.actions(URI, start, end, **context)} == kinds


@pytest.fixture(scope="module")
def client() -> Any:
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE)
        yield client


def test_suppress_here() -> None:
    with serving(PUSH) as client:
        client.open(URI, UNUSED)
        action = titled(client.actions(URI, place(UNUSED, "scratch")), "Suppress SMEM101 here")
        after = applied(UNUSED, resolved(client, action)["edit"])
        assert after.splitlines()[1] == "  // smem: ignore-next-line[SMEM101]"
        assert check(after).findings == ()


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        (
            "  // smem: ignore-next-line[SMEM102]\n  __shared__ float scratch[256];",
            "ignore-next-line[SMEM102, SMEM101]",
        ),
        ("  __shared__ float scratch[256];  // smem: ignore[SMEM102]: why", "ignore[SMEM102, SMEM101]: why"),
    ],
)
def test_suppress_joins_the_comment_that_is_there(before: str, expected: str) -> None:
    text = UNUSED.replace("  __shared__ float scratch[256];", before)
    with serving(PUSH) as client:
        client.open(URI, text)
        action = titled(client.actions(URI, place(text, "scratch")), "Suppress SMEM101 here")
        after = applied(text, resolved(client, action)["edit"])
        assert expected in after
        assert "SMEM101" not in [finding.code for finding in check(after).findings]


def test_suppress_keeps_the_files_line_ends() -> None:
    text = UNUSED.replace("\n", "\r\n")
    with serving(PUSH) as client:
        client.open(URI, text)
        action = titled(client.actions(URI, (1, 20)), "Suppress")
        assert "\r\n  // smem: ignore-next-line[SMEM101]\r\n" in applied(
            text, resolved(client, action)["edit"]
        )


def test_fix_all_takes_only_what_needs_no_thought() -> None:
    """The declaration goes; the merge, also safe, is a matter of taste."""
    with serving(PUSH) as client:
        client.open(URI, MERGEABLE)
        (action,) = client.actions(URI, (0, 0), only=["source.fixAll.smem"])
        after = applied(MERGEABLE, resolved(client, action)["edit"])
        assert after == MERGEABLE.replace("  __shared__ int spare[8];\n", "")


def test_fix_all_takes_a_rule_that_is_selected_by_name() -> None:
    settings = {"settings": {"select": ["SMEM301"], "severity": {"SMEM301": "info"}}}
    with serving(PUSH, initializationOptions=settings) as client:
        client.open(URI, MERGEABLE)
        (action,) = client.actions(URI, (0, 0), only=["source.fixAll.smem"])
        assert "(&red)[256]" in applied(MERGEABLE, resolved(client, action)["edit"])


def test_nothing_to_fix_is_no_action() -> None:
    with serving(PUSH) as client:
        client.open(URI, FIXED)
        assert client.actions(URI, (0, 0)) == []


def test_fix_all_is_absent_where_it_would_change_nothing() -> None:
    """The declaration comes from a macro, so its fix is refused."""
    text = "#define SCRATCH __shared__ float scratch[256];\n" + UNUSED.replace(
        "__shared__ float scratch[256];", "SCRATCH"
    )
    with serving(PUSH) as client:
        client.open(URI, text)
        assert [each["code"] for each in client.published(URI, 1)] == ["SMEM101"]
        assert client.actions(URI, (0, 0), only=["source.fixAll.smem"]) == []


def test_edits_come_at_once_to_clients_that_do_not_resolve() -> None:
    with serving(EAGER) as client:
        client.open(URI, UNUSED)
        action = titled(client.actions(URI, (1, 20)), "Remove")
        assert "isPreferred" not in action and "data" not in action
        assert applied(UNUSED, action["edit"], version=None) == FIXED
        (everything,) = client.actions(URI, (1, 20), only=["source.fixAll"])
        assert applied(UNUSED, everything["edit"], version=None) == FIXED


REFUSED = MERGEABLE.replace("__shared__ float red[256];", "SHARED(red)").replace(
    "__global__", "#define SHARED(name) __shared__ float name[256];\n__global__"
)


def test_a_refused_merge_gives_its_reason() -> None:
    with serving(PUSH) as client:
        client.open(URI, REFUSED)
        actions = client.actions(URI, place(REFUSED, "red)"))
        (refused,) = [
            action for action in actions if "disabled" in action and action["kind"] == "refactor.rewrite"
        ]
        assert refused["disabled"]["reason"].startswith("Cannot merge tile, red: ")
        assert "edit" not in resolved(client, refused)
        hover = client.hover(URI, *place(REFUSED, "red[tid]"))
        assert hover is not None and "but: Cannot merge" in hover


def test_a_refused_merge_is_not_sent_where_it_cannot_be_shown() -> None:
    with serving(EAGER) as client:
        client.open(URI, REFUSED)
        assert not [
            a for a in client.actions(URI, place(REFUSED, "red)")) if "disabled" in a or "Merge" in a["title"]
        ]


def test_an_action_of_an_older_text_is_not_resolved() -> None:
    with serving(PUSH) as client:
        client.open(URI, UNUSED)
        action = titled(client.actions(URI, (1, 20)), "Remove")
        client.change(URI, 2, {"text": "\n" + UNUSED})
        with pytest.raises(ResponseError) as caught:
            client.request("codeAction/resolve", action)
        assert caught.value.code == -32801


def test_changed_lines_lead_from_one_text_to_the_other() -> None:
    before = "".join(f"line {n}\n" for n in range(30))
    after = before.replace("line 3\n", "").replace("line 7\n", "seven\nand a half\n") + "the end"
    edits = list(changed_lines(before, after))
    assert apply_edits(before, edits) == after and len(edits) == 3
    assert list(changed_lines(before, before)) == []
