// Names of HIP: `hip/hip_runtime.h` and "C++ language extensions", what names are there that CUDA spells otherwise.
// They hold where no header in sight has them.

#define hipLaunchKernelGGL(kernel, grid, block, bytes, stream, ...) kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
#define hipExtLaunchKernelGGL(kernel, grid, block, bytes, stream, start, stop, flags, ...)  kernel<<<grid, block, bytes, stream>>>(__VA_ARGS__)
#define hipLaunchKernel cudaLaunchKernel
#define hipExtLaunchKernel cudaLaunchKernel
#define hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
#define hipModuleLaunchKernel cuLaunchKernel
#define hipModuleGetFunction cuModuleGetFunction
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];
#define HIP_DYNAMIC_SHARED_ATTRIBUTE
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z
