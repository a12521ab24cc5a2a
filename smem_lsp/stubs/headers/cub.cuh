// Names of CUB, Thrust and libcu++. They hold where no header in sight has them.

#define CUB_NAMESPACE_BEGIN namespace cub {
#define CUB_NAMESPACE_END }
#define THRUST_NAMESPACE_BEGIN namespace thrust {
#define THRUST_NAMESPACE_END }
#define CUB_RUNTIME_FUNCTION __host__ __device__
#define CUB_MIN(a, b) (((b) < (a)) ? (b) : (a))
#define CUB_MAX(a, b) (((b) > (a)) ? (b) : (a))
#define CUB_QUOTIENT_FLOOR(x, y) ((x) / (y))
#define CUB_QUOTIENT_CEILING(x, y) (((x) + (y) - 1) / (y))
#define CUB_ROUND_UP_NEAREST(x, y) (CUB_QUOTIENT_CEILING(x, y) * (y))
#define CUB_ROUND_DOWN_NEAREST(x, y) (((x) / (y)) * (y))
#define CUB_PTX_WARP_THREADS 32
#define CUB_PTX_LOG_WARP_THREADS 5
#define CUB_LOG_WARP_THREADS(unused) 5
#define CUB_WARP_THREADS(unused) 32
#define CUB_PTX_SMEM_BANKS 32
#define CUB_SMEM_BANKS(unused) 32
#define CUB_IS_DEVICE_CODE 1
#define CUB_IS_HOST_CODE 0
#define CUB_PREVENT_MACRO_SUBSTITUTION
#define CUB_DEPRECATED
#define CUB_STDERR
#define CubDebug(e) (e)
#define CubDebugExit(e) (e)
#define _CubLog(format, ...)
#define _CCCL_DEVICE __device__
#define _CCCL_HOST __host__
#define _CCCL_HOST_DEVICE __host__ __device__
#define _CCCL_FORCEINLINE __forceinline__
#define _CCCL_DEVICE_API __device__
#define _CCCL_HOST_API __host__
#define _CCCL_API __host__ __device__
#define _CCCL_KERNEL_ATTRIBUTES __global__
#define _CCCL_PRAGMA_UNROLL_FULL()
#define _CCCL_PRAGMA_UNROLL(n)
#define _CCCL_PRAGMA_NOUNROLL()
#define _CCCL_RESTRICT __restrict__
#define _CCCL_CONSTEXPR_CXX14 constexpr
#define _CCCL_CONSTEXPR_CXX17 constexpr
#define _CCCL_CONSTEXPR_CXX20 constexpr
#define _CCCL_GRID_CONSTANT __grid_constant__
#define _CCCL_TEMPLATE(...) template <__VA_ARGS__>
#define _LIBCUDACXX_INLINE_VISIBILITY __host__ __device__
#define _LIBCUDACXX_HIDE_FROM_ABI __host__ __device__ inline
#define _LIBCUDACXX_BEGIN_NAMESPACE_CUDA namespace cuda {
#define _LIBCUDACXX_END_NAMESPACE_CUDA }
#define _LIBCUDACXX_BEGIN_NAMESPACE_STD namespace cuda { namespace std {
#define _LIBCUDACXX_END_NAMESPACE_STD } }
#define THRUST_HOST __host__
#define THRUST_DEVICE __device__
#define THRUST_HOST_DEVICE __host__ __device__
#define NV_IF_TARGET(condition, ...) NV_IF_TARGET_FIRST_(__VA_ARGS__, )
#define NV_IF_TARGET_FIRST_(first, ...) NV_UNPACK_ first
#define NV_IF_ELSE_TARGET(condition, yes, no) NV_UNPACK_ yes
#define NV_UNPACK_(...) __VA_ARGS__

template <class... T> class ArgMaxPair;
template <class... T> class BlockAdjacentDifference;
template <class... T> class BlockDiscontinuity;
template <class... T> class BlockExchange;
template <class... T> class BlockHistogram;
template <class... T> class BlockLoad;
template <class... T> class BlockMergeSort;
template <class... T> class BlockRadixSort;
template <class... T> class BlockReduce;
template <class... T> class BlockRunLengthDecode;
template <class... T> class BlockScan;
template <class... T> class BlockShuffle;
template <class... T> class BlockStore;
template <class... T> class DeviceReduce;
template <class... T> class KeyValuePair;
template <class... T> class WarpExchange;
template <class... T> class WarpLoad;
template <class... T> class WarpMergeSort;
template <class... T> class WarpReduce;
template <class... T> class WarpScan;
template <class... T> class WarpStore;
