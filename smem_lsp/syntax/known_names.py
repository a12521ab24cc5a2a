"""Names of well-known headers that are rarely in sight: the CUDA toolkit, CUB, libcu++, CuTe, CUTLASS, PyTorch, C.

The meaning of a macro holds only where neither the file nor a header that was found defines it. Meanings are those
of the documentation, in device code of a release build.
"""

from __future__ import annotations

_CUDA = """
_Pragma(x)
__pragma(x)
__THROW
__CRTDECL
CUDA_CB
CUDARTAPI
CUDAAPI
CUDART_CB
CUDART_INF_F __int_as_float(0x7f800000)
CUDART_NAN_F __int_as_float(0x7fffffff)
CUDART_MIN_DENORM_F __int_as_float(0x00000001)
CUDART_MAX_NORMAL_F __int_as_float(0x7f7fffff)
CUDART_NEG_ZERO_F __int_as_float(0x80000000)
CUDART_ZERO_F 0.0f
CUDART_ONE_F 1.0f
CUDART_SQRT_TWO_F 1.414213562F
CUDART_PI_F 3.141592654F
CUDART_PIO2_F 1.570796327F
CUDART_L2E_F 1.442695041F
CUDART_LN2_F 0.693147181F
CUDART_INF __longlong_as_double(0x7ff0000000000000ULL)
CUDART_NAN __longlong_as_double(0xfff8000000000000ULL)
CUDART_ZERO 0.0
CUDART_ONE 1.0
CUDART_PI 3.1415926535897931e+0
CUDART_PIO2 1.5707963267948966e+0
CUDART_LN2_LO 0.0
cudaHostAllocDefault 0
cudaHostAllocPortable 1
cudaHostAllocMapped 2
cudaHostAllocWriteCombined 4
cudaStreamDefault 0
cudaStreamNonBlocking 1
cudaEventDefault 0
cudaEventBlockingSync 1
cudaEventDisableTiming 2
cudaEventInterprocess 4
cudaMemAttachGlobal 1
cudaMemAttachHost 2
"""

# HIP, "C++ language extensions" and `hip/hip_runtime.h`: what names are there that CUDA spells otherwise.
_HIP = """
hipLaunchKernelGGL(kernel, grid, block, bytes, stream, ...) kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
hipExtLaunchKernelGGL(kernel, grid, block, bytes, stream, start, stop, flags, ...) \
 kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
hipLaunchKernel cudaLaunchKernel
hipExtLaunchKernel cudaLaunchKernel
hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
hipModuleLaunchKernel cuLaunchKernel
hipModuleGetFunction cuModuleGetFunction
HIP_KERNEL_NAME(...) __VA_ARGS__
HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
HIP_DYNAMIC_SHARED_ATTRIBUTE
hipThreadIdx_x threadIdx.x
hipThreadIdx_y threadIdx.y
hipThreadIdx_z threadIdx.z
hipBlockIdx_x blockIdx.x
hipBlockIdx_y blockIdx.y
hipBlockIdx_z blockIdx.z
hipBlockDim_x blockDim.x
hipBlockDim_y blockDim.y
hipBlockDim_z blockDim.z
hipGridDim_x gridDim.x
hipGridDim_y gridDim.y
hipGridDim_z gridDim.z
"""

_C = """
CHAR_BIT 8
SCHAR_MIN (-128)
SCHAR_MAX 127
CHAR_MIN (-128)
CHAR_MAX 127
UCHAR_MAX 255
SHRT_MIN (-32768)
SHRT_MAX 32767
USHRT_MAX 65535
INT_MIN (-2147483647 - 1)
INT_MAX 2147483647
UINT_MAX 4294967295U
LONG_MIN (-9223372036854775807L - 1L)
LONG_MAX 9223372036854775807L
ULONG_MAX 18446744073709551615UL
LLONG_MIN (-9223372036854775807LL - 1LL)
LLONG_MAX 9223372036854775807LL
ULLONG_MAX 18446744073709551615ULL
INT8_MIN (-128)
INT8_MAX 127
UINT8_MAX 255
INT16_MIN (-32768)
INT16_MAX 32767
UINT16_MAX 65535
INT32_MIN (-2147483647 - 1)
INT32_MAX 2147483647
UINT32_MAX 4294967295U
INT64_MIN (-9223372036854775807LL - 1LL)
INT64_MAX 9223372036854775807LL
UINT64_MAX 18446744073709551615ULL
SIZE_MAX 18446744073709551615UL
PTRDIFF_MAX 9223372036854775807L
FLT_RADIX 2
FLT_DIG 6
FLT_MANT_DIG 24
FLT_MAX_EXP 128
FLT_MIN_EXP (-125)
FLT_MAX 3.402823466e+38F
FLT_MIN 1.175494351e-38F
FLT_EPSILON 1.192092896e-07F
DBL_DIG 15
DBL_MANT_DIG 53
DBL_MAX_EXP 1024
DBL_MIN_EXP (-1021)
DBL_MAX 1.7976931348623157e+308
DBL_MIN 2.2250738585072014e-308
DBL_EPSILON 2.2204460492503131e-16
INFINITY __int_as_float(0x7f800000)
NAN __int_as_float(0x7fffffff)
HUGE_VAL __longlong_as_double(0x7ff0000000000000ULL)
HUGE_VALF __int_as_float(0x7f800000)
M_E 2.7182818284590452354
M_LOG2E 1.4426950408889634074
M_LOG10E 0.43429448190325182765
M_LN2 0.69314718055994530942
M_LN10 2.30258509299404568402
M_PI 3.14159265358979323846
M_PI_2 1.57079632679489661923
M_PI_4 0.78539816339744830962
M_1_PI 0.31830988618379067154
M_2_PI 0.63661977236758134308
M_2_SQRTPI 1.12837916709551257390
M_SQRT2 1.41421356237309504880
M_SQRT1_2 0.70710678118654752440
EXIT_SUCCESS 0
EXIT_FAILURE 1
RAND_MAX 2147483647
PRId8 "d"
PRId16 "d"
PRId32 "d"
PRId64 "ld"
PRIi32 "i"
PRIi64 "li"
PRIu8 "u"
PRIu16 "u"
PRIu32 "u"
PRIu64 "lu"
PRIx32 "x"
PRIx64 "lx"
UINT64_C(c) c ## UL
INT64_C(c) c ## L
UINT32_C(c) c ## U
INT32_C(c) c
"""

_CUB = """
CUB_NAMESPACE_BEGIN namespace cub {
CUB_NAMESPACE_END }
THRUST_NAMESPACE_BEGIN namespace thrust {
THRUST_NAMESPACE_END }
CUB_RUNTIME_FUNCTION __host__ __device__
CUB_MIN(a, b) (((b) < (a)) ? (b) : (a))
CUB_MAX(a, b) (((b) > (a)) ? (b) : (a))
CUB_QUOTIENT_FLOOR(x, y) ((x) / (y))
CUB_QUOTIENT_CEILING(x, y) (((x) + (y) - 1) / (y))
CUB_ROUND_UP_NEAREST(x, y) (CUB_QUOTIENT_CEILING(x, y) * (y))
CUB_ROUND_DOWN_NEAREST(x, y) (((x) / (y)) * (y))
CUB_PTX_WARP_THREADS 32
CUB_PTX_LOG_WARP_THREADS 5
CUB_LOG_WARP_THREADS(unused) 5
CUB_WARP_THREADS(unused) 32
CUB_PTX_SMEM_BANKS 32
CUB_SMEM_BANKS(unused) 32
CUB_IS_DEVICE_CODE 1
CUB_IS_HOST_CODE 0
CUB_PREVENT_MACRO_SUBSTITUTION
CUB_DEPRECATED
CUB_STDERR
CubDebug(e) (e)
CubDebugExit(e) (e)
_CubLog(format, ...)
_CCCL_DEVICE __device__
_CCCL_HOST __host__
_CCCL_HOST_DEVICE __host__ __device__
_CCCL_FORCEINLINE __forceinline__
_CCCL_DEVICE_API __device__
_CCCL_HOST_API __host__
_CCCL_API __host__ __device__
_CCCL_KERNEL_ATTRIBUTES __global__
_CCCL_PRAGMA_UNROLL_FULL()
_CCCL_PRAGMA_UNROLL(n)
_CCCL_PRAGMA_NOUNROLL()
_CCCL_RESTRICT __restrict__
_CCCL_CONSTEXPR_CXX14 constexpr
_CCCL_CONSTEXPR_CXX17 constexpr
_CCCL_CONSTEXPR_CXX20 constexpr
_CCCL_GRID_CONSTANT __grid_constant__
_CCCL_TEMPLATE(...) template <__VA_ARGS__>
_LIBCUDACXX_INLINE_VISIBILITY __host__ __device__
_LIBCUDACXX_HIDE_FROM_ABI __host__ __device__ inline
_LIBCUDACXX_BEGIN_NAMESPACE_CUDA namespace cuda {
_LIBCUDACXX_END_NAMESPACE_CUDA }
_LIBCUDACXX_BEGIN_NAMESPACE_STD namespace cuda { namespace std {
_LIBCUDACXX_END_NAMESPACE_STD } }
THRUST_HOST __host__
THRUST_DEVICE __device__
THRUST_HOST_DEVICE __host__ __device__
NV_IF_TARGET(condition, ...) NV_IF_TARGET_FIRST_(__VA_ARGS__, )
NV_IF_TARGET_FIRST_(first, ...) NV_UNPACK_ first
NV_IF_ELSE_TARGET(condition, yes, no) NV_UNPACK_ yes
NV_UNPACK_(...) __VA_ARGS__
"""

_CUTLASS = """
CUTLASS_PRAGMA_UNROLL
CUTLASS_PRAGMA_NO_UNROLL
CUTLASS_GEMM_LOOP
CUTLASS_GEMM_LOOP_HEADER
CUTLASS_HOST __host__
CUTLASS_DEVICE __forceinline__ __device__
CUTLASS_HOST_DEVICE __forceinline__ __device__ __host__
CUTLASS_GLOBAL __global__ static
CUTLASS_INLINE_FUNCTION inline
CUTLASS_CONSTEXPR_IF_CXX17 constexpr
CUTLASS_CXX17_OR_LATER 1
CUTLASS_LAMBDA_FUNC_INLINE
CUTLASS_GRID_CONSTANT __grid_constant__
CUTLASS_UNUSED(expr) ((void)(expr))
CUTLASS_ASSERT(x) ((void)0)
CUTLASS_TRACE_HOST(x)
CUTLASS_TRACE_DEVICE(...)
CUTLASS_NOT_IMPLEMENTED() ((void)0)
CUTLASS_STL_NAMESPACE std
CUTLASS_CHECK(status) ((void)(status))
CUTLASS_ENABLE_F16C 0
CUTE_UNROLL
CUTE_NO_UNROLL
CUTE_HOST_DEVICE __forceinline__ __host__ __device__
CUTE_DEVICE __forceinline__ __device__
CUTE_HOST __forceinline__ __host__
CUTE_HOST_RTC __forceinline__ __host__ __device__
CUTE_INLINE_CONSTANT static constexpr
CUTE_GRID_CONSTANT __grid_constant__
CUTE_ALIGNAS(n) alignas(n)
CUTE_FUNC inline
CUTE_STL_NAMESPACE cuda::std
CUTE_STATIC_ASSERT(...) static_assert(__VA_ARGS__)
CUTE_STATIC_ASSERT_V(x, ...) static_assert(decltype(x)::value, ## __VA_ARGS__)
CUTE_RUNTIME_ASSERT(x) assert(0 && x)
CUTE_INVALID_CONTROL_PATH(x) assert(0 && x)
CUTE_GCC_UNREACHABLE __builtin_unreachable()
CUTE_NO_RETURN
"""

_PYTORCH = """
CUDA_KERNEL_LOOP_TYPE(i, n, type) \
 for (type i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
CUDA_1D_KERNEL_LOOP_T(i, n, type) CUDA_KERNEL_LOOP_TYPE(i, n, type)
CUDA_1D_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(threads))
C10_LAUNCH_BOUNDS_2(threads, blocks) \
 __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(threads), C10_MIN_BLOCKS_PER_SM(threads, blocks))
C10_MAX_THREADS_PER_BLOCK(val) (((val) <= 1024) ? (val) : 256)
C10_MIN_BLOCKS_PER_SM(threads, blocks) \
 ((threads) * (blocks) > 2048 ? (2047 + (threads)) / (threads) : (blocks))
C10_WARP_SIZE 32
C10_HOST_DEVICE __host__ __device__
C10_DEVICE __device__
C10_HOST __host__
C10_ALWAYS_INLINE __attribute__((always_inline)) inline
C10_NOINLINE __attribute__((noinline))
C10_RESTRICT __restrict
C10_UNUSED __attribute__((unused))
C10_NODISCARD
C10_FALLTHROUGH
C10_LIKELY(expr) (expr)
C10_UNLIKELY(expr) (expr)
C10_EXPORT
C10_HIDDEN
C10_IMPORT
C10_API
C10_CUDA_API
TORCH_API
TORCH_CUDA_CPP_API
TORCH_CUDA_CU_API
AT_CUDA_API
GPU_LAMBDA __host__ __device__
C10_CUDA_CHECK(expr) ((void)(expr))
C10_CUDA_CHECK_WARN(expr) ((void)(expr))
C10_CUDA_ERROR_HANDLED(expr) (expr)
C10_CUDA_IGNORE_ERROR(expr) ((void)(expr))
C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)cudaGetLastError())
AT_CUDA_CHECK(expr) ((void)(expr))
AT_CUDA_DRIVER_CHECK(expr) ((void)(expr))
TORCH_CUDA_KERNEL_LAUNCH_CHECK() ((void)cudaGetLastError())
THCudaCheck(expr) ((void)(expr))
CUDA_KERNEL_ASSERT(cond) ((void)(cond))
CUDA_KERNEL_ASSERT2(cond) ((void)(cond))
CUDA_KERNEL_ASSERT_MSG(cond, msg) ((void)(cond))
CUDA_KERNEL_ASSERT_PRINTF(cond, ...) ((void)(cond))
SYCL_KERNEL_ASSERT(cond) ((void)(cond))
AT_DISPATCH_SWITCH(type, name, ...) (__VA_ARGS__ 0)
THO_DISPATCH_SWITCH(type, name, ...) (__VA_ARGS__ 0)
AT_DISPATCH_CASE(kind, ...) THO_DISPATCH_CASE(kind, __VA_ARGS__),
AT_DISPATCH_CASE_FLOATING_TYPES(...) AT_DISPATCH_FLOATING_TYPES(0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_FLOATING_TYPES_AND(one, ...) AT_DISPATCH_FLOATING_TYPES_AND(one, 0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_FLOATING_TYPES_AND2(one, two, ...) AT_DISPATCH_FLOATING_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) AT_DISPATCH_REDUCED_FLOATING_TYPES(0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES_AND(one, ...) AT_DISPATCH_REDUCED_FLOATING_TYPES_AND(one, 0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES_AND2(one, two, ...) \
 AT_DISPATCH_REDUCED_FLOATING_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_INTEGRAL_TYPES(...) AT_DISPATCH_INTEGRAL_TYPES(0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(one, ...) AT_DISPATCH_INTEGRAL_TYPES_AND(one, 0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_INTEGRAL_TYPES_AND2(one, two, ...) AT_DISPATCH_INTEGRAL_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_ALL_TYPES(0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_ALL_TYPES_AND(one, ...) AT_DISPATCH_ALL_TYPES_AND(one, 0, 0, __VA_ARGS__),
AT_DISPATCH_CASE_ALL_TYPES_AND2(one, two, ...) AT_DISPATCH_ALL_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),
"""


# RAPIDS: `cudf/types.hpp`, `cuml/common/utils.hpp`.
_RAPIDS = """
CUDF_KERNEL __global__ static
CUML_KERNEL __global__ static
CUDF_HOST_DEVICE __host__ __device__
CUDF_UNREACHABLE(msg) __builtin_unreachable()
CUDF_CUDA_TRY(call) ((void)(call))
RAFT_CUDA_TRY(call) ((void)(call))
"""


def _lines(*texts: str) -> tuple[str, ...]:
    return tuple(line for text in texts for line in text.strip().splitlines())


KNOWN_MACROS = _lines(_CUDA, _HIP, _C, _CUB, _CUTLASS, _PYTORCH, _RAPIDS)
"""``NAME(parameters) body``, as it would follow ``#define``."""

KNOWN_HEADERS = frozenset(
    "cuda.h cuda_runtime.h cuda_runtime_api.h cuda_fp16.h cuda_bf16.h cuda_fp8.h cuda_fp4.h cuda_fp6.h"
    " cuda_pipeline.h cuda_awbarrier.h cooperative_groups.h cooperative_groups/reduce.h"
    " cooperative_groups/memcpy_async.h mma.h math.h cuComplex.h vector_types.h device_launch_parameters.h"
    " curand_kernel.h cublas_v2.h cub/cub.cuh thrust/sort.h nvToolsExt.h cuda/barrier cuda/pipeline cuda/ptx"
    " cuda/std/cstdint cuda/std/utility cuda/std/type_traits cuda/atomic cuda/std/limits cuda/std/tuple"
    " cuda/std/array cuda/std/version cuda/annotated_ptr cuda/semaphore cuda/latch cuda/functional algorithm array"
    " atomic bit bitset cassert cctype cerrno cfloat chrono cinttypes climits cmath complex concepts cstddef"
    " cstdint cstdio cstdlib cstring ctime deque exception filesystem fstream functional future initializer_list"
    " iomanip ios iostream istream iterator limits list locale map memory mutex new numeric numbers optional"
    " ostream queue random ratio regex set shared_mutex sstream stack stdexcept string string_view system_error"
    " thread tuple type_traits typeindex typeinfo unordered_map unordered_set utility variant vector version"
    " assert.h ctype.h errno.h float.h inttypes.h limits.h stdbool.h stddef.h stdint.h stdio.h stdlib.h string.h"
    " time.h unistd.h span ranges".split()
)
"""Headers that nvcc 13 finds without a flag: what ``__has_include`` answers for them."""

KNOWN_HEADER_TYPES = frozenset(
    # cooperative groups, CUDA
    "thread_block thread_group grid_group multi_grid_group coalesced_group cluster_group curandState"
    " curandState_t curandStatePhilox4_32_10_t curandStateXORWOW_t curandStateMRG32k3a_t cudaDeviceProp"
    " cudaFuncAttributes CUtensorMap cudaMemcpyKind cudaDataType_t cublasHandle_t CUstream CUdeviceptr"
    " __nv_fp8_storage_t __nv_fp8x2_storage_t __nv_fp8x4_storage_t __nv_fp8x2_e5m2 __nv_fp8x4_e5m2 __nv_fp8_e8m0"
    " __half2_raw __nv_bfloat16_raw __nv_bfloat162_raw int_least8_t int_fast32_t uintmax_t intmax_t ssize_t"
    # PyTorch
    " scalar_t accscalar_t acc_t opmath_t opmath_type index_t BFloat16 Half Float8_e4m3fn Float8_e5m2"
    # CUTLASS and CuTe
    " bfloat16_t half_t tfloat32_t float_e4m3_t float_e5m2_t int4b_t uint4b_t uint1b_t uint128_t TempStorage".split()
)
"""Types whose headers are rarely in sight; their sizes are not known here."""

KNOWN_TEMPLATES = frozenset(
    "BlockReduce BlockScan BlockLoad BlockStore BlockRadixSort BlockExchange BlockDiscontinuity BlockHistogram"
    " BlockShuffle BlockMergeSort BlockAdjacentDifference BlockRunLengthDecode WarpReduce WarpScan WarpLoad"
    " WarpStore WarpExchange WarpMergeSort DeviceReduce ArgMaxPair KeyValuePair thread_block_tile tiled_partition"
    " PackedTensorAccessor PackedTensorAccessor32 PackedTensorAccessor64 TensorAccessor AlignedBuffer data_ptr"
    " mutable_data_ptr const_data_ptr packed_accessor32 packed_accessor64 packed_accessor static_pointer_cast"
    " dynamic_pointer_cast numeric_limits acc_type make_tensor make_smem_ptr make_gmem_ptr recast_ptr"
    " aligned_size_t is_same_v is_same conditional_t enable_if_t".split()
)
"""Templates whose headers are rarely in sight."""

WAIT_ONLY = frozenset(("__syncthreads", "__syncwarp", "__barrier_sync", "__barrier_sync_count"))
"""Barriers that return nothing: a call of one is no part of an expression, and declares nothing."""
