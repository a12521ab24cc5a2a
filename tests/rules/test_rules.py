"""Every rule keeps the promises of its page, and is silent where it has nothing to say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from harness import check, check_layout

import smem_lsp.rules
from smem_lsp.config import Config
from smem_lsp.engine import Report, apply
from smem_lsp.engine import check as check_text
from smem_lsp.engine.cache import Cache
from smem_lsp.facts.attempts import LIMITS, Limits
from smem_lsp.fixes.model import Safety
from smem_lsp.rules.model import Finding, Rule, Severity
from smem_lsp.rules.names import UnknownRule, canonical, canonical_settings
from smem_lsp.rules.registry import ALL_NAMES, RESERVED, RULES, find_rule

PACKAGE = Path(next(iter(smem_lsp.rules.__path__)))
EVERY_RULE = pytest.mark.parametrize("rule", RULES.values(), ids=RULES)


def codes(report: Report) -> list[str]:
    return [finding.code for finding in report.findings]


def example(rule: Rule, heading: str = "Example") -> str:
    block = rule.block(heading)
    assert block is not None, f"{rule.code} has no {heading}"
    return block


# ---- the pages ---------------------------------------------------------------------------------------------


@EVERY_RULE
def test_a_page_says_why_and_what_and_how_far(rule: Rule) -> None:
    headings = re.findall(r"^## (.*)$", rule.doc, re.MULTILINE)
    assert {"Why", "Example", "Use instead", "Limits"} <= set(headings)
    assert len(set(headings)) == len(headings)
    first, second = rule.doc.strip().splitlines()[:2]
    assert first.endswith(".") and len(first) <= 130
    assert second == ""


def checked_example(rule: Rule, config: Config | None = None) -> Report:
    """No example is so long that a part of its analysis is stopped: there the limits are lower."""
    limits = Limits(file_seconds=0) if rule.code == "SMEM004" else LIMITS
    return check_text(example(rule), config=config, limits=limits)


@EVERY_RULE
def test_the_example_triggers_its_rule(rule: Rule) -> None:
    report = checked_example(rule)
    found = [finding for finding in report.findings if finding.code == rule.code]
    assert len(found) == 1
    assert found[0].severity >= rule.severity


@EVERY_RULE
def test_the_counter_example_does_not(rule: Rule) -> None:
    """Nor does any other: who follows one page is not sent to the next."""
    assert check_text(example(rule, "Use instead")).findings == ()


@EVERY_RULE
def test_a_safe_fix_turns_the_example_into_the_counter_example(rule: Rule) -> None:
    report = checked_example(rule)
    (finding,) = (finding for finding in report.findings if finding.code == rule.code)
    for fix in report.fixes_for(finding):
        if rule.code == "SMEM502":  # host code changes with it: never safe, and the example has none
            assert (fix.safety, fix.edits) == (Safety.DISPLAY, ())
            continue
        assert fix.safety is Safety.SAFE
        assert apply(example(rule), fix) == example(rule, "Use instead")


def test_the_rules_that_can_be_fixed() -> None:
    with_fix = set()
    for rule in RULES.values():
        report = check_text(example(rule))
        with_fix |= {finding.code for finding in report.findings if report.fixes_for(finding)}
    races = {"SMEM201", "SMEM202", "SMEM205", "SMEM206", "SMEM209"}
    assert with_fix == {"SMEM101", "SMEM204", "SMEM301", "SMEM302", "SMEM303", "SMEM401", "SMEM502", *races}


# ---- the registry ------------------------------------------------------------------------------------------


def test_every_module_of_a_rule_is_registered() -> None:
    modules = {path.stem for path in PACKAGE.glob("smem*_*.py")}
    assert {f"{rule.code.lower()}_{rule.name.replace('-', '_')}" for rule in RULES.values()} == modules


def test_codes_and_names_are_unique() -> None:
    assert list(RULES) == sorted(RULES)
    assert len(set(ALL_NAMES.values())) == len(ALL_NAMES)
    assert RULES.keys().isdisjoint(RESERVED)
    assert all(re.fullmatch(r"SMEM\d{3}", code) for code in ALL_NAMES)
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", name) for name in ALL_NAMES.values())


@EVERY_RULE
def test_a_rule_is_found_by_its_code_and_by_its_name(rule: Rule) -> None:
    assert find_rule(rule.code.lower()) is find_rule(rule.name.upper()) is rule


# ---- settings ----------------------------------------------------------------------------------------------


@EVERY_RULE
@pytest.mark.parametrize("by", ["code", "name"])
def test_a_rule_that_is_ignored_says_nothing(rule: Rule, by: str) -> None:
    report = check_text(example(rule), config=Config(ignore=(getattr(rule, by),)))
    assert rule.code not in codes(report)


@EVERY_RULE
def test_a_rule_that_alone_is_selected_speaks_alone(rule: Rule) -> None:
    needed = (rule.code, "SMEM301") if rule.code == "SMEM002" else (rule.code,)
    assert set(codes(checked_example(rule, Config(select=needed)))) == {rule.code}


@EVERY_RULE
@pytest.mark.parametrize("word", ["error", "warning", "info", "hint"])
def test_a_configured_severity_replaces_the_highest_and_caps_the_rest(rule: Rule, word: str) -> None:
    (plain,) = (f for f in checked_example(rule).findings if f.code == rule.code)
    config = Config(severity={rule.code: word})
    (finding,) = (f for f in checked_example(rule, config).findings if f.code == rule.code)
    wanted = Severity.parse(word)
    assert finding.severity == (wanted if plain.severity == rule.severity else max(wanted, plain.severity))


# ---- suppressions ------------------------------------------------------------------------------------------

SUPPRESSIBLE = [rule for code, rule in RULES.items() if not code.startswith("SMEM00")]


@pytest.mark.parametrize("rule", SUPPRESSIBLE, ids=lambda rule: rule.code)
@pytest.mark.parametrize("by", ["code", "name"])
def test_a_comment_on_the_line_silences(rule: Rule, by: str) -> None:
    text = example(rule)
    (finding,) = (finding for finding in check_text(text).findings if finding.code == rule.code)
    end = text.index("\n", finding.span.end)
    silenced = f"{text[:end]}  // smem: ignore[{getattr(rule, by)}]{text[end:]}"
    assert {rule.code, "SMEM002", "SMEM003"}.isdisjoint(codes(check_text(silenced)))


@pytest.mark.parametrize("rule", SUPPRESSIBLE, ids=lambda rule: rule.code)
def test_a_comment_for_the_whole_file_silences(rule: Rule) -> None:
    silenced = f"// smem: ignore-file[{rule.code}]\n{example(rule)}"
    assert {rule.code, "SMEM002"}.isdisjoint(codes(check_text(silenced)))


# ---- what is said, and where -------------------------------------------------------------------------------


def test_a_statement_that_is_not_understood_is_marked() -> None:
    check(
        """
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = (1.0f;
  //<^^^^^^^^^^^^^^^^^^^ SMEM001: not understood
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
"""
    )


def test_the_name_of_an_unused_buffer_is_marked() -> None:
    check(
        """
__global__ void k(float* out) {
  __shared__ float a[256], b[4];
                 //^ SMEM101: `a` is declared and never accessed
                         //^ SMEM101: `b` is declared and never accessed
  out[threadIdx.x] = 0.0f;
}
"""
    )


def test_the_last_of_the_merged_buffers_is_marked() -> None:
    report = check(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float tile[512];
  __shared__ float red[256];
                 //^^^ SMEM301: `red` can reuse `tile`: 3,072 → 2,048 B, no barrier added (dead after the barrier at
  int tid = threadIdx.x;
  tile[tid] = in[tid];
  tile[tid + 256] = in[tid + 256];
  __syncthreads();
  float s = tile[511 - tid];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
"""
    )
    (finding,) = (finding for finding in report.findings if finding.code == "SMEM301")
    assert finding.severity is Severity.INFO
    assert finding.buffers == ("tile", "red")
    assert [report.source.slice(note.span) for note in finding.related] == ["tile"]
    assert finding.data["bytes_before"] == 3072
    assert finding.data["bytes_after"] == 2048
    assert finding.data["bytes_saved"] == 1024
    assert finding.data["barriers_added"] == 0


TWO_LARGE = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
"""


def test_a_merge_that_ptxas_needs_is_a_warning() -> None:
    (finding,) = (f for f in check_text(TWO_LARGE).findings if f.code == "SMEM302")
    assert finding.severity is Severity.WARNING
    assert "with 1 added barrier 56,000 → 28,000 B, within the 49,152 B that ptxas accepts" in finding.message


def test_a_gained_block_is_a_warning_only_when_the_registers_are_known() -> None:
    text = TWO_LARGE.replace("7000", "4096").replace("6999", "4095")
    text += "void go(const float* in, float* out) { k<<<1, 256>>>(in, out); }\n"
    unknown = check_text(text, config=Config(arch=("sm_90",), ignore=("SMEM501",)))
    known = check_text(text, config=Config(arch=("sm_90",), registers=32, ignore=("SMEM501",)))
    assert [(f.code, f.severity) for f in unknown.findings] == [("SMEM302", Severity.INFO)]
    assert [(f.code, f.severity) for f in known.findings] == [("SMEM302", Severity.WARNING)]
    assert "6 → ≤ 8 blocks/SM on sm_90 (shared memory alone)" in unknown.findings[0].message
    assert "6 → 8 blocks/SM on sm_90" in known.findings[0].message


TWO_LAUNCHES = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[4096], b[4096];
  extern __shared__ float d[];
  const int t = threadIdx.x;
  a[t] = in[t];
  d[t] = 1;
  __syncthreads();
  float v = a[255 - t] + d[255 - t];
  __syncthreads();
  b[t] = v;
  __syncthreads();
  out[t] = b[255 - t];
}
void first(const float* in, float* out) { k<<<1, 256, 1024>>>(in, out); }
"""


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", "2 → 5 blocks/SM on sm_86, no barrier"),
        ("9000", "2 → 3 blocks/SM on sm_86 (9,000 B dynamic), no barrier"),
        ("n", None),  # as many as are passed there: not known
    ],
)
def test_launches_with_different_dynamic_bytes(more: str, words: str | None) -> None:
    """What is told holds for the launch with the most; where one of them is not known nothing is."""
    text = TWO_LAUNCHES + (
        f"void more(const float* in, float* out, int n) {{ k<<<1, 256, {more}>>>(in, out); }}\n"
        if more
        else ""
    )
    report = check_text(text, config=Config(arch=("sm_86",), registers=32))
    (finding,) = (finding for finding in report.findings if finding.code == "SMEM301")
    assert finding.severity is (Severity.INFO if words is None else Severity.WARNING)
    assert (words in finding.message) if words else "blocks/SM" not in finding.message


# ---- silence -----------------------------------------------------------------------------------------------


def test_padding_is_no_waste() -> None:
    check(
        """
__global__ void transpose(const float* in, float* out) {
  __shared__ float tile[32][33];
  int x = threadIdx.x, y = threadIdx.y;
  tile[y][x] = in[y * 32 + x];
  __syncthreads();
  out[y * 32 + x] = tile[x][y];
}
"""
    )


def test_few_bytes_are_not_worth_a_word() -> None:
    source = """
__global__ void k(const float* in, float* out) {
  __shared__ float a[31];
  __shared__ float b[31];
  int i = threadIdx.x % 31;
  a[i] = in[i];
  __syncthreads();
  float s = a[30 - i];
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204: no shared or global access needs this barrier
  b[i] = s;
  __syncthreads();
  out[i] = b[30 - i];
}
"""
    check(source)
    check_layout(source, declared=248, best=[(0, 124)])


def test_a_barrier_that_counts_threads_is_not_redundant() -> None:
    check(
        """
__global__ void k(const float* __restrict__ in, float* __restrict__ out) {
  float v = in[threadIdx.x];
  v += __syncthreads_count(threadIdx.x < 7);
  __syncthreads();
//^^^^^^^^^^^^^^^ SMEM204: no shared or global access needs this barrier
  out[threadIdx.x] = v;
}
"""
    )


@pytest.mark.parametrize(
    ("read", "launches", "told"),
    [
        ("N - 1 - tid", ("<256, true>", "<128, false>"), 1),
        ("Own ? tid : N - 1 - tid", ("<256, true>", "<128, true>"), 2),
        (
            "Own ? tid : N - 1 - tid",
            ("<256, true>", "<128, false>"),
            1,
        ),  # the second one is needed in one of them
        ("N - 1 - tid", ("<256, true>", "<size(), false>"), 0),  # not known which
        ("N - 1 - tid", (), 0),
    ],
)
def test_a_barrier_in_a_template_is_redundant_if_it_is_in_every_instance(
    read: str, launches: tuple[str, ...], told: int
) -> None:
    calls = "".join(f"  k{each}<<<1, {256 if '256' in each else 128}>>>(in, out);\n" for each in launches)
    report = check_text(
        "template <int N, bool Own>\n"
        "static __global__ void k(const float* __restrict__ in, float* __restrict__ out) {\n"
        "  __shared__ float s[N];\n"
        "  int tid = threadIdx.x;\n"
        "  s[tid] = in[tid];\n"
        "  __syncthreads();\n"
        "  s[tid] *= 2.0f;\n"
        "  __syncthreads();\n"
        f"  out[tid] = s[{read}];\n"
        "}\n"
        f"void host(const float* in, float* out) {{\n{calls}}}\n"
    )
    found = [finding for finding in report.findings if finding.code == "SMEM204"]
    assert len(found) == told
    assert all(finding.message.endswith("in any of the 2 instances") for finding in found)
    assert all(report.fixes_for(finding) for finding in found)


def test_no_barrier_is_asked_for_where_it_gains_no_block() -> None:
    source = """
__global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  float s = a[255 - tid];
  b[tid] = s;
  __syncthreads();
  out[tid] = b[255 - tid];
}
"""
    check(source)
    check_layout(source, declared=2048, stack=2048, best=[(0, 2048), (1, 1024)])


HOLDING = """\
__device__ void fill(float* values);
__device__ float* kept;
__global__ void k(const float* in, float* out, int n) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
FIRST
  __syncthreads();
  float s = a[255 - tid];
  __syncthreads();
  b[tid] = s;
  __syncthreads();
  out[tid] = b[255 - tid] + LAST;
}
"""


def holding(first: str, last: str = "0.0f") -> str:
    return HOLDING.replace("FIRST", first).replace("LAST", last)


def test_the_silent_kernels_below_would_speak_without_their_reason() -> None:
    assert "SMEM301" in codes(check_text(holding("  a[tid] = in[tid];")))


@pytest.mark.parametrize(
    ("first", "last"),
    [
        pytest.param("  a[tid] = in[tid];\n  fill(a);", "0.0f", id="an unknown call gets the address"),
        pytest.param("  a[tid] = in[tid];\n  kept = a;", "0.0f", id="the address is stored"),
        pytest.param(
            "  a[tid] = in[tid];\n  size_t at = (size_t)a;", "at", id="the address becomes a number"
        ),
        pytest.param("  a[tid] = in[tid];\n  const float* p = a;", "p[tid]", id="a pointer reads it later"),
        pytest.param(
            "  if (tid < 128) a[tid] = in[tid]; else b[tid] = in[tid];", "0.0f", id="two arms at once"
        ),
        pytest.param("  s0 = a[tid];", "0.0f", id="it is read before anyone writes it"),
        pytest.param('  asm volatile("" : : "l"(a));\n  a[tid] = in[tid];', "0.0f", id="inline assembler"),
    ],
)
def test_no_merge_is_offered_where(first: str, last: str) -> None:
    report = check_text(holding(first.replace("s0", "float s0"), last))
    assert {"SMEM301", "SMEM302", "SMEM303"}.isdisjoint(codes(report))


def test_a_barrier_in_both_arms_of_a_divergent_branch_is_none() -> None:
    check(
        """
__global__ void k(const float* in, float* out) {
  __shared__ float a[256];
  __shared__ float b[256];
  int tid = threadIdx.x;
  a[tid] = in[tid];
  __syncthreads();
  float s = a[255 - tid];
  if (tid < 128) {
    __syncthreads();
  } else {
    __syncthreads();
  }
  b[tid] = s;
  __syncthreads();
  out[tid] = b[255 - tid];
}
"""
    )


@pytest.mark.parametrize("use", ["out[threadIdx.x] = a[0];", "a[0] = 1.0f;", "fill(a);"])
def test_a_buffer_that_only_an_inactive_branch_uses_is_used(use: str) -> None:
    report = check_text(
        f"""
__global__ void k(float* out) {{
  __shared__ float a[256];
#ifdef FAST
  {use}
#endif
  out[threadIdx.x] = 0.0f;
}}
"""
    )
    assert codes(report) == []


def test_a_buffer_that_only_an_inactive_branch_reads_is_read() -> None:
    check(
        """
__global__ void k(float* out) {
  __shared__ float a[256];
  a[threadIdx.x] = 1.0f;
#ifdef FAST
  out[threadIdx.x] = a[255 - threadIdx.x];
#endif
}
"""
    )


def test_a_volatile_buffer_that_is_only_written_is_left_alone() -> None:
    check(
        """
__global__ void k() {
  __shared__ volatile float a[256];
  a[threadIdx.x] = 1.0f;
}
"""
    )


# ---- what is never touched, and gaps -----------------------------------------------------------------------


def kernel(declarations: str, body: str, head: str = "__launch_bounds__(128)") -> str:
    return (
        f"__global__ void {head} k(const float* in, float* out, int n) {{\n{declarations}\n"
        f"  const int t = threadIdx.x;\n{body}\n}}\n"
    )


@pytest.mark.parametrize(
    ("declarations", "body", "unused"),
    [
        ("__shared__ float s[256];", "s[t] = in[t]; __syncthreads(); out[t] = s[127 - t];", 512),
        (
            "__shared__ float s[64][32];",
            "s[t / 32][t % 32] = in[t]; __syncthreads(); out[t] = s[3][t & 31];",
            7680,
        ),
        (
            "__shared__ float s[300];",
            "for (int i = t; i < 200; i += 128) s[i] = in[i]; __syncthreads(); out[t] = s[t];",
            400,
        ),
    ],
)
def test_a_tail_that_no_thread_reaches(declarations: str, body: str, unused: int) -> None:
    (finding,) = (f for f in check_text(kernel(declarations, body)).findings if f.code == "SMEM104")
    assert finding.data["bytes_unused"] == unused


@pytest.mark.parametrize(
    ("declarations", "body", "head"),
    [
        # padding and pitch: inner dimensions
        (
            "__shared__ float s[32][33];",
            "s[t / 4][t % 4] = in[t]; __syncthreads(); out[t] = s[t % 32][3];",
            "",
        ),
        # under 128 bytes
        ("__shared__ float s[150];", "s[t] = in[t]; __syncthreads(); out[t] = s[127 - t];", None),
        # the block may be larger
        ("__shared__ float s[256];", "s[t] = in[t]; __syncthreads(); out[t] = s[255 - t];", ""),
        # how far it reaches is data
        ("__shared__ float s[256];", "s[t] = in[t]; __syncthreads(); out[t] = s[int(in[t])];", None),
        ("__shared__ float s[256];", "for (int i = t; i < n; i += 128) s[i] = in[i]; out[t] = s[t];", None),
        # somebody else gets it
        ("__shared__ float s[256];", "s[t] = in[t]; fill(s); __syncthreads(); out[t] = s[127 - t];", None),
        ("__shared__ float s[256];", "float* p = s; if (n) p = out; p[t] = 1; p[t + n] = s[t];", None),
        # a wider access
        (
            "__shared__ __align__(16) float s[512];",
            "reinterpret_cast<float4*>(s)[t] = float4(); __syncthreads(); out[t] = s[127 - t];",
            None,
        ),
    ],
)
def test_a_tail_that_may_be_reached(declarations: str, body: str, head: str | None) -> None:
    text = kernel(declarations, body) if head is None else kernel(declarations, body, head)
    assert "SMEM104" not in codes(check_text(text))


def test_a_tail_of_one_instance_only() -> None:
    text = """\
template <int N> __global__ void __launch_bounds__(N) k(const float* in, float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[N - 1 - threadIdx.x];
}
template __global__ void k<64>(const float*, float*);
template __global__ void k<256>(const float*, float*);
"""
    assert "SMEM104" not in codes(check_text(text))


def test_gaps_that_another_order_would_not_have() -> None:
    gaps = (
        "__shared__ float a[9]; __shared__ __align__(512) float b[128]; __shared__ float c[9];"
        " __shared__ __align__(512) float d[128];"
    )
    use = "a[t % 9] = c[t % 9] = b[t] = d[t] = in[t]; __syncthreads(); out[t] = a[t % 9] + c[t % 9] + b[t] + d[t];"
    (finding,) = (f for f in check_text(kernel(gaps, use)).findings if f.code == "SMEM303")
    assert (finding.data["bytes_before"], finding.data["bytes_after"]) == (2048, 1096)
    assert "`b`, `d`, `a`, `c`" in finding.message


def test_gaps_too_small_to_say() -> None:
    gaps = "__shared__ char a[1]; __shared__ __align__(64) float b[128];"
    use = "a[0] = 1; b[t] = in[t]; __syncthreads(); out[t] = a[0] + b[127 - t];"
    assert "SMEM303" not in codes(check_text(kernel(gaps, use)))


# ---- launches ----------------------------------------------------------------------------------------------

LAUNCHED = """\
__global__ void k(const float* in, float* out, int n) {{
  extern __shared__ float s[];
  const int t = threadIdx.x;
  {body}
  __syncthreads();
  out[t] = s[0];
}}
void host(const float* in, float* out) {{
  {launch}
}}
"""


@pytest.mark.parametrize(
    ("body", "launch", "used"),
    [
        ("s[t] = in[t];", "k<<<1, 128, 256>>>(in, out, 1);", 512),
        ("for (int i = t; i < 1024; i += 128) s[i] = in[i];", "k<<<1, 128, 4000>>>(in, out, 1);", 4096),
        ("if (t < 96) s[t + 32] = in[t];", "k<<<1, 128, 500>>>(in, out, 1);", 512),
        ("float* b = s + 64; b[t] = in[t];", "k<<<1, 64, 64 * sizeof(float)>>>(in, out, 1);", 512),
        ("s[t] = in[t];", "constexpr int B = 64; dim3 block(B, 2); k<<<1, block>>>(in, out, 1);", 256),
    ],
)
def test_a_launch_with_too_few_bytes(body: str, launch: str, used: int) -> None:
    report = check_text(LAUNCHED.format(body=body, launch=launch))
    (finding,) = (f for f in report.findings if f.code == "SMEM504")
    assert finding.severity is Severity.ERROR
    assert finding.data["bytes_used"] == used


@pytest.mark.parametrize(
    ("body", "launch"),
    [
        ("s[t] = in[t];", "k<<<1, 128, 512>>>(in, out, 1);"),
        ("if (n > 4) s[t] = in[t];", "k<<<1, 128, 256>>>(in, out, 1);"),
        ("if (n > 4) return; s[t] = in[t];", "k<<<1, 128, 256>>>(in, out, 1);"),
        ("for (int i = t; i < n; i += 128) s[i] = in[i];", "k<<<1, 128, 4>>>(in, out, 1);"),
        ("s[int(in[t])] = 1;", "k<<<1, 128, 256>>>(in, out, 1);"),
        ("s[t] = in[t];", "k<<<1, n, 256>>>(in, out, 1);"),
        ("s[t] = in[t];", "k<<<1, 128, bytes()>>>(in, out, 1);"),
    ],
)
def test_a_launch_that_may_be_right(body: str, launch: str) -> None:
    assert "SMEM504" not in codes(check_text(LAUNCHED.format(body=body, launch=launch)))


@pytest.mark.parametrize(
    ("before", "after", "severity"),
    [
        ("", "", Severity.HINT),
        ("static ", "", Severity.ERROR),
        ("static ", "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);", None),
        ("", "cudaFuncSetAttribute(k, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);", None),
        (
            "",
            "auto f = &k; cudaFuncSetAttribute(f, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);",
            None,
        ),
        (
            "static ",
            "cudaFuncSetAttribute(other, cudaFuncAttributeMaxDynamicSharedMemorySize, 60000);",
            Severity.ERROR,
        ),
    ],
)
def test_more_than_48_kib_without_opting_in(before: str, after: str, severity: Severity | None) -> None:
    text = before + LAUNCHED.format(body="s[t] = in[t];", launch=f"{after} k<<<1, 128, 60000>>>(in, out, 1);")
    found = [f.severity for f in check_text(text).findings if f.code == "SMEM504"]
    assert found == ([] if severity is None else [severity])


def test_findings_at_launches_move_with_them() -> None:
    """The launch moves, the kernel does not: a second check with what the first remembers says the same as a fresh
    one."""
    text = LAUNCHED.format(body="s[t] = in[t];", launch="k<<<1, 128, 256>>>(in, out, 1);")
    cache = Cache()
    check_text(text, cache=cache)
    edited = text.replace("void host", "\n\n// a comment\nvoid host")
    assert check_text(edited, cache=cache).findings == check_text(edited).findings
    assert any(f.code == "SMEM504" for f in check_text(edited).findings)


def test_threads_that_no_launch_may_have() -> None:
    text = LAUNCHED.format(body="s[t] = in[t];", launch="k<<<1, 2048, 8192>>>(in, out, 1);")
    (finding,) = (f for f in check_text(text).findings if f.code == "SMEM505")
    assert "2,048 threads" in finding.message


# ---- SMEM401 -----------------------------------------------------------------------------------------------

ONLY_BANKS = Config(select=("SMEM401",))


def test_a_column_in_one_bank() -> None:
    check(
        """
        __global__ void k(const float* in, float* out, int n) {
          __shared__ float tile[32][32];
          int t = threadIdx.x;
          for (int i = 0; i < 32; i++) tile[i][t] = in[i * 32 + t];
          __syncthreads();
          float sum = tile[t][5];
                    //^^^^^^^^^^ SMEM401: `tile[t][5]`: 32 wavefronts instead of 1 (lanes are 32 words apart, all in
          for (int i = 0; i < n; i++) sum += tile[t][i * 7 % 32];
                                           //^^^^^^^^^^^^^^^^^^^ SMEM401: one column of padding (`tile[32][32 + 1]`)
          out[t] = sum;
        }
        """,
        config=ONLY_BANKS,
    )


def banked(body: str, *, declared: str = "float s[2048]", head: str = "", tail: str = "") -> list[Finding]:
    text = f"{head}__global__ void k(const float* in, float* out, int n) {{\n  __shared__ {declared};\n"
    text += f"  int t = threadIdx.x;\n  float acc = 0;\n  {body}\n  out[t] = acc;\n}}\n{tail}"
    return [finding for finding in check_text(text, config=ONLY_BANKS).findings if finding.code == "SMEM401"]


def test_a_conflict_is_a_warning_in_a_loop_only() -> None:
    (outside,) = banked("acc = s[t * 32];")
    assert outside.severity is Severity.HINT
    assert outside.data["in_loop"] is False
    (inside,) = banked("for (int i = 0; i < n; i++) acc += s[t * 32];")
    assert inside.severity is Severity.WARNING
    assert (inside.data["wavefronts"], inside.data["minimum"], inside.data["stride_words"]) == (32, 1, 32)
    assert banked("for (int i = 0; i < n; i++) acc += s[t * 2];") == []


def test_a_block_that_is_no_fact_is_named() -> None:
    launch = "void host(float* p) { k<<<1, dim3(16, 16)>>>(p, p, 4); }"
    body = "for (int i = 0; i < n; i++) acc += s[t * 32 + threadIdx.y];"
    assert banked(body) == []
    (assumed,) = banked(body, tail=launch)
    assert "assumes 256 threads (launch line 8)" in assumed.message
    assert assumed.verdict == "likely"
    (known,) = banked(body, head="static ", tail=launch)
    assert "assumes" not in known.message
    assert known.verdict == "proved"


def test_an_expression_in_a_helper_is_said_once() -> None:
    helper = "__device__ float column(const float* p, int i) {\n  return p[i * 32];\n}\n"
    found = banked("acc = column(s, t); for (int i = 0; i < n; i++) acc += column(s, t);", head=helper)
    assert [(finding.severity, finding.message[:17]) for finding in found] == [
        (Severity.WARNING, "`p[i * 32]` in `s")
    ]


def test_instances_that_differ_are_named() -> None:
    text = """template <int N> __global__ void k(const float* in, float* out) {
  __shared__ float s[32][N];
  s[threadIdx.x][5] = in[threadIdx.x];
  out[threadIdx.x] = s[5][threadIdx.x];
}
template __global__ void k<32>(const float*, float*);
template __global__ void k<33>(const float*, float*);
"""
    (finding,) = check_text(text, config=ONLY_BANKS).findings
    assert finding.message.endswith("(`s[32][N + 1]`) removes it (in k<32>)")


def test_a_conflict_moves_with_its_kernel() -> None:
    text = example(RULES["SMEM401"])
    cache = Cache()
    check_text(text, cache=cache)
    edited = f"// one\n// two\n{text}"
    assert check_text(edited, cache=cache).findings == check_text(edited).findings


def test_a_buffer_of_a_helper_is_used_where_the_helper_names_it() -> None:
    source = """
__device__ void helper(float* out) {
  extern __shared__ float raw[];
#ifdef STAGED
  out[threadIdx.x] = raw[threadIdx.x];
#endif
}
__global__ void k(float* out) { helper(out); }
"""
    assert "SMEM101" not in {finding.code for finding in check(source).findings}


# ---- names as they are written -----------------------------------------------------------------------------


@EVERY_RULE
def test_every_spelling_of_a_rule_is_one_name(rule: Rule) -> None:
    for written in (rule.code, rule.code.lower(), rule.name, rule.name.upper(), f" {rule.name.title()} "):
        assert canonical(written) == rule.code
    text = example(rule)
    needed = ("smem301",) if rule.code == "SMEM002" else ()
    found = checked_example(rule, Config(select=(rule.code.lower(), *needed)))
    assert set(codes(found)) == {rule.code}
    assert rule.code not in codes(check_text(text, config=Config(ignore=(rule.name.upper(),))))
    hint = check_text(text, config=Config(severity={rule.code.lower(): "hint"}))
    assert all(f.severity is Severity.HINT for f in hint.findings if f.code == rule.code)


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("SMEM999", "unknown rule `SMEM999`, did you mean"),
        ("missing-barier", "unknown rule `missing-barier`, did you mean `missing-barrier`?"),
        ("", "unknown rule ``; `smem-lsp rules` lists them"),
        ("SMEM601", "SMEM601 stream-leak is not built yet"),
        ("Stream-Leak", "SMEM601 stream-leak is not built yet"),
        ("SMEM6", "no rule of SMEM6 is built yet"),
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
        ignore=("SMEM601",),
        severity={"smem301": "info", "Mergeable-Buffers": "hint", "SMEM3": "info"},
        per_file_ignores={"*.cu": ("smem201", "x")},
    )
    made, wrong = canonical_settings(config)
    assert (made.select, made.ignore) == (("SMEM3", "SMEM101"), ())
    assert (made.severity, made.per_file_ignores) == ({"SMEM301": "hint"}, {"*.cu": ("SMEM201",)})
    assert [each.key for each in wrong] == ["severity", "select", "ignore", "per-file-ignores"]
    assert canonical_settings(made) == (made, [])
