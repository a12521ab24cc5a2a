"""What the functions of CUDA do to their arguments, as far as shared memory is concerned.

Only names whose behaviour is fixed by the CUDA headers stand here. Anything else is an unknown call: it may write
what it gets by reference and keep what it gets as a pointer.
"""

from __future__ import annotations

from smem_lsp.source.regex import regex

# Lanes of a thread group exchange values (CUDA programming guide, "Cooperative Groups").
GROUP_EXCHANGES = frozenset("shfl shfl_up shfl_down shfl_xor any all ballot match_any match_all".split())

# The last ones are those of HIP ("C++ language extensions", "Atomic functions").
ATOMICS = regex(
    r"(?:atomic(Add|Sub|Exch|Min|Max|Inc|Dec|CAS|And|Or|Xor)(_block|_system)?|(?:un)?safeAtomic(?:Add|Min|Max))\Z"
)

# The same by other names (ATen/cuda/Atomic.cuh).
OTHER_ATOMICS = regex(r"gpuAtomic(?:Add(?:NoReturn)?|Mul|Max|Min)\Z")

# Asynchronous copies into shared memory: in flight until waited for.
ASYNC_COPIES = frozenset(
    ("__pipeline_memcpy_async", "memcpy_async", "cp_async_cg", "cp_async_ca", "__cp_async_cg_shared_global")
)

_MATH = (
    "abs labs llabs min max acos acosh asin asinh atan atan2 atanh cbrt ceil copysign cos cosh cospi erf erfc exp exp2"
    " exp10 expm1 fabs fdim floor fma fmax fmin fmod hypot ilogb isfinite isinf isnan j0 j1 ldexp lgamma llrint llround"
    " log log10 log1p log2 logb lrint lround nearbyint nextafter norm3d norm4d normcdf pow powi rcbrt remainder rhypot"
    " rint rnorm3d round rsqrt scalbln scalbn signbit sin sinh sinpi sqrt tan tanh tgamma trunc y0 y1"
    " umin umax llmin llmax ullmin ullmax saturate clamp isnormal fdividef"
)
# What CUDA declares in the global namespace for every type of number.
OVERLOADED = frozenset(_MATH.split()) - {"saturate", "clamp"}
_BY_VALUE = frozenset(
    _MATH.split()
    + [f"{name}f" for name in _MATH.split()]
    + (
        "clock clock64 make_dim3 printf assert __min __max"
        " ldg __ldg __ldcg __ldca __ldcs __ldlu __ldcv __stcg __stcs __stwb __stwt"
        " __threadfence __threadfence_block __threadfence_system __nanosleep __trap __brkpt __assert_fail"
        " __builtin_unreachable __lane_id"
        " __activemask __popc __popcll __clz __clzll __ffs __ffsll __brev __brevll __byte_perm __funnelshift_l"
        " __funnelshift_r __funnelshift_lc __funnelshift_rc __sad __usad __mulhi __umulhi __mul24 __umul24 __mul64hi"
        " __umul64hi __hadd __dp4a __dp2a __rhadd __uhadd __urhadd __fns __isinf __isnan __saturatef __expf __exp10f"
        " __logf __log2f __log10f __powf __sinf __cosf __tanf __tanhf __fdividef __frcp_rn __fsqrt_rn __frsqrt_rn"
    ).split()
)
_PATTERNS = regex(
    r"(?:__shfl(?:_up|_down|_xor)?(?:_sync)?|__(?:any|all|ballot)(?:_sync)?|__(?:match_any|match_all|reduce_\w+)_sync"
    r"|__[fd](?:add|sub|mul|div|ma|maf|sqrt|rcp)f?_r[nzud]|__fmaf_r[nzud]"
    r"|__(?:half|halves|float|double|int|uint|short|ushort|ll|ull|bfloat16|nv_bfloat16|low|high|longlong)\w*2\w+"
    r"|__h(?:add|sub|mul|fma|div|neg|abs|max|min|eq|ne|le|ge|lt|gt|equ|neu|leu|geu|ltu|gtu|isnan|isinf)\w*"
    r"|__v(?:abs|add|sub|avg|cmp|max|min|set|sad|neg|had|ib|imax|imin)\w*"
    r"|h2?(?:exp|log|sqrt|rsqrt|sin|cos|rcp|ceil|floor|trunc|rint)\w*"
    r"|cuC(?:real|imag|onj|add|sub|mul|div|abs|fma)f?|make_cu\w*Complex|cuComplex\w+To\w+"  # cuComplex.h
    r"|make_\w+[1-4]|(?:tex(?:1D|2D|3D|Cubemap)|surf(?:1D|2D|3D|Cubemap))[A-Za-z]*|__\w+_as_\w+|__bfloat16\w+|__nv_cvt_\w+|__ld\w\w|__low\w*|__high\w*)\Z"
)


def takes_values(name: str) -> bool:
    """True when the function reads its arguments and nothing else: no reference, no pointer kept or written."""
    plain = name.removeprefix("::").removeprefix("std::").removeprefix("cuda::std::").removeprefix("thrust::")
    if plain == "distance":  # of two iterators, in these libraries alone
        return plain != name.removeprefix("::")
    return plain in _BY_VALUE or is_limit(plain) or _PATTERNS.match(plain) is not None


def is_limit(name: str) -> bool:
    """``std::numeric_limits<T>::max`` and its kin: one number of a type, whatever that is."""
    return "numeric_limits" in name.split("::")[:-1]


TIMED = frozenset(("clock", "clock64", "__nanosleep"))  # they read the time, or wait for it

# Loads of one value through a pointer; `__ldg` only reads what nobody writes while the kernel runs.
LOADS = frozenset(("ldg", "__ldg", "__ldcg", "__ldca", "__ldcs", "__ldlu", "__ldcv"))
_IMPURE = regex(
    r"clock(?:64)?|printf|ldg|surf[123C]\w*|assert|__activemask|__lane_id|__nanosleep|__trap|__brkpt|__assert_fail|__(?:ld|st|threadfence)\w*"
)


def is_pure(name: str) -> bool:
    """True when the result follows from the arguments, those of other lanes included, and nothing else."""
    return takes_values(name) and not _IMPURE.fullmatch(name)


# What functions with a fixed meaning do to memory that they get the address of: for each argument in order, "r" reads
# it, "w" writes some of it, "x" both, "." is a value. Qualifiers are left out.
EFFECTS: dict[str, str] = {
    # CUDA C++ programming guide, "Warp Matrix Functions" and "Atomic Functions"
    "load_matrix_sync": ".r..",
    "store_matrix_sync": "w...",
    "fill_fragment": "..",
    "mma_sync": ".....",
    "__nv_atomic_load_n": "r..",
    "__nv_atomic_store_n": "w...",
    "__nv_atomic_fetch_add": "x...",
    "__nv_atomic_add": "x...",
    # "Read-Only Data Cache Load Function", "Load Functions Using Cache Hints", "Store Functions Using Cache Hints"
    "__ldg": "r",
    "__ldcg": "r",
    "__ldca": "r",
    "__ldcs": "r",
    "__ldlu": "r",
    "__ldcv": "r",
    "__stwb": "w.",
    "__stcg": "w.",
    "__stcs": "w.",
    "__stwt": "w.",
    "memcpy": "wr.",
    "memmove": "wr.",
    "memset": "w..",
    "__builtin_memcpy": "wr.",
    "__builtin_memset": "w..",
    "__builtin_prefetch": "...",
    # "Mathematical Functions Appendix"
    "sincos": ".ww",
    "sincosf": ".ww",
    "sincospi": ".ww",
    "sincospif": ".ww",
    "__sincosf": ".ww",
}

# Functions whose result is the address that they get.
SAME_ADDRESS = frozenset(
    ("__builtin_assume_aligned", "assume_aligned", "launder", "addressof", "__addressof", "move", "forward")
)
# Functions whose result is the address that they get, as an integer.
ADDRESS_NUMBERS = frozenset(
    ("__cvta_generic_to_shared", "__nvvm_get_smem_pointer", "__nv_cvta_generic_to_shared_impl")
)
# Functions that ask something of an address and keep nothing of it.
ADDRESS_QUESTIONS = frozenset(
    ("__isShared", "__isGlobal", "__isLocal", "__isConstant", "__builtin_assume", "__builtin_expect")
)

# Views of tensors that kernels get as parameters (ATen/core/TensorAccessor.h), and what they answer from their members.
ACCESSORS = frozenset(
    (
        "PackedTensorAccessor PackedTensorAccessor32 PackedTensorAccessor64 GenericPackedTensorAccessor TensorAccessor"
    ).split()
)
ACCESSOR_QUESTIONS = frozenset(("size", "stride"))

# Random numbers (cuRAND device API): what they return, and the state that they leave, follows from the state that their
# last argument points to; the first ones make a state of the other arguments.
STATE_MAKERS = frozenset(("curand_init",))
STATE_READERS = regex(
    r"curand[1-9]?|curand_(?:uniform|normal|log_normal|poisson|discrete)[24]?(?:_double)?|skipahead(?:_s\w+)?"
)

# Class templates of CUB whose objects are made with a TempStorage for one call (CUB documentation, "Block-wide" and
# "Warp-wide" collectives).
COLLECTIVES = frozenset(
    (
        "BlockAdjacentDifference BlockDiscontinuity BlockExchange BlockHistogram BlockLoad BlockMergeSort"
        " BlockRadixRank BlockRadixSort BlockReduce BlockRunLengthDecode BlockScan BlockShuffle BlockStore"
        " WarpExchange WarpLoad WarpMergeSort WarpReduce WarpScan WarpStore"
    ).split()
)
# Those that leave their storage with some threads still reading it, and begin with others writing it.
REUSED = frozenset(
    "BlockAdjacentDifference BlockDiscontinuity BlockMergeSort BlockRadixSort BlockReduce".split()
)
# (class, method, arguments) -> number of the argument that gets the total of the whole block: the same in all threads
TOTALS = {
    ("BlockScan", "InclusiveSum", 3): 2,
    ("BlockScan", "ExclusiveSum", 3): 2,
    ("BlockScan", "InclusiveScan", 4): 3,
    ("BlockScan", "ExclusiveScan", 5): 4,
}
