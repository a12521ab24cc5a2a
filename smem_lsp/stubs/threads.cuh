// What threads ask of and tell each other: CUDA C++ Programming Guide, "C++ Language Extensions".

// Synchronization Functions
[[smem::barrier(block)]] void __syncthreads();
[[smem::barrier(block)]] int __syncthreads_count(int predicate);
[[smem::barrier(block)]] int __syncthreads_and(int predicate);
[[smem::barrier(block)]] int __syncthreads_or(int predicate);
[[smem::barrier(warp)]] void __syncwarp(lane_mask mask = 0xffffffff);
[[smem::barrier(named)]] void __barrier_sync(unsigned number);
[[smem::barrier(named)]] void __barrier_sync_count(unsigned number, unsigned threads);

// Warp Shuffle Functions, Warp Vote Functions, Warp Match Functions, Warp Reduce Functions
template <class T> [[smem::pure, smem::collective]] T __shfl(T value, int lane, int width = warpSize);
template <class T> [[smem::pure, smem::collective]] T __shfl_up(T value, unsigned delta, int width = warpSize);
template <class T> [[smem::pure, smem::collective]] T __shfl_down(T value, unsigned delta, int width = warpSize);
template <class T> [[smem::pure, smem::collective]] T __shfl_xor(T value, int mask, int width = warpSize);
template <class T> [[smem::pure, smem::collective(mask)]] T __shfl_sync(lane_mask mask, T value, int lane, int width = warpSize);
template <class T> [[smem::pure, smem::collective(mask)]] T __shfl_up_sync(lane_mask mask, T value, unsigned delta, int width = warpSize);
template <class T> [[smem::pure, smem::collective(mask)]] T __shfl_down_sync(lane_mask mask, T value, unsigned delta, int width = warpSize);
template <class T> [[smem::pure, smem::collective(mask)]] T __shfl_xor_sync(lane_mask mask, T value, int lanes, int width = warpSize);
[[smem::pure, smem::collective]] int __all(int predicate);
[[smem::pure, smem::collective]] int __any(int predicate);
[[smem::pure, smem::collective]] lane_mask __ballot(int predicate);
[[smem::pure, smem::collective(mask)]] int __all_sync(lane_mask mask, int predicate);
[[smem::pure, smem::collective(mask)]] int __any_sync(lane_mask mask, int predicate);
[[smem::pure, smem::collective(mask)]] int __uni_sync(unsigned mask, int predicate);
[[smem::pure, smem::collective(mask)]] lane_mask __ballot_sync(lane_mask mask, int predicate);
template <class T> [[smem::pure, smem::collective(mask)]] lane_mask __match_any_sync(lane_mask mask, T value);
template <class T> [[smem::collective(mask), smem::writes(predicate)]] lane_mask __match_all_sync(lane_mask mask, T value, int* predicate);
template <class T> [[smem::pure, smem::collective(mask)]] T __reduce_add_sync(unsigned mask, T value);
template <class T> [[smem::pure, smem::collective(mask)]] T __reduce_min_sync(unsigned mask, T value);
template <class T> [[smem::pure, smem::collective(mask)]] T __reduce_max_sync(unsigned mask, T value);
template <class T> [[smem::pure, smem::collective(mask)]] T __reduce_and_sync(unsigned mask, T value);
template <class T> [[smem::pure, smem::collective(mask)]] T __reduce_or_sync(unsigned mask, T value);
template <class T> [[smem::pure, smem::collective(mask)]] T __reduce_xor_sync(unsigned mask, T value);
[[smem::impure]] lane_mask __activemask();
[[smem::impure]] unsigned __lane_id();

// Time Function, Memory Fence Functions, Assertion, Trap function, Formatted Output
[[smem::time]] clock_t clock();
[[smem::time]] long long clock64();
[[smem::time]] void __nanosleep(unsigned nanoseconds);
[[smem::fence(block)]] void __threadfence_block();
[[smem::fence(cluster)]] void __threadfence_cluster();
[[smem::fence(device)]] void __threadfence();
[[smem::fence(system)]] void __threadfence_system();
[[smem::impure, smem::local, smem::model(assertion)]] void assert(bool condition);
[[smem::impure, smem::local, smem::model(ending)]] void __assert_fail(const char* assertion, const char* file, unsigned line, const char* function);
[[smem::impure, smem::local, smem::model(ending)]] void __trap();
[[smem::impure, smem::local, smem::model(ending)]] void __builtin_trap();
[[smem::impure, smem::local, smem::model(ending)]] void __builtin_unreachable();
[[smem::impure, smem::local]] void __brkpt();
[[smem::impure, smem::local]] int printf(const char* format, ...);

// Read-Only Data Cache Load Function, Load Functions Using Cache Hints, Store Functions Using Cache Hints
template <class T> [[smem::reads(address), smem::value(readonly), smem::local]] T __ldg(const T* address);
template <class T> [[smem::reads(address), smem::value(load)]] T ldg(const T* address);
template <class T> [[smem::reads(address), smem::value(load)]] T __ldca(const T* address);
template <class T> [[smem::reads(address), smem::value(load)]] T __ldcg(const T* address);
template <class T> [[smem::reads(address), smem::value(load)]] T __ldcs(const T* address);
template <class T> [[smem::reads(address), smem::value(load)]] T __ldcv(const T* address);
template <class T> [[smem::reads(address), smem::value(load)]] T __ldlu(const T* address);
template <class T> [[smem::writes(address)]] void __stwb(T* address, T value);
template <class T> [[smem::writes(address)]] void __stcg(T* address, T value);
template <class T> [[smem::writes(address)]] void __stcs(T* address, T value);
template <class T> [[smem::writes(address)]] void __stwt(T* address, T value);

// Atomic Functions
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(sum)]] T atomicAdd(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(sum)]] T atomicAdd_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(sum)]] T atomicAdd_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(difference)]] T atomicSub(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(difference)]] T atomicSub_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(difference)]] T atomicSub_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicExch(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicExch_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicExch_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicMin(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicMin_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicMin_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicMax(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicMax_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicMax_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicInc(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicInc_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicInc_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicDec(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicDec_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicDec_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(exchange_if_equal)]] T atomicCAS(T* address, T compare, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(exchange_if_equal)]] T atomicCAS_block(T* address, T compare, T value);
template <class T> [[smem::model(atomic), smem::updates(address), smem::value(exchange_if_equal)]] T atomicCAS_system(T* address, T compare, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicAnd(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicAnd_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicAnd_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicOr(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicOr_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicOr_system(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicXor(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicXor_block(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T atomicXor_system(T* address, T value);
template <class T> [[smem::atomic, smem::reads(address, some)]] T __nv_atomic_load_n(T* address, int order, int scope);
template <class T> [[smem::atomic, smem::writes(address, some)]] void __nv_atomic_store_n(T* address, T value, int order, int scope);
template <class T> [[smem::atomic, smem::updates(address, some)]] T __nv_atomic_fetch_add(T* address, T value, int order, int scope);
template <class T> [[smem::atomic, smem::updates(address, some)]] void __nv_atomic_add(T* address, T value, int order, int scope);

// Address Space Predicate Functions, Address Space Conversion Functions
[[smem::model(address_question)]] unsigned __isGlobal(const void* address);
[[smem::model(address_question)]] unsigned __isShared(const void* address);
[[smem::model(address_question)]] unsigned __isConstant(const void* address);
[[smem::model(address_question)]] unsigned __isLocal(const void* address);
[[smem::model(address_question)]] unsigned __isGridConstant(const void* address);
[[smem::model(address_number)]] size_t __cvta_generic_to_shared(const void* address);
[[smem::model(address_number)]] size_t __nv_cvta_generic_to_shared_impl(const void* address);
[[smem::model(address_number)]] unsigned __nvvm_get_smem_pointer(const void* address);
size_t __cvta_generic_to_global(const void* address);
size_t __cvta_generic_to_constant(const void* address);
size_t __cvta_generic_to_local(const void* address);
size_t __cvta_generic_to_grid_constant(const void* address);
void* __cvta_global_to_generic(size_t address);
void* __cvta_shared_to_generic(size_t address);
void* __cvta_constant_to_generic(size_t address);
void* __cvta_local_to_generic(size_t address);
void* __cvta_grid_constant_to_generic(size_t address);

// Warp Matrix Functions
namespace nvcuda {
namespace wmma {
template <class Fragment, class T> [[smem::reads(matrix, some)]] void load_matrix_sync(Fragment& fragment, const T* matrix, unsigned stride, int layout = 0);
template <class Fragment, class T> [[smem::writes(matrix, some)]] void store_matrix_sync(T* matrix, const Fragment& fragment, unsigned stride, int layout);
template <class Fragment, class T> [[smem::model(memory)]] void fill_fragment(Fragment& fragment, const T& value);
template <class D, class A, class B, class C> [[smem::model(memory)]] void mma_sync(D& d, const A& a, const B& b, const C& c, bool satf = false);
}
}
