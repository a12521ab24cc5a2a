// Names of the CUDA toolkit. They hold where no header in sight has them.

#define _Pragma(x)
#define __pragma(x)
#define __THROW
#define __CRTDECL
#define CUDA_CB
#define CUDARTAPI
#define CUDAAPI
#define CUDART_CB
#define CUDART_INF_F __int_as_float(0x7f800000)
#define CUDART_NAN_F __int_as_float(0x7fffffff)
#define CUDART_MIN_DENORM_F __int_as_float(0x00000001)
#define CUDART_MAX_NORMAL_F __int_as_float(0x7f7fffff)
#define CUDART_NEG_ZERO_F __int_as_float(0x80000000)
#define CUDART_ZERO_F 0.0f
#define CUDART_ONE_F 1.0f
#define CUDART_SQRT_TWO_F 1.414213562F
#define CUDART_PI_F 3.141592654F
#define CUDART_PIO2_F 1.570796327F
#define CUDART_L2E_F 1.442695041F
#define CUDART_LN2_F 0.693147181F
#define CUDART_INF __longlong_as_double(0x7ff0000000000000ULL)
#define CUDART_NAN __longlong_as_double(0xfff8000000000000ULL)
#define CUDART_ZERO 0.0
#define CUDART_ONE 1.0
#define CUDART_PI 3.1415926535897931e+0
#define CUDART_PIO2 1.5707963267948966e+0
#define CUDART_LN2_LO 0.0
#define cudaHostAllocDefault 0
#define cudaHostAllocPortable 1
#define cudaHostAllocMapped 2
#define cudaHostAllocWriteCombined 4
#define cudaStreamDefault 0
#define cudaStreamNonBlocking 1
#define cudaEventDefault 0
#define cudaEventBlockingSync 1
#define cudaEventDisableTiming 2
#define cudaEventInterprocess 4
#define cudaMemAttachGlobal 1
#define cudaMemAttachHost 2

struct thread_block;
struct thread_group;
struct grid_group;
struct multi_grid_group;
struct coalesced_group;
struct cluster_group;
struct curandState;
struct curandState_t;
struct curandStatePhilox4_32_10_t;
struct curandStateXORWOW_t;
struct curandStateMRG32k3a_t;
struct cudaDeviceProp;
struct cudaFuncAttributes;
struct CUtensorMap;
struct cudaMemcpyKind;
struct cudaDataType_t;
struct cublasHandle_t;
struct CUstream;
struct CUdeviceptr;
struct __nv_fp8_storage_t;
struct __nv_fp8x2_storage_t;
struct __nv_fp8x4_storage_t;
struct __nv_fp8x2_e5m2;
struct __nv_fp8x4_e5m2;
struct __nv_fp8_e8m0;
struct __half2_raw;
struct __nv_bfloat16_raw;
struct __nv_bfloat162_raw;
struct int_least8_t;
struct int_fast32_t;
struct uintmax_t;
struct intmax_t;
struct ssize_t;
template <class... T> class aligned_size_t;
template <class... T> class thread_block_tile;
template <class T> void tiled_partition();
