"""Token kinds: what each spelling is, before any context is known.

Kinds are the terminals of ``grammar/cuda.lark`` where the grammar uses them; the classifier renames the rest.
"""

from __future__ import annotations

from smem_lsp.source.queries import PROCESS

_MOST_SPELLINGS = 200_000

_KEYWORDS = {
    "TYPE": "void bool char short int long float double signed unsigned auto wchar_t char8_t char16_t char32_t"
    " __int128",
    "QUALIFIER": "const volatile __const __volatile__ restrict __restrict __restrict__",
    "STORAGE": "static extern register constexpr consteval constinit inline __inline __inline__ __forceinline__"
    " __noinline__ __shared__ __constant__ __device__ __host__ __global__ __managed__ __grid_constant__ mutable"
    " thread_local virtual explicit friend __tile_global__",
    "TAG": "struct class union enum",
    "TYPENAME": "typename",
    "IF": "if",
    "ELSE": "else",
    "FOR": "for",
    "WHILE": "while",
    "DO": "do",
    "SWITCH": "switch",
    "CASE": "case",
    "DEFAULT": "default",
    "BREAK": "break",
    "CONTINUE": "continue",
    "RETURN": "return",
    "GOTO": "goto",
    "TRY": "try",
    "CATCH": "catch",
    "THROW": "throw",
    "USING": "using",
    "TYPEDEF": "typedef",
    "TEMPLATE": "template",
    "NAMESPACE": "namespace",
    "OPERATOR": "operator",
    "ACCESS": "public private protected",
    "SIZEOF": "sizeof alignof _Alignof __alignof__ noexcept",
    "NEW": "new",
    "DELETE": "delete",
    "STATIC_ASSERT": "static_assert _Static_assert",
    "ASM": "asm __asm__ __asm",
    "ATTRIBUTE": "alignas __align__ __builtin_align__ __attribute__ __launch_bounds__ __cluster_dims__ __maxnreg__"
    " __block_size__ __declspec _Alignas",
    "LITERAL": "true false nullptr this",
    "NAMED_CAST": "static_cast reinterpret_cast const_cast dynamic_cast",
    "DECLTYPE": "decltype __typeof__ typeof __decltype __typeof",
    "REQUIRES": "requires",
    "EXTENSION": "__extension__",
    "AND_AND": "and",
    "OR_OR": "or",
    "NOT": "not compl",
    "AMP": "bitand",
    "OR": "bitor",
    "XOR": "xor",
    "EQUALITY": "not_eq",
    "ASSIGN": "and_eq or_eq xor_eq",
}

_PUNCTUATION = {
    "(": "LP",
    ")": "RP",
    "[": "LB",
    "]": "RB",
    "{": "LC",
    "}": "RC",
    ";": "SEMI",
    ",": "COMMA",
    ":": "COLON",
    "?": "QUESTION",
    ".": "DOT",
    "->": "DOT",
    ".*": "DOT",
    "->*": "DOT",
    "::": "SCOPE",
    "=": "EQ",
    "||": "OR_OR",
    "&&": "AND_AND",
    "|": "OR",
    "^": "XOR",
    "&": "AMP",
    "==": "EQUALITY",
    "!=": "EQUALITY",
    "<": "LT",
    ">": "GT",
    "<=": "RELATION",
    ">=": "RELATION",
    "<=>": "RELATION",
    "<<": "SHIFT",
    ">>": "SHIFT",
    "+": "SIGN",
    "-": "SIGN",
    "*": "STAR",
    "/": "FACTOR",
    "%": "FACTOR",
    "!": "NOT",
    "~": "NOT",
    "++": "STEP",
    "--": "STEP",
    "<<<": "LAUNCH_OPEN",
    ">>>": "LAUNCH_CLOSE",
    "...": "ELLIPSIS",
    "#": "HASH",
    "##": "PASTE",
}
_ASSIGN = "+= -= *= /= %= &= |= ^= <<= >>="

KEYWORDS: dict[str, str] = {word: kind for kind, words in _KEYWORDS.items() for word in words.split()}

# Types that a kernel may use without a declaration in sight (CUDA headers, <cstdint>). Sizes: semantics/types.py.
KNOWN_TYPES = frozenset(
    "half half2 __half __half2 __half_raw __nv_bfloat16 __nv_bfloat162 nv_bfloat16 nv_bfloat162 size_t ptrdiff_t"
    " intptr_t uintptr_t int8_t int16_t int32_t int64_t uint8_t uint16_t uint32_t uint64_t uint uchar ushort ulong"
    " char1 char2 char3 char4 uchar1 uchar2 uchar3 uchar4 short1 short2 short3 short4 ushort1 ushort2 ushort3 ushort4"
    " int1 int2 int3 int4 uint1 uint2 uint3 uint4 long1 long2 ulong1 ulong2 longlong1 longlong2 ulonglong1 ulonglong2"
    " float1 float2 float3 float4 double1 double2 double3 double4 double4_16a double4_32a dim3 clock_t"
    " cudaTextureObject_t cudaSurfaceObject_t cudaStream_t cudaEvent_t cudaError_t cuComplex cuDoubleComplex"
    " cuFloatComplex __nv_fp8_e4m3 __nv_fp8_e5m2 __nv_fp8x2_e4m3 __nv_fp8x4_e4m3 FILE bfloat16".split()
)


class _Kinds(dict[str, str]):
    """Spelling -> kind, filled as spellings are met; bounded."""

    def forget(self) -> None:
        """Drop all spellings but the fixed ones."""
        self.clear()
        self.update(_FIXED)

    def __missing__(self, spelling: str) -> str:
        if len(self) > _MOST_SPELLINGS:
            self.forget()
        kind = _kind(spelling)
        self[spelling] = kind
        return kind


def _kind(spelling: str) -> str:
    first = spelling[:1]
    if not first:
        return "END"
    if first == "#":
        return "DIRECTIVE"
    if spelling[-1] == '"' or first == '"' or (first in "RuUL" and '"' in spelling):
        return "STRING"
    if "'" in spelling or first.isdigit() or (first == "." and len(spelling) > 1):
        return "NUMBER"
    if first.isidentifier() or first == "$":
        return "NAME"
    return "STRAY"


_FIXED = {**KEYWORDS, **_PUNCTUATION, **dict.fromkeys(_ASSIGN.split(), "ASSIGN")}
KINDS = _Kinds(_FIXED)
PROCESS.adopt(KINDS.forget)
kind_of = KINDS.__getitem__
