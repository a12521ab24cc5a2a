"""A reference to a class that is bound to an object of another one: what it names is made by a constructor or a
conversion function, or is what a conversion function gives a reference to ([dcl.init.ref]/5).
"""

from __future__ import annotations

import pytest

from smem_lsp.engine import check

_KERNEL = """
struct Row {{ int n; }};
struct Half {{ int n; __device__ operator Row() const {{ return {{n / 2}}; }} }};
struct Made {{ int n; __device__ Made(const Row& r) : n(r.n / 2) {{}} }};
struct Inner {{ Row row; int n; __device__ operator Row&() {{ return row; }} }};
struct Held {{ const Row& row; }};
struct Two {{ int n; __device__ operator int() {{ return n; }} __device__ operator float() const {{ return n / 2; }} }};
struct Copied {{ int n; __device__ Copied(const Row& r) : n(r.n) {{}} }};
__device__ int of(const Row& r) {{ return r.n; }}
__device__ int taken(Row&& r) {{ return ++r.n - 1; }}
__device__ int made(const Made& m) {{ return m.n; }}
template <class T> __device__ int any(const T& t) {{ return t.n; }}
__device__ void halve(Row& r) {{ r.n /= 2; }}
__global__ void k(float* out) {{
  __shared__ float s[256];
  const int t = threadIdx.x;
  Half half{{t}}; Row row{{t}}; Inner inner{{{{t}}, 0}};
  {declared}
  s[{at}] = t;
  __syncthreads();
  out[t] = s[255 - t];
}}
void host(float* out) {{ k<<<1, 256>>>(out); }}
"""


def _verdict(declared: str, at: str) -> str:
    (kernel,) = check(_KERNEL.format(declared=declared, at=at)).kernels
    assert kernel.verdict is not None
    return kernel.verdict.kind.value


@pytest.mark.parametrize(
    ("declared", "at"),
    [
        ("const Row& r = half;", "r.n"),
        ("Row&& r = half;", "r.n"),
        ("const Made& r = row;", "r.n"),
        ("", "of(half)"),
        ("", "taken(half)"),
        ("", "made(row)"),
        ("", "any<Row>(half)"),
        ("", "any<Made>(row)"),
        ("auto f = [](const Row& r) { return r.n; };", "f(half)"),
        ("Held h{half};", "h.row.n"),
        ("Copied c(half);", "c.n"),
        ("Row& r = inner; r.n /= 2;", "inner.row.n"),
        ("Row& r = inner; inner.row.n /= 2;", "r.n"),
    ],
)
def test_what_is_converted_is_another_object(declared: str, at: str) -> None:
    assert _verdict(declared, at) == "racy"
    assert _verdict(declared, f"(threadIdx.x + 0 * {at})") == "race-free"


@pytest.mark.parametrize(
    "declared", ["const Row& r = half; half.n = 0;", "const Row& r = half; half.n /= 2;"]
)
def test_it_keeps_what_it_was_made_of(declared: str) -> None:
    assert _verdict("Row full{t}; const Row& seen = full; full.n += 256;", "seen.n & 255") == "race-free"
    assert _verdict(declared, "r.n * 2 + (t & 1)") == "race-free"


def test_an_argument_that_a_conversion_refers_to_is_never_passed_over() -> None:
    assert _verdict("halve(inner);", "inner.row.n") != "race-free"


_IN_SHARED_MEMORY = """
struct Cell {{ int n; __device__ operator int() const {{ return n; }} }};
struct Handle {{ Cell* p; int i; __device__ operator Cell&() const {{ return p[i]; }} }};
struct Named {{ const Cell& cell; }};
__device__ int of(const Cell& c) {{ return c.n; }}
__device__ void set(Cell& c) {{ c.n = 1; }}
__global__ void k(float* out) {{
  __shared__ Cell s[256];
  const int t = threadIdx.x;
  Handle h{{s, 255 - t}};
  s[t].n = t;
  {barrier}
  {used}
}}
void host(float* out) {{ k<<<1, 256>>>(out); }}
"""


@pytest.mark.parametrize(
    "used",
    [
        "const Cell& c = h; out[t] = c.n;",
        "const Cell& c = h; out[t] = c;",
        "Cell& c = h; c.n = 1;",
        "out[t] = of(h);",
        "set(h);",
        "Named d{h}; out[t] = d.cell.n;",
    ],
)
def test_a_conversion_may_refer_to_shared_memory(used: str) -> None:
    for barrier, expected in (("", "race-free"), ("__syncthreads();", "racy")):
        (kernel,) = check(_IN_SHARED_MEMORY.format(barrier=barrier, used=used)).kernels
        assert kernel.verdict is not None
        assert kernel.verdict.kind.value != expected


_READ = """
struct Number {{ int n; {conversions} }};
union Bits {{ int n; float f; __device__ operator int() const {{ return n; }} }};
__global__ void k(int* out) {{
  __shared__ {kind} s[256];
  out[threadIdx.x] = (int)s[5];
}}
void host(int* out) {{ k<<<1, 256>>>(out); }}
"""


_TWINS = "__device__ operator int&() { return n; } __device__ operator const int&() const { return n; }"


@pytest.mark.parametrize(
    ("kind", "conversions"),
    [
        ("Number", _TWINS),
        ("Number", "__device__ operator int() const { return n; }"),
        ("Bits", ""),
    ],
)
def test_what_is_converted_is_only_read(kind: str, conversions: str) -> None:
    (kernel,) = check(_READ.format(kind=kind, conversions=conversions)).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value != "racy"


@pytest.mark.parametrize(("of", "expected"), [("", "race-free"), ("const ", "racy")])
def test_a_const_object_is_converted_by_what_takes_one(of: str, expected: str) -> None:
    assert _verdict(f"{of}Two two{{t}}; float f = two;", "(int)f") == expected


_ARGUMENT = """
struct Meeting {{ __device__ operator int() const {{ __syncthreads(); return 1; }} }};
{header} __device__ void f({parameter}) {{}}
__global__ void k(int* out) {{
  __shared__ int s[64];
  s[threadIdx.x] = threadIdx.x;
  {called};
  out[threadIdx.x] = s[63 - threadIdx.x];
}}
void host(int* out) {{ k<<<1, 64>>>(out); }}
"""


@pytest.mark.parametrize("parameter", ["{}", "{} x", "const {}&", "const {}& x", "{}&&", "{}&& x"])
@pytest.mark.parametrize("kind", ["int", "bool", "float"])
def test_an_argument_is_converted_whether_or_not_the_parameter_has_a_name(parameter: str, kind: str) -> None:
    for header, spelled, called in (
        ("", kind, "f(Meeting())"),
        ("template <class T>", "T", f"f<{kind}>(Meeting())"),
        ("template <class T>", "T", f"Meeting m; f<{kind}>(m)"),
    ):
        text = _ARGUMENT.format(header=header, parameter=parameter.format(spelled), called=called)
        (kernel,) = check(text).kernels
        assert kernel.verdict is not None
        assert kernel.verdict.kind.value == "race-free"
    text = _ARGUMENT.format(
        header="template <class T>", parameter=parameter.format("T"), called="f(Meeting())"
    )
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "racy"


@pytest.mark.parametrize(
    "member", ["int r;", "float r;", "const int& r;", "const int& r; __device__ Held(const int& x) : r(x) {}"]
)
@pytest.mark.parametrize(
    "made", ["Meeting m; Held h{m}", "const Meeting m{}; Held h = {m}", "Held h{Meeting()}"]
)
def test_a_member_that_is_a_number_gets_one(member: str, made: str) -> None:
    text = _ARGUMENT.format(header=f"struct Held {{ {member} }};", parameter="", called=made)
    (kernel,) = check(text).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "race-free"


@pytest.mark.parametrize(
    ("header", "called"),
    [
        ("", "int r[2] = {1, Meeting()}"),
        ("", "Meeting m; float r[2][2] = {{1, 2}, {3, m}}"),
        (
            "struct Base { __device__ virtual operator int() const { return 1; } };"
            "struct Derived : Base { __device__ operator int() const override { __syncthreads(); return 1; } };"
            "__device__ int of(const Base& b) { return b; }",
            "of(Derived())",
        ),
    ],
)
def test_what_an_element_or_a_virtual_conversion_runs(header: str, called: str) -> None:
    (kernel,) = check(_ARGUMENT.format(header=header, parameter="", called=called)).kernels
    assert kernel.verdict is not None
    assert kernel.verdict.kind.value == "race-free"


_REFERENCES = """
struct Held {{ int n; __device__ operator int&() {{ return n; }} }};
struct Waits {{ int n; __device__ operator int&() {{ __syncthreads(); return n; }} }};
struct Into {{ int* p; __device__ operator int&() {{ return p[threadIdx.x]; }} }};
__global__ void k(int* out) {{
  __shared__ int s[64];
  const int t = threadIdx.x;
  {body}
}}
void host(int* out) {{ k<<<1, 64>>>(out); }}
"""


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ("Held h{t}; int& r = h; r = t / 2; s[h.n] = t; out[t] = 1;", "racy"),
        ("Held h{t / 2}; int& r = h; r = t; s[h.n] = t; out[t] = 1;", "race-free"),
        ("Held h{t}; const int& r = h; h.n = t / 2; s[r] = t; out[t] = 1;", "racy"),
        ("Held h{t}; auto& r = h; r.n = t; s[r] = t; out[t] = 1;", "race-free"),
        ("Held h{t}; Held& r = h; r.n = t; s[r] = t; out[t] = 1;", "race-free"),
        ("s[t] = t; Waits w{t}; int& r = w; out[t] = s[63 - t] + r;", "race-free"),
        ("s[t] = t; Waits w{t}; Waits& r = w; out[t] = s[63 - t];", "racy"),
        ("Into i{s}; int& r = i; r = t; out[t] = s[63 - t];", "racy"),
    ],
)
def test_a_reference_to_a_number_is_bound_to_what_an_object_is_converted_to(body: str, expected: str) -> None:
    (kernel,) = check(_REFERENCES.format(body=body)).kernels
    assert kernel.verdict is not None and kernel.verdict.kind.value == expected
