// CUDA's words for functions and variables. Behind all other headers: the standard library uses some of them.
//
// A shared variable becomes thread-local: that word stands where __shared__ may stand, `extern` included, its variables
// are in a section of their own, and ../../assembly.py lays them out as ptxas does.
#define __shared__ thread_local
#define __global__
#define __device__
#define __host__
#define __constant__
#define __managed__
#define __grid_constant__
#define __forceinline__ inline
#define __noinline__ __attribute__((noinline))
#define __launch_bounds__(...)
#define __cluster_dims__(...)
#define __align__(...) __attribute__((aligned(__VA_ARGS__)))
