// Names of PyTorch. They hold where no header in sight has them.

#define CUDA_KERNEL_LOOP_TYPE(i, n, type)  for (type i = blockIdx.x * blockDim.x + threadIdx.x; i < (n); i += blockDim.x * gridDim.x)
#define CUDA_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#define CUDA_1D_KERNEL_LOOP_T(i, n, type) CUDA_KERNEL_LOOP_TYPE(i, n, type)
#define CUDA_1D_KERNEL_LOOP(i, n) CUDA_KERNEL_LOOP_TYPE(i, n, int)
#define C10_LAUNCH_BOUNDS_0 __launch_bounds__(256, 4)
#define C10_LAUNCH_BOUNDS_1(threads) __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(threads))
#define C10_LAUNCH_BOUNDS_2(threads, blocks)  __launch_bounds__(C10_MAX_THREADS_PER_BLOCK(threads), C10_MIN_BLOCKS_PER_SM(threads, blocks))
#define C10_MAX_THREADS_PER_BLOCK(val) (((val) <= 1024) ? (val) : 256)
#define C10_MIN_BLOCKS_PER_SM(threads, blocks)  ((threads) * (blocks) > 2048 ? (2047 + (threads)) / (threads) : (blocks))
#define C10_WARP_SIZE 32
#define C10_HOST_DEVICE __host__ __device__
#define C10_DEVICE __device__
#define C10_HOST __host__
#define C10_ALWAYS_INLINE __attribute__((always_inline)) inline
#define C10_NOINLINE __attribute__((noinline))
#define C10_RESTRICT __restrict
#define C10_UNUSED __attribute__((unused))
#define C10_NODISCARD
#define C10_FALLTHROUGH
#define C10_LIKELY(expr) (expr)
#define C10_UNLIKELY(expr) (expr)
#define C10_EXPORT
#define C10_HIDDEN
#define C10_IMPORT
#define C10_API
#define C10_CUDA_API
#define TORCH_API
#define TORCH_CUDA_CPP_API
#define TORCH_CUDA_CU_API
#define AT_CUDA_API
#define GPU_LAMBDA __host__ __device__
#define C10_CUDA_CHECK(expr) ((void)(expr))
#define C10_CUDA_CHECK_WARN(expr) ((void)(expr))
#define C10_CUDA_ERROR_HANDLED(expr) (expr)
#define C10_CUDA_IGNORE_ERROR(expr) ((void)(expr))
#define C10_CUDA_KERNEL_LAUNCH_CHECK() ((void)cudaGetLastError())
#define AT_CUDA_CHECK(expr) ((void)(expr))
#define AT_CUDA_DRIVER_CHECK(expr) ((void)(expr))
#define TORCH_CUDA_KERNEL_LAUNCH_CHECK() ((void)cudaGetLastError())
#define THCudaCheck(expr) ((void)(expr))
#define CUDA_KERNEL_ASSERT(cond) ((void)(cond))
#define CUDA_KERNEL_ASSERT2(cond) ((void)(cond))
#define CUDA_KERNEL_ASSERT_MSG(cond, msg) ((void)(cond))
#define CUDA_KERNEL_ASSERT_PRINTF(cond, ...) ((void)(cond))
#define SYCL_KERNEL_ASSERT(cond) ((void)(cond))
#define AT_DISPATCH_SWITCH(type, name, ...) (__VA_ARGS__ 0)
#define THO_DISPATCH_SWITCH(type, name, ...) (__VA_ARGS__ 0)
#define AT_DISPATCH_CASE(kind, ...) THO_DISPATCH_CASE(kind, __VA_ARGS__),
#define AT_DISPATCH_CASE_FLOATING_TYPES(...) AT_DISPATCH_FLOATING_TYPES(0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND(one, ...) AT_DISPATCH_FLOATING_TYPES_AND(one, 0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_FLOATING_TYPES_AND2(one, two, ...) AT_DISPATCH_FLOATING_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES(...) AT_DISPATCH_REDUCED_FLOATING_TYPES(0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES_AND(one, ...) AT_DISPATCH_REDUCED_FLOATING_TYPES_AND(one, 0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_REDUCED_FLOATING_TYPES_AND2(one, two, ...)  AT_DISPATCH_REDUCED_FLOATING_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_INTEGRAL_TYPES(...) AT_DISPATCH_INTEGRAL_TYPES(0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND(one, ...) AT_DISPATCH_INTEGRAL_TYPES_AND(one, 0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_INTEGRAL_TYPES_AND2(one, two, ...) AT_DISPATCH_INTEGRAL_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_ALL_TYPES(...) AT_DISPATCH_ALL_TYPES(0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_ALL_TYPES_AND(one, ...) AT_DISPATCH_ALL_TYPES_AND(one, 0, 0, __VA_ARGS__),
#define AT_DISPATCH_CASE_ALL_TYPES_AND2(one, two, ...) AT_DISPATCH_ALL_TYPES_AND2(one, two, 0, 0, __VA_ARGS__),

struct scalar_t;
struct accscalar_t;
struct acc_t;
struct opmath_t;
struct opmath_type;
struct index_t;
struct BFloat16;
struct Half;
struct Float8_e4m3fn;
struct Float8_e5m2;
template <class... T> class PackedTensorAccessor;
template <class... T> class PackedTensorAccessor32;
template <class... T> class PackedTensorAccessor64;
template <class... T> class TensorAccessor;
template <class... T> class acc_type;
template <class T> void const_data_ptr();
template <class T> void data_ptr();
template <class T> void mutable_data_ptr();
template <class T> void packed_accessor();
template <class T> void packed_accessor32();
template <class T> void packed_accessor64();
