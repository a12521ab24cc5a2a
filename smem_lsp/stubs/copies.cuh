// Asynchronous copies into shared memory, in flight until they are waited for: "Asynchronous Data Copies"
// (cuda_pipeline_primitives.h, cuda/pipeline), CUTLASS (cute/arch/copy_sm80.hpp), and kernels that name the instruction.

[[smem::model(async_copy)]] void __pipeline_memcpy_async(void* to, const void* from, size_t size, size_t zeros = 0);
template <class T> [[smem::model(async_copy)]] void cp_async_cg(T* to, const T* from, ...);
template <class T> [[smem::model(async_copy)]] void cp_async_ca(T* to, const T* from, ...);
[[smem::model(async_copy)]] void __cp_async_cg_shared_global(unsigned to, const void* from, ...);
namespace cooperative_groups {
template <class Group, class T> [[smem::model(async_copy)]] void memcpy_async(const Group& group, T* to, const T* from, size_t size);
}
