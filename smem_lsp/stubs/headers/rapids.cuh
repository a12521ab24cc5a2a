// Names of RAPIDS: `cudf/types.hpp`, `cuml/common/utils.hpp`. They hold where no header in sight has them.

#define CUDF_KERNEL __global__ static
#define CUML_KERNEL __global__ static
#define CUDF_HOST_DEVICE __host__ __device__
#define CUDF_UNREACHABLE(msg) __builtin_unreachable()
#define CUDF_CUDA_TRY(call) ((void)(call))
#define RAFT_CUDA_TRY(call) ((void)(call))
