"""What is not surely known is not told, and what is surely wrong is told however it is written."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from smem_lsp.config import Config
from smem_lsp.engine import apply, check
from smem_lsp.targets.dialects import HIP

_ALL = Config(select=("SMEM601", "SMEM602", "SMEM603"))
_KERNEL = "__global__ void k(float* p) { p[threadIdx.x] = 1; }\n"
_MORE = (
    "struct P { int n; };\n__global__ void kp(P* q) { q->n = 1; }\n"
    "__managed__ float m[4][4];\n__global__ void km() { m[0][0] = 1; }\n"
)


def _told(text: str, path: str = "a.cu") -> list[str]:
    report = check(text, path=path, config=_ALL)
    assert report.stopped == ()
    return [each.code for each in report.findings]


def test_nothing_is_said_of_what_is_doubtful() -> None:
    path = Path(__file__).parent / "doubtful.cu"
    report = check(path.read_text(encoding="utf-8"), path=str(path), config=_ALL)
    lines = report.source.text.splitlines()
    assert [
        (each.code, lines[report.source.line_number(each.span.start) - 1]) for each in report.findings
    ] == []
    assert report.unit is not None and len(report.unit.functions) > 65  # all of them are read


@pytest.mark.parametrize(
    ("body", "codes"),
    [
        ("cudaStream_t s; if (cudaStreamCreate(&s)) return;", ["SMEM601"]),
        ("cudaStream_t s{}; if (auto e = cudaStreamCreate(&s); e != cudaSuccess) return;", ["SMEM601"]),
        (
            "cudaStream_t a; { cudaEvent_t b; cudaEventCreate(&b); } cudaStreamCreate(&a); cudaStreamDestroy(a);",
            ["SMEM601"],
        ),
        ("cudaStream_t s; cudaStreamCreate(&s); s = nullptr;", ["SMEM601"]),
        ("cudaStream_t* s = new cudaStream_t[4]; cudaStreamCreate(&s[1]); delete[] s;", ["SMEM601"]),
        ("do { cudaEvent_t e; cudaEventCreate(&e); cudaEventRecord(e); } while (--n);", ["SMEM601"]),
        (
            "for (;;) { cudaStream_t s; cudaStreamCreate(&s); if (--n < 0) break; cudaStreamDestroy(s); }",
            ["SMEM601"],
        ),
        ("cudaStream_t s; cudaStreamCreate(&s); auto t = s; (void)t; k<<<1, 1, 0, t>>>(p);", ["SMEM601"]),
        ('float* q; cudaMallocManaged(&q, 4); k<<<1, 1>>>(q); printf("%f", *q); cudaFree(q);', ["SMEM602"]),
        ("float* q; cudaMallocManaged(&q, 4); k<<<1, 1>>>(q); memset(q, 0, 4); cudaFree(q);", ["SMEM602"]),
        (
            "float* q; cudaMallocManaged(&q, 4); cudaMemcpyAsync(p, q, 4, kind); q[0] += 1; cudaFree(q);",
            ["SMEM602"],
        ),
        (
            "float* q; cudaMallocManaged(&q, 4); cudaMemcpyAsync(p, q, 4, kind); p[0] = *q; cudaFree(q);",
            [],
        ),
        ("float* q; cudaMallocManaged(&q, 4); cudaMemset(q, 0, 4); q[0] = 1; cudaFree(q);", []),
        (
            "cudaStream_t s; cudaStreamCreate(&s); cudaStreamDestroy(s); cudaStreamSynchronize(s);",
            ["SMEM603"],
        ),
        ("cudaStreamDestroy(given); k<<<1, 1, 0, given>>>(p);", ["SMEM603"]),
        (
            "float* q; cudaMallocAsync(&q, 4, given); cudaFreeAsync(q, given); k<<<1, 1, 0, given>>>(q);",
            ["SMEM603"],
        ),
        (
            "float* q; cudaMallocAsync(&q, 4, given); cudaFreeAsync(q, given); cudaFreeAsync(q, given);",
            ["SMEM603"],
        ),
        # what is read is the value, wherever it goes
        ("float* q; cudaMallocManaged(&q, 4); k<<<1, 1>>>(q); float v(q[0]); cudaFree(q);", ["SMEM602"]),
        ("float* q; cudaMallocManaged(&q, 4); k<<<1, 1>>>(q); if (!q[0]) n = 1; cudaFree(q);", ["SMEM602"]),
        (
            "float* q; cudaMallocManaged(&q, 4); k<<<1, 1>>>(q); float& r = p[int(*q)]; cudaFree(q);",
            ["SMEM602"],
        ),
        ("P* q; cudaMallocManaged(&q, 4); kp<<<1, 1>>>(q); int v = q->n; cudaFree(q);", ["SMEM602"]),
        ("P* q; cudaMallocManaged(&q, 4); kp<<<1, 1>>>(q); while (q->n != 1); cudaFree(q);", ["SMEM602"]),
        ("P* q; cudaMallocManaged(&q, 4); kp<<<1, 1>>>(q); q[0].n = 1; cudaFree(q);", ["SMEM602"]),
        ("km<<<1, 1>>>(); p[0] = m[1][2];", ["SMEM602"]),
        ("km<<<1, 1>>>(); m[1][2] = 1;", ["SMEM602"]),
        ("km<<<1, 1>>>(); float* row = m[1]; float* r = *m; float s = **m;", ["SMEM602"]),
        ("km<<<1, 1>>>(); float* row = m[1]; float* r = *m; row = r + 1;", []),
        # behind a choice: where all paths had it, or none releases it, the choice excludes nothing
        (
            "cudaEvent_t e[2]; for (auto& each : e) cudaEventCreate(&each); if (n) return; "
            "for (auto each : e) cudaEventDestroy(each);",
            ["SMEM601"],
        ),
        (
            "cudaEvent_t e[2]; for (int i = 0; i < 2; ++i) cudaEventCreate(&e[i]); if (n) return; "
            "for (int i = 0; i < 2; ++i) cudaEventDestroy(e[i]);",
            ["SMEM601"],
        ),
        ("cudaStream_t s; if (n > 3) cudaStreamCreate(&s); if (n <= 3) return;", ["SMEM601"]),
        (
            "cudaStream_t s = 0; if (n > 3) cudaStreamCreate(&s); if (cudaMemset(p, 0, 4) != cudaSuccess) return; "
            "if (n > 3) cudaStreamDestroy(s);",
            ["SMEM601"],
        ),
        (
            "float* q; cudaMallocManaged(&q, 4); if (n > 3) k<<<1, 1>>>(q); q[0] = 1; cudaFree(q);",
            ["SMEM602"],
        ),
        (
            "float* q; cudaMallocManaged(&q, 4); k<<<1, 1>>>(q); if (n) q[0] = 1; cudaDeviceSynchronize(); "
            "cudaFree(q);",
            ["SMEM602"],
        ),
    ],
)
def test_what_is_surely_wrong_is_told(body: str, codes: list[str]) -> None:
    assert (
        _told(
            f"{_KERNEL}{_MORE}void host(float* p, cudaStream_t given, int n, cudaMemcpyKind kind) {{ {body} }}"
        )
        == codes
    )


def test_the_default_stream_of_a_thread_orders_no_other() -> None:
    body = (
        "void host() { cudaStream_t a; cudaStreamCreate(&a); float* p; cudaMallocAsync(&p, 4, a); k<<<1, 1>>>(p); "
        "cudaDeviceSynchronize(); cudaFreeAsync(p, a); cudaStreamDestroy(a); }"
    )
    assert _told(_KERNEL + body) == []
    assert _told(f"#define CUDA_API_PER_THREAD_DEFAULT_STREAM\n{_KERNEL}{body}") == ["SMEM603"]


def test_names_of_another_dialect_come_from_its_record() -> None:
    text = (
        "#include <hip/hip_runtime.h>\n"
        "int host(int n) { hipStream_t s; if (hipStreamCreate(&s) != hipSuccess) return 1; if (n) return 2; "
        "hipStreamDestroy(s); return 0; }"
    )
    report = check(text, path="a.hip", config=_ALL)
    (finding,) = report.findings
    assert finding.code == "SMEM601"
    (fix,) = report.fixes_for(finding)
    assert fix.title == f"Add `{HIP.runtime_api[0]}StreamDestroy(s)`"


@pytest.mark.parametrize(
    ("asks", "codes"),
    [
        ("", ["SMEM604"]),
        ("cudaDeviceSynchronize();", ["SMEM604"]),
        ("cudaError_t e = cudaGetLastError();", []),
        ("if (cudaPeekAtLastError()) return;", []),
        ("CHECK(cudaDeviceSynchronize());", []),
        ("check_launch();", []),
    ],
)
def test_a_launch_that_nobody_asks_about(asks: str, codes: list[str]) -> None:
    text = f"{_KERNEL}void host(float* p) {{ k<<<1, 1>>>(p); {asks} }}"
    report = check(text, config=Config(select=("SMEM604",)))
    assert [each.code for each in report.findings] == codes


def test_a_caller_or_an_earlier_line_of_a_loop_may_ask() -> None:
    helper = f"{_KERNEL}void work(float* p) {{ k<<<1, 1>>>(p); }}\n"
    caller = "void host(float* p) { work(p); cudaError_t e = cudaGetLastError(); }"
    loop = _KERNEL + "void host(float* p) { for (;;) { if (cudaGetLastError()) return; k<<<1, 1>>>(p); } }"
    only = Config(select=("SMEM604",))
    assert check(helper + caller, config=only).findings == ()
    assert check(loop, config=only).findings == ()


def test_a_suppression_silences() -> None:
    text = "void host() {\n  cudaStream_t s;\n  cudaStreamCreate(&s);  // smem: ignore[SMEM601]\n}\n"
    assert _told(text) == []


def test_no_text_makes_it_raise() -> None:
    """Pieces of the programs, cut out and put elsewhere."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(Path(__file__).parent.rglob("*.cu"))]
    chance = random.Random(24)
    for _ in range(40):
        text = chance.choice(texts)
        for _ in range(chance.randint(1, 6)):
            at, other = chance.randrange(len(text)), chance.choice(texts)
            piece = chance.randrange(len(other))
            end = at + chance.choice((0, 1, 8, 40))
            text = text[:at] + other[piece : piece + chance.randint(0, 60)] + text[end:]
        report = check(text, config=Config(select=("SMEM6",)))
        assert report.defects == ()
        for finding in report.findings:
            assert all(
                0 <= each.span.start <= each.span.end <= len(text) for each in (finding, *finding.related)
            )
            for fix in report.fixes_for(finding):
                apply(text, fix)


@pytest.mark.parametrize(
    ("case", "codes"),
    [("case 1: act();", []), ("case 1: n = 3;", ["SMEM602"]), ("case 1: cudaDeviceSynchronize();", [])],
)
def test_what_a_switch_calls_may_wait(case: str, codes: list[str]) -> None:
    body = (
        f"float* q; cudaMallocManaged(&q, 4); k<<<1, 1>>>(q); switch (n) {{ {case} }} q[0] = 1; cudaFree(q);"
    )
    assert _told(f"{_KERNEL}void go(float* p, int n) {{ {body} }}") == codes


def test_nothing_is_said_where_a_switch_jumps_into_a_branch() -> None:
    body = "cudaStream_t s; switch (n) { case 1: if (n) { case 2: cudaStreamCreate(&s); } }"
    assert _told(f"{_KERNEL}void go(float* p, int n) {{ {body} }}") == []


def test_a_loop_that_only_a_jump_leaves() -> None:
    loop = "do { cudaStreamCreate(&s); if (n) break; cudaStreamDestroy(s); } while (true);"
    assert _told(f"{_KERNEL}void go(float* p, int n) {{ cudaStream_t s; {loop} }}") == ["SMEM601"]
