"""Members of a class in shared memory: which an access belongs to, and what they could share."""

from __future__ import annotations

import pytest
from harness import kernel_facts

from smem_lsp.config import Config
from smem_lsp.engine import check
from smem_lsp.facts.partition import PartitionLayouts
from smem_lsp.output.memory_map import memory_map

CLASS = """\
struct S { alignas(128) float a[1024]; float b[1024]; float c[1024]; };
__device__ void fill(float* p, float v) { p[threadIdx.x] = v; }
__device__ void load(S& s, const float* in) { s.a[threadIdx.x] = in[threadIdx.x]; }
__device__ void keep(float* p);
__device__ void keep_all(S* s);
"""
LOAD = "s.a[tid] = in[tid];"
READ = "float v = s.a[255 - tid];"
STORE = "s.c[tid] = v;"


def kernel(
    *, load: str = LOAD, read: str = READ, store: str = STORE, text: str = CLASS, of: str = "S"
) -> str:
    return f"""{text}
static __global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {{
  __shared__ {of} s;
  int tid = threadIdx.x;
  {load}
  __syncthreads();
  {read}
  __syncthreads();
  {store}
  __syncthreads();
  out[tid] = s.c[255 - tid];
}}
void go(const float* in, float* out, int n) {{ k<<<2, 256>>>(in, out, n); }}
"""


def split(text: str) -> PartitionLayouts | None:
    return next(iter(kernel_facts(text).class_partitions), None)


def names(text: str) -> list[str]:
    """The ranges that members are in; "!" where one never shares."""
    found = split(text)
    return [] if found is None else [f"{each.name}{'!' * each.stays}" for each in found.partition.ranges]


def messages(text: str) -> list[str]:
    return [each.message for each in check(text).findings if each.code == "SMEM301"]


def shown(text: str) -> str:
    """The title of the fix of the one SMEM301."""
    report = check(text)
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    (fix,) = report.fixes_for(finding)
    assert not fix.edits and fix.safety.value == "display"
    return fix.title


def test_members_have_the_layout_of_cxx() -> None:
    (buffer,) = kernel_facts(kernel()).kernel.buffers
    assert [(m.path, m.offset, m.size, m.align) for m in buffer.members] == [
        ("a", 0, 4096, 128),
        ("b", 4096, 4096, 4),
        ("c", 8192, 4096, 4),
    ]


def test_dead_members_may_be_reused_and_the_fix_shows_the_union() -> None:
    assert messages(kernel()) == [
        "`c` can reuse `a` in `s`: 12,288 → 8,192 B, no barrier added (dead after the barrier at line 13)"
    ]
    assert shown(kernel()) == (
        "Declare the members of `s` as `union { alignas(128) float a[1024]; float c[1024]; }; float b[1024];`"
    )


def test_what_is_declared_stays_one_class() -> None:
    facts = kernel_facts(kernel())
    assert facts.static_bytes == 12288
    assert [(item.name, item.size) for item in facts.items] == [("s", 12288)]


@pytest.mark.parametrize(
    ("changed", "expected"),
    [
        ({}, ["a", "b!", "c"]),
        # by reference, by pointer, through a helper, through views of another type
        ({"load": "load(s, in);"}, ["a", "b!", "c"]),
        ({"store": "fill(s.c, v);"}, ["a", "b!", "c"]),
        ({"load": "S* p = &s; p->a[tid] = in[tid];"}, ["a", "b!", "c"]),
        ({"load": "float (&x)[1024] = s.a; x[tid] = in[tid];"}, ["a", "b!", "c"]),
        ({"load": "float* x = s.a + 4; x[tid] = in[tid];"}, ["a", "b!", "c"]),
        ({"load": "*reinterpret_cast<float4*>(&s.a[4 * tid]) = float4();"}, ["a", "b!", "c"]),
        ({"load": "if (tid < 32) s.a[tid * 32] = in[tid];", "read": "float v = s.a[n];"}, ["a", "b!", "c"]),
        # one or the other, both, and what is between
        ({"load": "float* p = n ? s.a : s.b; p[tid] = in[tid];"}, ["a+b", "c"]),
        ({"load": "float* p = s.a; if (n) p = s.b; p[tid] = in[tid];"}, ["a+b", "c"]),
        ({"load": "float* p = n ? s.a : s.c; p[tid] = in[tid];"}, []),
        # the whole class, or no telling
        ({"load": "float* p = (float*)&s; p[tid] = in[tid];"}, []),
        ({"load": "float* p = s.a; for (int i = tid; i < 3072; i += 256) p[i] = 0;"}, []),
        ({"load": "float* p = s.a; for (int i = tid; i < 2048; i += 256) p[i] = 0;"}, ["a+b", "c"]),
        ({"load": "float* e = (float*)(&s + 1); for (float* p = s.a; p < e; ++p) *p = 0;"}, []),
        ({"load": "memset(s.a, 0, sizeof(S));"}, []),
        ({"load": "memset(s.a, 0, 4096);"}, ["a", "b!", "c"]),
        ({"load": "S t; s = t;"}, []),
        ({"load": "keep_all(&s);"}, []),
        # out of one member, and shown to be in another one
        ({"load": "float* p = s.a + 1024; p[tid] = in[tid];"}, ["a", "b", "c"]),
        ({"load": "float* p = s.a + 1024; p[n] = in[tid];"}, []),
        # an address that is lost keeps its member only
        ({"load": LOAD + "keep(s.b);"}, ["a", "b!", "c"]),
        ({"load": LOAD + "keep(s.a);"}, []),
        (
            {"load": LOAD + 'asm volatile("foo %0;" :: "r"((int)__cvta_generic_to_shared(s.b)));'},
            ["a", "b!", "c"],
        ),
    ],
)
def test_the_member_that_an_access_belongs_to(changed: dict[str, str], expected: list[str]) -> None:
    assert names(kernel(**changed)) == expected


def test_methods_reach_members_through_this() -> None:
    text = """\
struct S {
  float a[256]; float c[256];
  __device__ void load(const float* in) { this->a[threadIdx.x] = in[threadIdx.x]; }
  __device__ float get() { return a[255 - threadIdx.x]; }
};
"""
    found = kernel(text=text, load="s.load(in);", read="float v = s.get();")
    assert names(found) == ["a", "c"]
    assert len(messages(found)) == 1
    assert messages(kernel(text=text, load="s.load(in);", store=STORE + " s.load(in);")) == []


def test_members_of_classes_in_each_other() -> None:
    text = "struct Main { float a[512]; float b[512]; };\nstruct S { alignas(128) Main m; float c[1024]; };"
    found = kernel(
        text=text, load="s.m.a[tid] = in[tid]; s.m.b[0] = 1;", read="float v = s.m.a[255 - tid] + s.m.b[0];"
    )
    assert names(found) == ["m.a", "m.b", "c"]
    assert "union { struct { alignas(128) float a[512]; float b[512]; }; float c[1024]; }" in shown(found)


@pytest.mark.parametrize(
    "main",
    [
        "template <int N> struct Main { float a[N]; float b[N]; };",
        "struct Main { float a[512]; float b[512]; __device__ void f() {} };",
    ],
)
def test_a_class_that_is_more_than_its_members_is_one_member(main: str) -> None:
    text = f"{main}\nstruct S {{ Main{'<512>' * ('N' in main)} m; float c[1024]; }};"
    found = kernel(
        text=text, load="s.m.a[tid] = in[tid]; s.m.b[0] = 1;", read="float v = s.m.a[255 - tid] + s.m.b[0];"
    )
    assert names(found) == ["m", "c"]


def test_what_a_union_shares_already_is_one_member() -> None:
    text = "struct S { float a[1024]; union { float c[1024]; int scan[64]; }; unsigned long long bar[4]; };"
    found = kernel(text=text, store=STORE + " if (tid < 64) s.scan[tid] = n;")
    assert names(found) == ["a", "c/scan", "bar!"]
    assert (
        "union { float a[1024]; union { float c[1024]; int scan[64]; }; }; unsigned long long bar[4];"
        in shown(found)
    )
    assert names(kernel(text="union S { float a[256]; float c[256]; };")) == ["s.a", "s.c"]  # they take turns


def test_arrays_of_classes_stay_one() -> None:
    text = "struct Stage { float x[16]; float y[16]; };\nstruct S { Stage a[16]; float c[256]; };"
    found = kernel(
        text=text, load="s.a[tid / 16].x[tid % 16] = in[tid];", read="float v = s.a[3].x[tid % 16];"
    )
    assert names(found) == ["a", "c"]


def test_a_value_that_is_read_later_keeps_its_member() -> None:
    assert messages(kernel(store=STORE + " v = s.a[0]; out[0] = v;")) == []
    assert messages(kernel(read=READ + " s.c[tid] = v;")) == []  # no barrier between


def test_a_class_without_a_known_layout_is_not_planned() -> None:
    text = "struct S { Unknown u; float a[256]; float c[256]; };"
    assert names(kernel(text=text)) == []
    assert messages(kernel(text=text)) == []


def test_objects_with_constructors_never_share() -> None:
    text = "struct L { int x[64]; __device__ L() {} };\nstruct S { float a[64]; L l; float c[256]; };"
    found = kernel(
        text=text, load="if (tid < 64) s.a[tid] = s.l.x[tid] = 1;", read="float v = s.a[n] + s.l.x[n];"
    )
    assert names(found) == ["a", "l!", "c"]


def test_asynchronous_copies_land_in_their_member() -> None:
    load = "__pipeline_memcpy_async(&s.a[tid], &in[tid], 4); __pipeline_commit(); __pipeline_wait_prior(0);"
    found = kernel(load=load)
    assert names(found) == ["a", "b!", "c"]
    assert len(messages(found)) == 1
    assert names(kernel(load=load.replace("__pipeline_wait_prior(0);", ""))) == []


def test_a_step_is_told_with_its_blocks() -> None:
    report = check(kernel(), config=Config(arch=("sm_86",), registers=32))
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    assert finding.severity.label == "info"
    report = check(kernel().replace("1024", "4096"), config=Config(arch=("sm_86",), registers=32))
    (finding,) = (each for each in report.findings if each.code == "SMEM301")
    assert finding.severity.label == "warning"
    assert "49,152 → 32,768 B, 2 → 3 blocks/SM on sm_86" in finding.message


def test_a_barrier_that_lets_members_share_is_not_called_redundant() -> None:
    text = kernel(
        load="if (tid == 0) s.a[0] = in[0];", read="float v = s.a[0];", store="if (tid == 0) s.c[0] = v;"
    )
    assert [each.code for each in check(text.replace("s.c[255 - tid]", "s.c[0]")).findings] == ["SMEM301"]


def test_the_map_draws_the_members() -> None:
    drawn = memory_map(check(kernel()), 0)
    assert [drawing.plan.bytes for drawing in drawn.worth_drawing] == [12288, 8192]
    found = {drawn.names[rectangle.buffer] for rectangle in drawn.worth_drawing[1].rectangles}
    assert found == {"a", "b", "c"}


@pytest.mark.parametrize(
    "how",
    [
        "S& s = *reinterpret_cast<S*>(raw);",
        "auto& s = *reinterpret_cast<S*>(raw);",
        "S* p = (S*)raw; S& s = *p;",
    ],
)
def test_a_class_that_dynamic_memory_is_seen_as(how: str) -> None:
    text = kernel().replace("__shared__ S s;", f"extern __shared__ char raw[]; {how}")
    text = text.replace("<<<2, 256>>>", "<<<2, 256, sizeof(S)>>>")
    divided = kernel_facts(text).dynamic_partition
    assert divided is not None
    assert [(each.name, each.offset, each.size) for each in divided.partition.ranges] == [
        ("a", 0, 4096),
        ("b", 4096, 4096),
        ("c", 8192, 4096),
    ]
    assert messages(text) == [
        "`c` can reuse `a` in `raw`: 12,288 → 8,192 B of dynamic shared memory, no barrier added "
        "(dead after the barrier at line 13)"
    ]
    assert shown(text).startswith(
        "Declare the members of `raw` as `union { alignas(128) float a[1024]; float c[1024]; };"
    )


def test_raw_dynamic_memory_beside_a_class_in_it_is_not_told() -> None:
    text = kernel(load=LOAD + "reinterpret_cast<float*>(raw)[n] = 0;")
    text = text.replace("__shared__ S s;", "extern __shared__ char raw[]; S& s = *reinterpret_cast<S*>(raw);")
    assert kernel_facts(text).dynamic_partition is None
