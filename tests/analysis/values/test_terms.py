"""Terms, their normal form and their bounds."""

from __future__ import annotations

import pytest
from analysis.asking import analyse

from smem_lsp.analysis.execution.slice import UnknownTerms, slice_of
from smem_lsp.analysis.values.evaluate import EvaluationBudget, Evaluator
from smem_lsp.ir.nodes import Loop, walk
from smem_lsp.terms.language import MAX_DEPTH, Const, OpaqueTerm, TermTable

# ---- one object for each expression --------------------------------------------------------------------------------


def test_equal_expressions_are_one_object() -> None:
    found = analyse("int i = tid * 4 + n; s[i] = s[threadIdx.x * 4 + n];")
    assert found.index(0) is found.index(1)


def test_terms_go_with_their_table() -> None:
    one, other = TermTable(), TermTable()
    assert one.thread("x") is one.thread("x")
    assert one.thread("x") is not other.thread("x")


@pytest.mark.parametrize(
    ("index", "folded"),
    [
        ("tid / blockDim.x", 0),
        ("tid - threadIdx.x", 0),
        ("tid == threadIdx.x", 1),
        ("tid < blockDim.x", 1),
        ("(2 + 3) * 4", 20),
        ("-7 / 2", -3),
        ("-1 < 2u", 0),
        ("-1 < 2", 1),
        ("-1 & 31", 31),
        ("n > 0 && 0", 0),
    ],
)
def test_folded(index: str, folded: int) -> None:
    term = analyse(f"s[{index}] = 0;").index()
    assert isinstance(term, Const)
    assert term.n == folded


@pytest.mark.parametrize(
    ("index", "same"),
    [
        ("tid / n * n + tid % n", "tid"),
        ("tid % n + n * (tid / n)", "tid"),
        ("m + tid / n * n + tid % n", "m + tid"),
        ("tid - tid / n * n", "tid % n"),
        ("m / n * n + m % n", "m"),  # towards zero, of a negative number, too
    ],
)
def test_a_quotient_and_its_rest_are_one_number(index: str, same: str) -> None:
    found = analyse(f"s[{index}] = s[{same}];", parameters="int n, int m")
    assert found.index(0) is found.index(1)


@pytest.mark.parametrize(
    "index", ["tid / n * m + tid % n", "tid / m * n + tid % n", "tid / n * n + m % n", "m - tid / n * n"]
)
def test_other_quotients_are_not(index: str) -> None:
    found = analyse(f"s[{index}] = s[tid];", parameters="int n, int m")
    assert found.index(0) is not found.index(1)


def test_a_parameter_may_be_no_number() -> None:
    term = analyse("s[n == n] = 0;", parameters="float n").index()
    assert not isinstance(term, Const)


def test_deep_expressions_are_lost_but_stay_uniform() -> None:
    table = TermTable()
    term = table.sym("n")
    for step in range(MAX_DEPTH + 5):
        term = table.op("*" if step % 2 else "+", term, table.sym("m"))
    assert not term.known
    assert term.level == 1


# ---- normal form ---------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tid + 1 + n", "n + tid + 1"),
        ("2 * (tid + n) - n", "tid * 2 + n"),
        ("n * tid + m * tid", "tid * (m + n)"),
        ("tid & 31", "tid % 32"),
        ("tid >> 5", "tid / 32"),
        ("tid << 2", "4 * tid"),
        ("tid / 32 * 32 + tid % 32", "tid"),
        ("(tid >> 5) * 32 + (tid & 31)", "tid"),
        ("tid / 4 / 8", "tid / 32"),
        ("tid % 64 % 32", "tid % 32"),
        ("(32 * tid + tid % 32) / 32", "tid"),
        ("(tid & 1) ^ 1", "1 - tid % 2"),
        ("(tid % 2 + 1) % 2", "1 - (tid & 1)"),
        ("(threadIdx.y * 16 + tid) % 16", "tid % 16"),
        ("tid / 256", "0"),
        ("min(tid + 1, n)", "min(1 + tid, n)"),
    ],
)
def test_one_normal_form(one: str, other: str) -> None:
    found = analyse(f"s[{one}] = s[{other}];")
    assert found.forms().equal(found.index(0), found.index(1))


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("tid", "tid + 1"),
        ("(tid - n) / 2 * 2 + (tid - n) % 2", "(tid - n) & ~1"),
        ("(tid - 1) >> 5", "(tid - 1) / 32"),  # rounds to another side below 0
        ("(n + 1) / 2 - n / 2", "1"),
        ("n & 31", "n % 32"),
        ("tid ^ 1", "1 - tid"),
        ("in[tid]", "in[tid + 0]"),  # a load is equal to no other
    ],
)
def test_different_normal_forms(one: str, other: str) -> None:
    found = analyse(f"int a = {one}; int b = {other}; s[a] = s[b];")
    assert not found.forms().equal(found.index(0), found.index(1))


def test_constant_difference() -> None:
    found = analyse("s[tid * n + 3] = s[n * tid - 4];")
    assert found.forms().difference(found.index(1), found.index(0)) == 7


def test_coefficients_are_polynomials_over_symbols() -> None:
    found = analyse("s[n * m * tid + 3 * n * tid + 5] = 0;")
    form = found.forms().linear(found.index())
    (atom,) = form.atoms
    assert form.coefficient(atom) == {("m", "n"): 1, ("n",): 3}
    assert form.constant == 5


# ---- values --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statements", "values"),
    [
        ("int i = tid; i += 2; s[i] = 0;", [2, 3, 4, 5]),
        ("int i = tid; s[i++] = 0;", [0, 1, 2, 3]),
        ("int i = tid; s[++i] = 0;", [1, 2, 3, 4]),
        ("int i = 1; if (tid > 1) i = 7; s[i] = 0;", [1, 1, 7, 7]),
        ("int i = 1; if (tid > 1) i = 7; else i = tid; s[i] = 0;", [0, 1, 7, 7]),
        ("int i = tid > 0 ? tid - 1 : 9; s[i] = 0;", [9, 0, 1, 2]),
        ("int i = 3; switch (4) { } s[i] = 0;", [3, 3, 3, 3]),
        ("int i = tid - 1; s[i] = 0;", [-1, 0, 1, 2]),
        ("uint3 at = threadIdx; s[at.x] = 0;", [0, 1, 2, 3]),
        ("dim3 size = blockDim; s[size.x - 1 - tid] = 0;", [3, 2, 1, 0]),
        ("unsigned char i = tid + 254; s[i] = 0;", [254, 255, 0, 1]),
        ("short i = tid - 2; s[i + 2] = 0;", [0, 1, 2, 3]),
        ("bool some = tid; s[some] = 0;", [0, 1, 1, 1]),
        ("float f = tid; s[(int)(f / 2)] = 0;", [0, 0, 1, 1]),
        ("int2 v; v.x = tid; v.y = 5; s[v.x + v.y] = 0;", [5, 6, 7, 8]),
        ("unsigned u = tid * 0x60000000u; s[u >> 29] = 0;", [0, 3, 6, 1]),
        ("int i = (int)(threadIdx.x << 30) >> 30; s[i + 2] = 0;", [2, 3, 0, 1]),
        ("s[(signed char)(tid + 126) + 128] = 0;", [254, 255, 0, 1]),
        ("s[__mul24(tid, 3)] = 0;", [0, 3, 6, 9]),
        ("s[__popc(tid) + __ffs(tid)] = 0;", [0, 2, 3, 3]),
        ("s[32 - __clz(tid)] = 0;", [0, 1, 2, 2]),
        ("s[(int)__log2f(8) * tid] = 0;", [0, 3, 6, 9]),
        ("s[(int)log2(4.0) * tid] = 0;", [0, 2, 4, 6]),
        ("s[__builtin_expect(tid, 0)] = 0;", [0, 1, 2, 3]),
        ('unsigned lane; asm("mov.u32 %0, %%laneid;" : "=r"(lane)); s[lane] = 0;', [0, 1, 2, 3]),
        ('int x; asm volatile("mov.u32 %0, %tid.x;" : "=r"(x)); s[x] = 0;', [0, 1, 2, 3]),
        ("int i = tid; int& r = *(&i); s[i] = tex1Dfetch<int>(t, i); s[tid] = 0;", [0, 1, 2, 3]),
        ("s[(int)threadIdx.x - 1 >= 0] = 0;", [0, 1, 1, 1]),
        ("s[threadIdx.x - 1 >= 0] = 0;", [1, 1, 1, 1]),
        ("unsigned u = threadIdx.x - 1; s[u < 2] = 0;", [0, 1, 1, 0]),
        ("long j = threadIdx.x - 1; s[j >= 0] = 0;", [1, 1, 1, 1]),
        ("long j = tid - 1; s[j >= 0] = 0;", [0, 1, 1, 1]),
        ("s[4 + (tid - 3) / 2] = 0;", [3, 3, 4, 4]),
        ("s[4 + (tid - 3) % 2] = 0;", [3, 4, 3, 4]),
        ("s[4 + (tid - 3 >> 1)] = 0;", [2, 3, 3, 4]),
        ("s[-tid + 4] = 0;", [4, 3, 2, 1]),
        ("s[min(tid - 1, 1) + 1] = 0;", [0, 1, 2, 2]),
        ("s[umin(tid - 1, 1)] = 0;", [1, 0, 1, 1]),
        ("s[abs(tid - 2)] = 0;", [2, 1, 0, 1]),
        ("int i = 3; for (; i >= 0; --i) { } s[i + 1] = 0;", [0, 0, 0, 0]),
        (
            "auto f = [&](int v) { if (v > 2) return 5; if (v > 0) return 6; return 7; }; s[f(tid)] = 0;",
            [7, 6, 6, 5],
        ),
        ("int i = 0; for (int j = 0; j < 4; ++j) i = j; s[tid] = 0;", [0, 1, 2, 3]),
        ("int j; for (j = 0; j < 4; ++j) { } s[j] = 0;", [4, 4, 4, 4]),
        ("int j; for (j = tid; j < tid + 1; ++j) { } s[tid] = 0;", [0, 1, 2, 3]),
    ],
)
def test_values_in_four_threads(statements: str, values: list[int]) -> None:
    assert Evaluator((4, 1, 1)).values(analyse(statements).index()) == values


@pytest.mark.parametrize(
    "statements",
    [
        "T i = tid - 1; s[i / 2] = 0;",  # perhaps unsigned: another number than -1
        "unsigned char i = in[tid]; s[i] = 0;",
        "float f = tid; s[(int)(f / 3)] = 0;",
        "int i = tid; int* p = &i; *p = 3; s[i] = 0;",
        "int i = tid; change(i); s[i] = 0;",
        "int i = 0; while (in[tid] > i) ++i; s[i] = 0;",
        "int i = s[tid]; s[i] = 0;",
        "s[tid / (tid - tid)] = 0;",
        "s[tid << 40] = 0;",
        "int2 v; v.x = tid; v.y = 0; int* p = &v.x; *p = 3; s[v.y] = 0;",
    ],
)
def test_no_value(statements: str) -> None:
    assert Evaluator((4, 1, 1)).values(analyse(statements).index()) is None


def test_no_value_is_known_once_the_work_is_done() -> None:
    index = analyse("s[(tid * 3 + 1) % 7] = 0;").index()
    whole = Evaluator((4, 1, 1), work=EvaluationBudget(16))
    assert whole.values(index) == [1, 4, 0, 3]
    spent = Evaluator((4, 1, 1), work=EvaluationBudget(3))
    assert spent.values(index) is None
    assert spent.within({}).only([1, 0, 0, 1]).values(index) is None


def test_values_of_some_threads_are_those_of_all() -> None:
    index = analyse("s[(tid * 3 + 1) % 7] = 0;").index()
    everyone = Evaluator((4, 1, 1))
    before = everyone.only([1, 0, 0, 1]).values(index)
    assert everyone.values(index) == [1, 4, 0, 3]
    assert everyone.only([1, 0, 0, 1]).values(index) == before == [1, 3]


def test_only_variables_that_count_are_slice_of() -> None:
    found = analyse(
        "int sum = 0, at = 0; for (int i = 0; i < 9; ++i) { sum += tid; at += 2; s[at] = 0; } s[0] = sum;"
    )
    ((point, loop),) = found.values.loops.items()
    index = found.values.indices[next(iter(found.values.indices))]
    kept = slice_of(found.values, [point], index).loops[point]
    assert len(loop.recurrences) == 3
    assert {each.by.n for each in kept.recurrences if isinstance(each.by, Const)} == {1, 2}


@pytest.mark.parametrize(
    ("statements", "unknown"),
    [
        ("int i = in[tid]; s[i] = 0;", True),
        ("int i = in[tid] + tid; s[i] = 0;", True),
        ("for (int i = in[0]; i < 9; ++i) s[i] = 0;", True),
        ("for (int i = tid; i < 9; ++i) s[i] = 0;", False),
        ("int j = 0; while (j * j < n) ++j; s[j] = 0;", False),
        ("int i = tid ? in[tid] : 0; s[i] = 0;", False),  # known in thread 0
    ],
)
def test_what_no_run_has_a_value_for(statements: str, unknown: bool) -> None:
    found = analyse(statements)
    assert (found.index() in UnknownTerms(found.values)) is unknown


def test_a_value_that_is_not_followed_has_an_origin() -> None:
    term = analyse("int i = s[tid]; s[i] = 0;").index()
    assert isinstance(term, OpaqueTerm)
    assert term.origin == "load"


@pytest.mark.parametrize(
    ("loop", "kind"),
    [
        ("for (int i = tid; i < n; i += blockDim.x) s[i] = 0;", "affine"),
        ("for (int i = n; i > 0; i >>= 1) s[i] = 0;", "geometric"),
        ("for (int i = 1; i < n; i *= 2) s[i] = 0;", "geometric"),
        ("int p = 0; for (int i = 0; i < n; ++i) { s[p] = 0; p ^= 1; }", "involution"),
        ("int p = 0; for (int i = 0; i < n; ++i) { s[p] = 0; p = 1 - p; }", "involution"),
        ("int p = 1; for (int i = 0; i < n; ++i) { s[p] = 0; p = p * 3 + 1; }", "other"),
        ("int p = 0; for (int i = 0; i < n; ++i) { s[p] = 0; p = i; }", "other"),
        ("int p = 0; for (int i = 0; i < n; ++i) { s[p] = 0; if (i == m) continue; p += 4; }", "other"),
    ],
)
def test_recurrences(loop: str, kind: str) -> None:
    found = analyse(loop)
    (point,) = [node.point for node in walk(found.kernel.body) if isinstance(node, Loop)]
    (recurrence,) = [r for r in found.values.loops[point].recurrences if r.atom is found.index()]
    assert recurrence.kind == kind


# ---- bounds --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("statements", "interval"),
    [
        ("for (int r = 0; r < 32; r += 8) s[r] = 0;", (0, 24)),
        ("for (int r = 3; r <= 32; r += 8) s[r] = 0;", (3, 27)),
        ("for (int r = 31; r >= 0; r -= 4) s[r] = 0;", (3, 31)),
        ("for (int r = 0; r < 32; r += threadIdx.x) s[r] = 0;", (0, 31)),
        ("s[tid] = 0;", (0, 255)),
        ("s[tid / 32] = 0;", (0, 7)),
        ("s[tid % 48] = 0;", (0, 47)),
        ("s[n & 31] = 0;", (0, 31)),
        ("s[min(tid, 10) + 1] = 0;", (1, 11)),
        ("s[tid < n ? 3 : 9] = 0;", (3, 9)),
        ("for (int i = tid; i < 512; i += 256) s[i] = 0;", (0, 511)),
        ("for (int i = 0; i <= 8; ++i) s[i] = 0;", (0, 8)),
        ("for (int i = 31; i >= 0; --i) s[i] = 0;", (0, 31)),
        ("for (int i = 128; i > 0; i >>= 1) s[i] = 0;", (1, 128)),
        ("int p = 0; for (int i = 0; i < n; ++i) { s[p] = 0; p ^= 1; }", (0, 1)),
        ("int p = 1; for (int i = 0; i < n; ++i) { s[p] = 0; p = 1 - p; }", (0, 1)),
        ("s[(tid & 7) | 8] = 0;", (8, 15)),
    ],
)
def test_bounds_of_256_threads(statements: str, interval: tuple[int, int]) -> None:
    assert analyse(statements).interval(dims=(256, 1, 1)) == interval


def test_bounds_for_any_block() -> None:
    assert analyse("s[tid] = 0;").interval() == (0, 1023)
    assert analyse("s[threadIdx.z] = 0;").interval() == (0, 63)


@pytest.mark.parametrize(
    ("index", "interval"),
    [
        ("blockDim.x - 1 - threadIdx.x", (0, 1023)),
        ("threadIdx.x + 3 - blockDim.x", (-1021, 2)),
        ("2 * (blockDim.x - threadIdx.x) + threadIdx.y", (2, 3071)),
        ("4 * blockDim.y - threadIdx.y", (4, 4096)),
        ("blockDim.x - 4 * threadIdx.x", (-3068, 1024)),
        ("blockDim.y - 1 - threadIdx.x", (-1023, 1023)),
    ],
)
def test_threads_are_less_than_their_block(index: str, interval: tuple[int, int]) -> None:
    assert analyse(f"s[{index}] = 0;").interval() == interval
