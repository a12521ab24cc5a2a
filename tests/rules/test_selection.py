"""Settings and comments choose the rules that speak, by code or by name, in any case."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from carets import codes
from loops import every
from rules.examples import EVERY_RULE, asked, checked_example, example

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.rules.model import Rule, Severity
from smem_lsp.rules.names import UnknownRule, canonical, canonical_settings
from smem_lsp.rules.registry import RULES
from smem_lsp.source import Span

KERNELS = Path(__file__).parents[1] / "kernels"


@EVERY_RULE
@every("by", ["code", "name"])
def test_a_rule_that_is_ignored_says_nothing(rule: Rule, by: str) -> None:
    report = check(example(rule), config=Config(ignore=(getattr(rule, by),)))
    assert rule.code not in codes(report)


@EVERY_RULE
def test_a_rule_that_alone_is_selected_speaks_alone(rule: Rule) -> None:
    needed = (rule.code, "SMEM301") if rule.code == "SMEM002" else (rule.code,)
    assert set(codes(checked_example(rule, Config(select=needed)))) == {rule.code}


@EVERY_RULE
@every("word", ["error", "warning", "info", "hint"])
def test_a_configured_severity_replaces_the_highest_and_caps_the_rest(rule: Rule, word: str) -> None:
    (plain,) = (f for f in checked_example(rule).findings if f.code == rule.code)
    config = Config(severity={rule.code: word})
    (finding,) = (f for f in checked_example(rule, config).findings if f.code == rule.code)
    wanted = Severity.parse(word)
    assert finding.severity == (wanted if plain.severity == rule.severity else max(wanted, plain.severity))


SUPPRESSIBLE = [rule for code, rule in RULES.items() if not code.startswith("SMEM00")]


@pytest.mark.parametrize("rule", SUPPRESSIBLE, ids=lambda rule: rule.code)
@every("by", ["code", "name"])
def test_a_comment_on_the_line_silences(rule: Rule, by: str) -> None:
    text = example(rule)
    (finding,) = (
        finding for finding in check(text, config=asked(rule)).findings if finding.code == rule.code
    )
    end = text.index("\n", finding.span.end)
    silenced = f"{text[:end]}  // smem: ignore[{getattr(rule, by)}]{text[end:]}"
    assert {rule.code, "SMEM002", "SMEM003"}.isdisjoint(codes(check(silenced, config=asked(rule))))


@pytest.mark.parametrize("rule", SUPPRESSIBLE, ids=lambda rule: rule.code)
def test_a_comment_for_the_whole_file_silences(rule: Rule) -> None:
    silenced = f"// smem: ignore-file[{rule.code}]\n{example(rule)}"
    assert {rule.code, "SMEM002"}.isdisjoint(codes(check(silenced, config=asked(rule))))


@EVERY_RULE
def test_every_spelling_of_a_rule_is_one_name(rule: Rule) -> None:
    for written in (rule.code, rule.code.lower(), rule.name, rule.name.upper(), f" {rule.name.title()} "):
        assert canonical(written) == rule.code
    text = example(rule)
    needed = ("smem301",) if rule.code == "SMEM002" else ()
    found = checked_example(rule, Config(select=(rule.code.lower(), *needed)))
    assert set(codes(found)) == {rule.code}
    assert rule.code not in codes(check(text, config=Config(ignore=(rule.name.upper(),))))
    hint = check(text, config=Config(severity={rule.code.lower(): "hint"}))
    assert all(f.severity is Severity.HINT for f in hint.findings if f.code == rule.code)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("SMEM999", "unknown rule `SMEM999`, did you mean"),
        ("missing-barier", "unknown rule `missing-barier`, did you mean `missing-barrier`?"),
        ("", "unknown rule ``; `smem-lsp rules` lists them"),
        ("Stream-Leaks", "unknown rule `Stream-Leaks`, did you mean `stream-leak`?"),
        ("smem9", "unknown rule `smem9`"),
        ("S", "unknown rule `S`"),
    ],
)
def test_a_word_that_means_nothing_is_an_error(written: str, problem: str) -> None:
    with pytest.raises(UnknownRule, match=f"^{re.escape(problem)}"):
        canonical(written, prefixes=True)


def test_settings_are_made_canonical_once() -> None:
    config = Config(
        select=("smem3", "Unused-Buffer", "SMEM101", "nothing"),
        ignore=("SMEM699",),
        severity={"smem301": "info", "Mergeable-Buffers": "hint", "SMEM3": "info"},
        per_file_ignores={"*.cu": ("smem201", "x")},
    )
    made, wrong = canonical_settings(config)
    assert (made.select, made.ignore) == (("SMEM3", "SMEM101"), ())
    assert (made.severity, made.per_file_ignores) == ({"SMEM301": "hint"}, {"*.cu": ("SMEM201",)})
    assert [each.key for each in wrong] == ["severity", "select", "ignore", "per-file-ignores"]
    assert canonical_settings(made) == (made, [])


UNUSED = "__global__ void k(float* out) { __shared__ float s[32]; out[0] = 0; }\n"
USED = "__global__ void q(float* out) { __shared__ float s[32]; s[0] = 0; out[0] = s[0]; }\n"
IN_A_HELPER = "__device__ void h(float* o) { __shared__ float s[32]; o[0] = 0; }\n"
CALLER = "__global__ void r(float* out) { __shared__ float t[32]; t[0] = 0; out[0] = t[0]; h(out); }\n"


def test_a_kernel_that_concerns_no_selected_rule_is_not_analysed() -> None:
    config = Config(select=("SMEM101",))
    report = check(UNUSED + USED, config=config, whole=False)
    assert [(each.code, each.kernel) for each in report.findings] == [("SMEM101", "k")]
    assert [each.kernel.name for each in report.kernels] == ["k"]
    assert [each.kernel.name for each in check(UNUSED + USED, config=config).kernels] == ["k", "q"]
    # an array of a function that it calls is a reason to look; every kernel concerns a rule that does not say which do
    assert [each.kernel.name for each in check(IN_A_HELPER + CALLER, config=config, whole=False).kernels] == [
        "r"
    ]
    both = Config(select=("SMEM101", "SMEM102"))
    assert [each.kernel.name for each in check(UNUSED + USED, config=both, whole=False).kernels] == ["k", "q"]


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if rule.concerns], ids=lambda rule: rule.code
)
def test_what_is_left_out_would_have_said_nothing(rule: Rule) -> None:
    """On all kernels of the tests, and on each with the name of every buffer used once."""
    config = Config(select=(rule.code,))
    for path in sorted(KERNELS.glob("*.cu")):
        text = path.read_text(encoding="utf-8")
        names = {buffer.name for facts in check(text).facts for buffer in facts.kernel.buffers}
        for one in (text, *(re.sub(rf"\b{name}\b", "other", text, count=1) for name in sorted(names))):
            assert said(one, config, whole=False) == said(one, config, whole=True)


PLAIN = "__global__ void k(int* p) { p[threadIdx.x] = plain(p[0]); }\n"
HELPERS = """\
#define TILE __shared__
__shared__ int everywhere[32];
__device__ int plain(int x) { return x + 1; }
__device__ int waits(int x) { __syncthreads(); return x; }
__device__ int deep(int x) { return waits(x); }
"""
FUNCTOR = "struct Waits { __device__ int operator()(int x) { __syncthreads(); return x; } };\n"


def test_a_kernel_without_shared_memory_and_barriers_is_not_analysed() -> None:
    launched = PLAIN + "void host(int* p) { k<<<dim3(8), 256>>>(p); }\n"
    assert not check(HELPERS + launched, whole=False).kernels
    assert check(HELPERS + launched).kernels  # a report that prints every kernel has it


@pytest.mark.parametrize(
    "text",
    [
        "__global__ void k(int* p) { TILE int s[32]; s[0] = 1; p[0] = s[0]; }",
        "__global__ void k(int* p) { p[0] = everywhere[0]; }",
        "__global__ void k(int* p) { __syncthreads(); p[0] = 1; }",
        "__global__ void k(int* p) { p[0] = deep(1); }",
        "template <int (*F)(int)> __global__ void k(int* p) { p[0] = F(1); }\n"
        "void host(int* p) { k<deep><<<1, 32>>>(p); }",
        FUNCTOR + "template <class F> __global__ void k(int* p, F f) { p[0] = f(1); }\n"
        "void host(int* p) { k<<<1, 32>>>(p, Waits()); }",
        "__global__ void k(int* p) { p[0] = __shfl_sync(1, p[1], 0); }",
        '__global__ void k(int* p) { asm volatile("bar.sync 0;"); p[0] = 1; }',
        "__global__ void k(int* p) { cutlass::arch::NamedBarrier(64, 1).sync(); p[0] = 1; }",
        "__global__ void __launch_bounds__(64) k(int* p) { p[0] = 1; }",
        "__global__ void __cluster_dims__(2, 1, 1) k(int* p) { p[0] = 1; }",
        PLAIN + "void host(int* p) { k<<<1, 32, 100000>>>(p); }",
        PLAIN + "void host(int* p) { k<<<1, 2048>>>(p); }",
    ],
    ids=[
        "in_a_macro",
        "outside_functions",
        "barrier",
        "through_functions",
        "function_as_argument",
        "functor",
        "exchange",
        "assembler",
        "named_barrier",
        "bounds",
        "cluster",
        "dynamic_bytes",
        "too_many_threads",
    ],
)
def test_a_kernel_that_may_share_or_wait_is_analysed(text: str) -> None:
    assert [each.kernel.name for each in check(HELPERS + text, whole=False).kernels] == ["k"]


@pytest.mark.parametrize(
    "rule", [rule for rule in RULES.values() if rule.on_kernel], ids=lambda rule: rule.code
)
def test_kernels_that_are_left_out_have_no_part_in_the_examples(rule: Rule) -> None:
    config = asked(rule)
    for text in (example(rule), example(rule, "Use instead")):
        assert said(text, config, whole=False) == said(text, config, whole=True)


def said(text: str, config: Config, *, whole: bool) -> list[tuple[str, Span]]:
    return [(each.message, each.span) for each in check(text, config=config, whole=whole).findings]
