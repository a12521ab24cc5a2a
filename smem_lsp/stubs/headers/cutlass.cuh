// Names of CUTLASS and CuTe. They hold where no header in sight has them.

#define CUTLASS_PRAGMA_UNROLL
#define CUTLASS_PRAGMA_NO_UNROLL
#define CUTLASS_GEMM_LOOP
#define CUTLASS_GEMM_LOOP_HEADER
#define CUTLASS_HOST __host__
#define CUTLASS_DEVICE __forceinline__ __device__
#define CUTLASS_HOST_DEVICE __forceinline__ __device__ __host__
#define CUTLASS_GLOBAL __global__ static
#define CUTLASS_INLINE_FUNCTION inline
#define CUTLASS_CONSTEXPR_IF_CXX17 constexpr
#define CUTLASS_CXX17_OR_LATER 1
#define CUTLASS_LAMBDA_FUNC_INLINE
#define CUTLASS_GRID_CONSTANT __grid_constant__
#define CUTLASS_UNUSED(expr) ((void)(expr))
#define CUTLASS_ASSERT(x) ((void)0)
#define CUTLASS_TRACE_HOST(x)
#define CUTLASS_TRACE_DEVICE(...)
#define CUTLASS_NOT_IMPLEMENTED() ((void)0)
#define CUTLASS_STL_NAMESPACE std
#define CUTLASS_CHECK(status) ((void)(status))
#define CUTLASS_ENABLE_F16C 0
#define CUTE_UNROLL
#define CUTE_NO_UNROLL
#define CUTE_HOST_DEVICE __forceinline__ __host__ __device__
#define CUTE_DEVICE __forceinline__ __device__
#define CUTE_HOST __forceinline__ __host__
#define CUTE_HOST_RTC __forceinline__ __host__ __device__
#define CUTE_INLINE_CONSTANT static constexpr
#define CUTE_GRID_CONSTANT __grid_constant__
#define CUTE_ALIGNAS(n) alignas(n)
#define CUTE_FUNC inline
#define CUTE_STL_NAMESPACE cuda::std
#define CUTE_STATIC_ASSERT(...) static_assert(__VA_ARGS__)
#define CUTE_STATIC_ASSERT_V(x, ...) static_assert(decltype(x)::value, ## __VA_ARGS__)
#define CUTE_RUNTIME_ASSERT(x) assert(0 && x)
#define CUTE_INVALID_CONTROL_PATH(x) assert(0 && x)
#define CUTE_GCC_UNREACHABLE __builtin_unreachable()
#define CUTE_NO_RETURN

struct bfloat16_t;
struct half_t;
struct tfloat32_t;
struct float_e4m3_t;
struct float_e5m2_t;
struct int4b_t;
struct uint4b_t;
struct uint1b_t;
struct uint128_t;
struct TempStorage;
template <class... T> class AlignedBuffer;
template <class T> void make_gmem_ptr();
template <class T> void make_smem_ptr();
template <class T> void make_tensor();
template <class T> void recast_ptr();
