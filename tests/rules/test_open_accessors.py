"""Accessors of dynamic shared memory in kernels whose type nobody gives, where any specialisation may be meant."""

from __future__ import annotations

import pytest

from smem_lsp.analysis.decision.model import VerdictKind
from smem_lsp.engine import check
from smem_lsp.rules.kernel_verdict import kernel_verdict
from tests.causes import unknown

# each: what a class has, of the type X, and how a kernel calls it
CONVERTED = "__device__ operator X*() {{ {} }} __device__ operator const X*() const {{ {} }}", "{}()"
ASKED = "__device__ X* get() {{ {} }}", "{}().get()"
NAMED = "__device__ X* get() const {{ {} }}", "named.get()"
STATIC = "static __device__ X* get() {{ {} }}", "{}::get()"
FORMS = [CONVERTED, ASKED, NAMED, STATIC]

OF_ANY = "extern __shared__ int bytes[]; return reinterpret_cast<X*>(bytes);"
OF_FLOATS = "extern __shared__ __align__(16) float floats[]; return floats;"
OF_DOUBLES = "extern __shared__ double doubles[]; return &doubles[0];"
UNDEFINED = "extern __device__ void error(void); error(); return NULL;"
NO_LINK = "extern __device__ void error(void); error(); extern __shared__ X any[]; return any + 1;"

KERNEL = """\
template <typename T> __global__ void k(const T* in, T* out, int n) {{
  {named}
  T* s = {made};
  s[threadIdx.x] = in[threadIdx.x];
{wait}  out[threadIdx.x] = s[blockDim.x - 1 - threadIdx.x];
}}
"""
WAIT = "  __syncthreads();\n"


def of(member: str, bodies: dict[str, str], *, primary: str | None, name: str = "Memory") -> str:
    """A class template with a full specialisation for each type of ``bodies``; ``primary``: None, only declared."""

    def members(kind: str, body: str) -> str:
        return member.format(*[body] * member.count("{}")).replace("X", kind)

    whole = f"template <typename T> struct {name}" + (
        ";\n" if primary is None else f" {{ {members('T', primary)} }};\n"
    )
    return whole + "".join(
        f"template <> struct {name}<{kind}> {{ {members(kind, body)} }};\n" for kind, body in bodies.items()
    )


def verdict(classes: str, made: str, wait: str, name: str = "Memory") -> VerdictKind:
    text = classes + KERNEL.format(named=f"{name}<T> named;", made=made.format(f"{name}<T>"), wait=wait)
    (facts,) = check(text, path="k.cuh").facts
    return kernel_verdict(facts).kind


@pytest.mark.parametrize(("member", "made"), FORMS)
@pytest.mark.parametrize("primary", [OF_ANY, UNDEFINED, NO_LINK, None])
def test_all_that_may_be_meant_give_the_first_byte(member: str, made: str, primary: str | None) -> None:
    classes = of(member, {"float": OF_FLOATS, "double": OF_DOUBLES}, primary=primary)
    assert verdict(classes, made, "") is VerdictKind.RACY
    assert verdict(classes, made, WAIT) is VerdictKind.RACE_FREE


@pytest.mark.parametrize(("member", "made"), FORMS)
@pytest.mark.parametrize(
    "other",
    [
        "extern __shared__ double doubles[]; return doubles + 1;",
        "extern __shared__ double doubles[]; return &doubles[1];",
        "__shared__ double doubles[64]; return doubles;",
        "static __device__ double doubles[64]; return doubles;",
        "extern __shared__ double* doubles[]; return *doubles;",
        "extern __shared__ double doubles[]; if (threadIdx.x) return nullptr; return doubles;",
        "extern __shared__ double doubles[]; doubles[0] = 0; return doubles;",
        "extern __shared__ double doubles[]; __syncthreads(); return doubles;",
        "GIVE_MEMORY(double); return nullptr;",
        "return pool();",
    ],
)
def test_one_that_gives_something_else_is_not_followed(member: str, made: str, other: str) -> None:
    classes = of(member, {"float": OF_FLOATS, "double": other}, primary=OF_ANY)
    assert verdict(classes, made, "") is VerdictKind.UNDECIDED
    text = classes + KERNEL.format(named="Memory<T> named;", made=made.format("Memory<T>"), wait=WAIT)
    report = check(text, path="k.cuh")
    assert not any(each.code.startswith("SMEM2") for each in report.findings)
    told = any("Memory reaches is not followed" in each for each in unknown(report.facts[0].kernel))
    assert told or "::" in made  # one of both, as for any function


def test_a_method_of_a_whole_class_may_be_defined_elsewhere() -> None:
    classes = of(ASKED[0], {"float": OF_FLOATS}, primary=OF_ANY)
    classes += "template <> struct Memory<double> { __device__ double* get(); };\n"
    assert verdict(classes, ASKED[1], "") is VerdictKind.UNDECIDED


@pytest.mark.parametrize("made", ["{}::get()", "named.get()"])
def test_a_method_may_be_specialised_on_its_own(made: str) -> None:
    of_type = (
        "template <> __device__ {0}* Memory<{0}>::get() {{ extern __shared__ {0} {0}s[]; return {1}; }}\n"
    )
    static = "static " if "::" in made else ""
    classes = f"template <typename T> struct Memory {{ {static}__device__ T* get(); }};\n"
    classes += of_type.format("float", "floats")
    right, wrong = (classes + of_type.format("double", f"doubles{moved}") for moved in ("", " + 1"))
    assert verdict(right, made, "") is VerdictKind.RACY
    assert verdict(right, made, WAIT) is VerdictKind.RACE_FREE
    assert verdict(wrong, made, WAIT) is VerdictKind.UNDECIDED


@pytest.mark.parametrize("body", ["return reinterpret_cast<X*>(all);", "return (X*)&all;"])
def test_the_array_may_be_declared_outside_functions(body: str) -> None:
    member, made = STATIC
    classes = of(member, {"float": OF_FLOATS, "double": body}, primary=body)
    assert verdict("extern __shared__ char all[];\n" + classes, made, "") is VerdictKind.RACY
    assert verdict("__device__ char all[64];\n" + classes, made, WAIT) is VerdictKind.UNDECIDED


@pytest.mark.parametrize(("member", "made"), [ASKED, STATIC, NAMED])
def test_a_class_in_a_namespace(member: str, made: str) -> None:
    inside, hidden = (
        of(member, {"float": OF_FLOATS, "double": body}, primary=None)
        for body in (OF_DOUBLES, "extern __shared__ double doubles[]; return doubles + 1;")
    )
    assert verdict(f"namespace ns {{\n{inside}}}\n", made, "", "ns::Memory") is VerdictKind.RACY
    assert verdict(f"namespace ns {{\n{hidden}}}\n", made, WAIT, "ns::Memory") is VerdictKind.UNDECIDED


TWO = """\
template <typename T> __global__ void k(const T* in, T* out, int* sums) {{
  T* s = Memory<T>();
  {other}
  s[threadIdx.x] = in[threadIdx.x];
  {wait}
  sums[threadIdx.x] = t[blockDim.x - 1 - threadIdx.x];
}}
"""


@pytest.mark.parametrize(
    ("other", "kind"),
    [
        ("T* t = Memory<T>();", VerdictKind.RACY),
        ("extern __shared__ char raw[]; T* t = (T*)raw;", VerdictKind.RACY),
        ("int* t = Memory<int>();", VerdictKind.UNDECIDED),
        ("extern __shared__ int t[];", VerdictKind.UNDECIDED),
    ],
)
def test_all_dynamic_arrays_begin_with_the_same_byte(other: str, kind: VerdictKind) -> None:
    classes = of(CONVERTED[0], {"float": OF_FLOATS, "double": OF_DOUBLES}, primary=OF_ANY)
    texts = (classes + TWO.format(other=other, wait=wait) for wait in ("", "__syncthreads();"))
    racy, free = (kernel_verdict(check(text, path="k.cuh").facts[0]).kind for text in texts)
    assert racy is kind
    assert free is VerdictKind.RACE_FREE


@pytest.mark.parametrize(
    "use",
    [
        "lose(named);",
        "lose(&named);",
        "auto other = named; lose(other.get());",
        "auto f = [&]() { named.get()[0] = n; }; lose(f);",
        "({ named.get()[0] = n; });",
    ],
)
def test_what_uses_an_accessor_and_is_not_followed_may_reach_the_array(use: str) -> None:
    member, made = ASKED
    classes = of(member, {"float": OF_FLOATS, "double": OF_DOUBLES}, primary=None)
    named = f"Memory<T> named; {use}"
    text = classes + KERNEL.format(named=named, made=made.format("Memory<T>"), wait=WAIT)
    (facts,) = check(text, path="k.cuh").facts
    assert kernel_verdict(facts).kind is VerdictKind.UNDECIDED
    assert "what Memory reaches is not followed" in " ".join(unknown(facts.kernel))


@pytest.mark.parametrize("use", ["named.put(n);", "[=]() { named.put(n); }();", "[&]() { named.put(n); }();"])
def test_a_method_that_uses_an_array_of_its_own_is_not_followed(use: str) -> None:
    put = "__device__ void put(int n) {{ __shared__ int own; own = n; }} {}"
    classes = of(put, {"float": "", "double": ""}, primary="")
    text = f"{classes}template <typename T> __global__ void k(int n) {{ Memory<T> named; {use} }}\n"
    (facts,) = check(text, path="k.cuh").facts
    assert kernel_verdict(facts).kind is VerdictKind.UNDECIDED
    assert unknown(facts.kernel)


@pytest.mark.parametrize("moved", ["", " + 1"])
def test_a_method_of_a_template_may_be_defined_behind_it(moved: str) -> None:
    classes = "template <typename T> struct Memory { __device__ T* get(); };\n"
    classes += "template <> struct Memory<float> { __device__ float* get(); };\n"
    classes += f"template <typename T> __device__ T* Memory<T>::get() {{ {OF_ANY.replace('X', 'T')} }}\n"
    body = OF_FLOATS.replace("return floats", f"return floats{moved}")
    classes += f"__device__ float* Memory<float>::get() {{ {body} }}\n"
    expected = VerdictKind.UNDECIDED if moved else VerdictKind.RACE_FREE
    assert verdict(classes, "named.get()", WAIT) is expected
    assert (verdict(classes, "named.get()", "") is VerdictKind.RACY) == (not moved)


def test_a_known_type_has_its_own_specialisation() -> None:
    other = "extern __shared__ double doubles[]; return doubles + 4;"
    classes = of(ASKED[0], {"float": OF_FLOATS, "double": other}, primary=UNDEFINED)
    body = KERNEL.format(named="", made="Memory<T>().get()", wait="")
    text = classes + body + "template __global__ void k<double>(const double*, double*, int);\n"
    (facts,) = check(text, path="k.cu").facts
    assert [each.name for each in facts.kernel.buffers] == ["doubles"]
    assert kernel_verdict(facts).kind is VerdictKind.RACY
