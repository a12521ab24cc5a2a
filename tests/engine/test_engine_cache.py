"""A check with the memory of earlier checks says what a check without any says."""

from __future__ import annotations

import gc
import os
import weakref
from pathlib import Path

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import FileReport, check, forget_files
from smem_lsp.engine.cache import ANALYSES
from smem_lsp.rules import cause_words
from smem_lsp.rules.registry import RULES
from smem_lsp.semantics.declarations import DeclaredNames
from smem_lsp.source import SourceText, Span
from smem_lsp.source.queries import PROCESS, Store

FULL = os.environ.get("SMEM_FULL") == "1"
KERNELS = sorted((Path(__file__).parents[1] / "kernels").glob("*.cu"))[:: 1 if FULL else 4]
EXAMPLES = {code: rule.block("Example") for code, rule in RULES.items()}
ABOVE = "// a line\n\n__device__ int unrelated(int x) { return x; }\n"
LAUNCH = "\nvoid elsewhere() { }\n"


def told(report: FileReport) -> list[object]:
    findings = [
        (f.code, f.message, f.span, f.severity, f.kernel, f.related, dict(f.data)) for f in report.findings
    ]
    fixes = [[(fix.title, fix.edits) for fix in report.fixes_for(f)] for f in report.findings]
    kernels = [
        (k.kernel.name, k.kernel.line, k.kernel.span, k.live, k.static_bytes, k.verdict.words)
        for k in report.kernels
    ]
    return [*findings, *fixes, *kernels, report.statistics]


@pytest.mark.sampled(one_in=4)
@pytest.mark.parametrize(
    "text",
    [
        *(path.read_text("utf-8") for path in KERNELS),
        *(example for example in EXAMPLES.values() if example is not None),
    ],
    ids=[*(path.name for path in KERNELS), *(code for code, text in EXAMPLES.items() if text is not None)],
)
def test_a_kernel_that_moved_is_judged_as_if_it_had_stood_there(text: str) -> None:
    cache = Store()
    config = Config(threads=256)
    versions = [
        text,
        ABOVE + text,
        ABOVE + text + LAUNCH,
        "\n" * 7 + text,
        text.replace("{\n", "{\n\n", 1),
        text,
    ]
    for version in versions:
        remembered = told(check(version, config=config, cache=cache))
        assert remembered == told(check(version, config=config))


SOME_EXAMPLES = [text for text in EXAMPLES.values() if text is not None][::3]


@pytest.mark.parametrize("text", SOME_EXAMPLES, ids=[text.split("(")[0][-20:] for text in SOME_EXAMPLES])
def test_an_edit_inside_a_kernel_is_judged_as_if_nothing_was_known(text: str) -> None:
    """Comments and blank lines, line ends between words, and statements that change nothing of what is asked."""
    cache = Store()
    unused = "{{\n  const float unused_here = {};\n"
    versions = [
        text,
        text.replace(";\n", ";  // remark\n"),
        text.replace(";\n", ";\n\n  /* over\n two lines */\n"),
        text.replace("float", "/**/ float").replace(" = ", "\n    = "),
        text.replace("{\n", unused.format("1.0f"), 1),
        text.replace("{\n", unused.format("2.0f * 3"), 1),
        text.replace("{\n", unused.format("2.0f * 3 +"), 1),
        text.replace("{\n", unused.format("2.0f * thr"), 1),
        text.replace("{\n", unused.format("2.0f * threadI"), 1),
        text,
    ]
    for version in versions:
        assert told(check(version, cache=cache)) == told(check(version))


def test_a_comment_lowers_and_analyses_nothing_again(monkeypatch: pytest.MonkeyPatch) -> None:
    text = KERNELS[0].read_text("utf-8")
    cache = Store()
    before = check(text, cache=cache)
    monkeypatch.setattr("smem_lsp.engine.cache.build_again", None)  # whoever calls it fails
    after = check(text.replace(";\n", ";  // remark\n"), cache=cache)
    assert [kernel.kernel.name for kernel in after.kernels] == [
        kernel.kernel.name for kernel in before.kernels
    ]
    assert not after.stopped


def test_a_statement_that_asks_nothing_new_is_lowered_and_not_analysed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = KERNELS[0].read_text("utf-8")
    one, other = (text.replace("{\n", f'{{\n  printf("{word}");\n', 1) for word in ("a", "b"))
    cache = Store()
    check(one, cache=cache)
    monkeypatch.setattr("smem_lsp.facts.kernel_analysis.data_flow", None)
    assert not check(other, cache=cache).stopped


def test_a_name_that_is_being_typed_is_assumed_and_not_analysed(monkeypatch: pytest.MonkeyPatch) -> None:
    text = KERNELS[0].read_text("utf-8")
    one, other = (
        text.replace("{\n", f"{{\n  float unused = 2.0f * {name};\n", 1) for name in ("thr", "threadI")
    )
    cache = Store()
    assert "thr reads no shared memory" in check(one, cache=cache).kernels[0].verdict.words
    monkeypatch.setattr("smem_lsp.facts.kernel_analysis.data_flow", None)
    after = check(other, cache=cache)
    assert not after.stopped
    assert "threadI reads no shared memory" in after.kernels[0].verdict.words


def test_a_launch_that_moves_alone_is_named_where_it_stands() -> None:
    kernel = """\
__global__ void k(float* o) {
  __shared__ float a[4096];
  __shared__ float b[4096];
  a[threadIdx.x] = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = b[255 - threadIdx.x];
}
"""
    cache = Store()
    for gap in (0, 3, 1):
        text = kernel + "\n" * gap + "void go(float* o) { k<<<1, 256>>>(o); }\n"
        assert told(check(text, cache=cache)) == told(check(text))


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        (EXAMPLES["SMEM204"], "*= 2.0f;", "*= 2.0f;  // once per cluster"),
        (
            """\
__global__ void k(float* o) {
  __shared__ float s[64];
  s[threadIdx.x] = o[threadIdx.x] +
      s[63 - threadIdx.x];
  o[threadIdx.x] = s[threadIdx.x];
}
void go(float* o) { k<<<1, 64>>>(o); }
""",
            "+\n",
            "+  // a; b\n",
        ),
        (
            """\
__global__ void k(float* o) {
  __shared__ float s[64];
  s[threadIdx.x] = o[threadIdx.x];
#if defined(Q)
  o[1] = 2;
#endif
  o[threadIdx.x] = 1;
}
""",
            "o[1] = 2;",
            "o[1] = 2;  // s is read",
        ),
    ],
    ids=["names of an order", "end of a statement", "name of an array"],
)
def test_no_rule_reads_comments(text: str | None, old: str, new: str) -> None:
    assert text is not None and old in text
    messages = [
        [each.message for each in check(version).findings] for version in (text, text.replace(old, new, 1))
    ]
    assert messages[0] == messages[1] != []


def test_an_edit_analyses_its_own_kernel_and_no_other(monkeypatch: pytest.MonkeyPatch) -> None:
    # a memory that other tests have not filled: a definition that is forgotten in between is analysed again
    PROCESS.clear()
    texts = [path.read_text("utf-8") for path in KERNELS][:6]
    text = "".join(texts)
    cache = Store()
    check(text, cache=cache)
    known = ANALYSES.count(cache)
    at = text.index("{", text.index("__global__")) + 1
    check(text[:at] + " int fresh = 1;" + text[at:], cache=cache)
    assert ANALYSES.count(cache) == known + 1
    check("// above\n" + text, cache=cache)
    check("#define UNRELATED 3\n" + text, cache=cache)
    check("struct Unrelated { int x; };\n" + text, cache=cache)
    assert ANALYSES.count(cache) == known + 1


def test_no_version_of_a_text_outlives_the_next_one() -> None:
    text = "".join(path.read_text("utf-8") for path in KERNELS[:6])
    places = [at + 1 for at in range(len(text)) if text.startswith("{\n", at)]
    cache, texts = Store(), list[weakref.ref[SourceText]]()
    gc.collect()
    gc.disable()
    try:
        for number, at in enumerate(places):
            report = check(f"{text[:at]} int fresh{number} = {number};{text[at:]}", cache=cache)
            assert all(report.fixes_for(finding) is not None for finding in report.findings)
            texts.append(weakref.ref(report.source))
    finally:
        gc.enable()
    gc.collect()  # once, behind all: what it frees nothing but a cycle has kept
    alive = [version() for version in texts]
    assert len(alive) > 10
    assert [version is not None for version in alive] == [*[False] * (len(alive) - 1), True]


def test_other_rules_are_asked_of_a_kernel_that_has_moved() -> None:
    text, cache = KERNELS[0].read_text("utf-8"), Store()
    few, all_rules = Config(threads=256, select=["SMEM1"]), Config(threads=256)
    check(text, config=few, cache=cache)
    assert told(check(ABOVE + text, config=all_rules, cache=cache)) == told(
        check(ABOVE + text, config=all_rules)
    )


AROUND = """\
constexpr int SIZE = 256;
__device__ float pick(const float* p) {
  return p[0];
}
__global__ void k(float* o) {
  __shared__ float a[SIZE];
  __shared__ float b[SIZE];
  a[threadIdx.x] = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = a[255 - threadIdx.x] + pick(a);
  __syncthreads();
  b[threadIdx.x] = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = b[255 - threadIdx.x];
}
void go(float* o) {
  k<<<1, 256>>>(o);
}
"""

EDITS = {
    "a constant": ("SIZE = 256", "SIZE = 512"),
    "a function that it calls": ("return p[0];", "__syncthreads();\n  return p[1];"),
    "shared memory in that function": (
        "return p[0];",
        "__shared__ float s[8];\n  s[0] = p[0];\n  return s[0];",
    ),
    "a launch": ("<<<1, 256>>>", "<<<1, 128>>>"),
    "dynamic bytes": ("<<<1, 256>>>", "<<<1, 256, 64>>>"),
    "another launch": ("(o);\n}\n", "(o);\n}\nvoid more(float* o) {\n  k<<<1, 64>>>(o);\n}\n"),
    "an overload": ("void go", "__global__ void k(int* o) {\n  o[0] = 1;\n}\nvoid go"),
    "a namespace around it": ("__device__", "namespace {\n__device__"),
    "dynamic memory of another kernel": (
        "void go",
        "__global__ void other(int* o) {\n  extern __shared__ int d[];\n  o[0] = d[0];\n}\nvoid go",
    ),
}


@pytest.mark.parametrize("edit", EDITS.values(), ids=EDITS)
def test_what_stands_around_a_kernel_is_asked_again(
    edit: tuple[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    changed = AROUND.replace(*edit, 1)
    assert changed != AROUND
    texts = (AROUND, changed, AROUND, "\n" + changed)
    PROCESS.clear()
    cache = Store()
    remembered = [told(check(text, cache=cache)) for text in texts]
    for text, before in zip(texts, remembered):
        PROCESS.clear()
        assert before == told(check(text))


@pytest.mark.parametrize(
    ("above", "before", "after"),
    [
        ("struct V { float* p; __device__ V(float* q) : p(q{}) {} };\nusing W = V;", "", " + 8"),
        ("struct V { float* p; __device__ V(float* q) { p = q{}; } };\nusing W = V;", "", " + 8"),
        (
            "struct V { float* p; __device__ V(float* q) : p(q) {}\n"
            "__device__ float& operator()(int i) { return p[i{}]; } };\nusing W = V;",
            "",
            " + 8",
        ),
    ],
)
def test_an_edit_of_what_a_kernel_calls_without_its_name_is_seen(above: str, before: str, after: str) -> None:
    kernel = """
__global__ void k(float* o) {
  __shared__ float a[256];
  W w(a);
  if (threadIdx.x < 64) %s = o[threadIdx.x];
  __syncthreads();
  o[threadIdx.x] = a[threadIdx.x];
}
"""
    use = "w(threadIdx.x)" if "operator" in above else "w.p[threadIdx.x]"
    cache = Store()
    trees = []
    for spelled in (before, after):
        text = above.replace("{}", spelled, 1) if "q{}" in above else above.replace("i{}", f"i{spelled}")
        report = check(text + kernel % use, config=Config(threads=256), cache=cache)
        trees.append(report.kernels[0].kernel.body)
        assert trees[-1] == check(text + kernel % use, config=Config(threads=256)).kernels[0].kernel.body
    assert trees[0] != trees[1]


def test_targets_that_are_configured_are_no_defaults() -> None:
    """SMEM501 speaks of targets that somebody chose: the same names, now chosen, are another question."""
    text = """__global__ void __launch_bounds__(256, 7) k(const float* in, float* out) {
  __shared__ float a[6000];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = a[255 - threadIdx.x];
}
"""
    store = Store()
    for config in (Config(), Config(arch_configured=True)):
        assert check(text, config=config, cache=store).findings == check(text, config=config).findings


def test_a_reason_that_names_a_line_moves_with_its_kernel() -> None:
    text = "__global__ void k(int* p) {\n  __shared__ int s[32];\n  s[0] = 1;\n  if (p[0]) goto in;\n  { in: ; }\n}\n"
    store = Store()
    check(text, cache=store)
    moved = f"\n\n{text}"
    (now,), (fresh,) = check(moved, cache=store).facts, check(moved).facts
    assert [cause_words.told(each.kernel, each.withheld) for each in (now, fresh) if each.withheld] == [
        "goto at line 6"
    ] * 2


GIVEN_TYPES = """\
typedef enum { first, second } Metric;
struct Wide { int a; int b; struct Inner { float x; } in; };
template <typename T> struct Box { T of; };
namespace here { enum class Kind { small = 8, large = 16 }; }

template <Metric M, typename T, here::Kind K> __global__ void k(T* p) {
  __shared__ T s[(int)K * (M == second ? 8 : 4)];
#pragma unroll
  for (int i = 0; i < 2; ++i) s[threadIdx.x] = p[i];
  __syncthreads();
  p[threadIdx.x] = s[31 - threadIdx.x];
}

void f(Wide* w, Wide::Inner* i, Box<Wide>* b) {
  k<first, Wide, here::Kind::small><<<1, 32>>>(w);
  k<second, Wide::Inner, here::Kind::large><<<1, 32>>>(i);
  k<second, Box<Wide>, here::Kind::small><<<1, 32>>>(b);
}
"""


@pytest.mark.parametrize("kept", ["build_again", "_InstanceSearch.run"])
def test_a_comment_beside_types_of_the_file_asks_nothing_again(
    kept: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not even where the instances of a template are given classes and enumerations of the file itself."""
    PROCESS.clear()
    cache = Store()
    before = check(GIVEN_TYPES, cache=cache)
    assert len(before.kernels) == 3
    assert [each.static_bytes for each in before.kernels] == [384, 512, 768]
    room = "smem_lsp.engine.cache" if kept == "build_again" else "smem_lsp.unit.instances"
    monkeypatch.setattr(f"{room}.{kept}", None)  # whoever calls it fails
    after = check(GIVEN_TYPES.replace(";\n  p[", ";  // remark\n\n  p["), cache=cache)
    assert [each.kernel.instance for each in after.kernels] == [
        each.kernel.instance for each in before.kernels
    ]
    assert not after.stopped


CARVED = """\
struct alignas(32) Wide { float x[8]; };
__global__ void first(float* p) {
  extern __shared__ Wide wide[];
  p[0] = wide[threadIdx.x].x[0];
}
__global__ void k(float* p) {
  __shared__ float s[33];
  s[threadIdx.x] = p[threadIdx.x];
  __syncthreads();
  p[threadIdx.x] = s[31 - threadIdx.x];
}
"""


def test_what_an_array_rounds_totals_to_is_asked_again_where_its_type_has_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cache = Store()
    wider = CARVED.replace("alignas(32)", "alignas(64)")
    packed = "#pragma pack(1)\n" + CARVED
    rounded: list[int] = []
    for version in (CARVED, wider, packed, CARVED):
        after = check(version, cache=cache)
        assert told(after) == told(check(version))
        rounded.append(after.kernels[-1].kernel.rounding)
    assert rounded == [32, 64, 16, 32]
    monkeypatch.setattr("smem_lsp.unit.ptxas_rounding._asked", lambda *given: 128)
    after = check(CARVED.replace("s[33];", "s[33];  // remark"), cache=cache)
    assert not after.stopped
    assert after.kernels[-1].kernel.rounding == 32


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("small = 8", "small = 4"),
        ("{ first, second }", "{ first, second = 0 }"),
        ("int a;", "int a[3];"),
        ("{ float x; }", "{ double x; }"),
        ("{ T of; }", "{ T of[2]; }"),
        ("k<second, Wide::Inner", "k<first, Wide::Inner"),
        ("k<second, Box<Wide>", "k<second, Box<Wide::Inner>"),
    ],
)
def test_what_an_instance_is_given_is_asked_again(old: str, new: str) -> None:
    cache = Store()
    check(GIVEN_TYPES, cache=cache)
    changed = GIVEN_TYPES.replace(old, new, 1)
    assert told(check(changed, cache=cache)) == told(check(changed))
    assert told(check(changed)) != told(check(GIVEN_TYPES))


def test_a_constant_in_a_namespace_of_another_name_is_another_one() -> None:
    text = (
        "namespace a { constexpr int N = 32; }\nnamespace b { constexpr int N = 64; }\n"
        "__global__ void k(float* p) {\n  __shared__ float s[a::N];\n  s[threadIdx.x] = p[0];\n"
        "  __syncthreads();\n  p[threadIdx.x] = s[0];\n}\n"
    )
    swapped = text.replace("namespace a ", "namespace c ").replace("namespace b ", "namespace a ")
    swapped = swapped.replace("namespace c ", "namespace b ")
    cache = Store()
    assert check(text, cache=cache).kernels[0].static_bytes == 128
    assert check(swapped, cache=cache).kernels[0].static_bytes == 256


def declared(name: str) -> int:
    """In how many versions of a file that are in memory ``name`` is declared."""
    gc.collect()
    return sum(type(each) is DeclaredNames and name in each.names for each in gc.get_objects())


def test_nothing_keeps_what_a_file_declares_when_it_is_done() -> None:
    """Not the walk of host code, which tells kernels of one name apart by the types that the file declares."""
    text = GIVEN_TYPES + (
        "__global__ void o(Wide* p) { __shared__ int s[32]; s[threadIdx.x] = p->a; }\n"
        "__global__ void o(Wide::Inner* p) { __shared__ float s[32]; s[threadIdx.x] = p->x; }\n"
        "void h(Wide* w) { o<<<1, 32>>>(w); o<<<2, 32>>>(&w->in); }\n"
    )
    PROCESS.clear()
    launches = [kernel.kernel.launches for kernel in check(text).kernels]
    assert list(map(len, launches)) == [1, 1, 1, 1, 1]
    del launches
    assert declared("Wide") == 1
    forget_files()
    assert declared("Wide") == 0


def test_an_empty_line_in_front_of_a_macro_that_tells_its_line_lowers_nothing_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = """#define CHECK(x) if (!(x)) report(#x, __LINE__)
  __device__ void report(const char* what, int line) { printf("%s %d", what, line); }

  __global__ void k(float* p) {
    __shared__ float s[32];
    s[threadIdx.x] = p[threadIdx.x];
    CHECK(p);
    __syncthreads();
    CHECK(s[0] > 0);
    p[threadIdx.x] = s[31 - threadIdx.x];
  }
"""
    cache = Store()
    check(text, cache=cache)
    monkeypatch.setattr("smem_lsp.engine.cache.build_again", None)  # whoever calls it fails
    after = check(text.replace("\n  __global__", "\n\n\n  __global__"), cache=cache)
    assert len(after.kernels) == 1 and not after.stopped


def places_of(report: FileReport) -> list[Span]:
    """Where the buffers of the first kernel are."""
    kernel = report.kernels[0].kernel
    return [kernel.places.span(each.declared) for each in kernel.buffers]


def test_a_name_that_a_macro_spells_as_it_was_is_no_text_to_edit() -> None:
    """``#define red red`` leaves all tokens equal, but the names come out of the macro now."""
    text = KERNELS[0].with_name("02_needs_one_barrier.cu").read_text(encoding="utf-8")
    store = Store()
    check(text, path="k.cu", cache=store)
    changed = f"#define red red\n{text}"
    warm, cold = check(changed, path="k.cu", cache=store), check(changed, path="k.cu")
    assert places_of(warm) == places_of(cold)
    assert told(warm) == told(cold)
