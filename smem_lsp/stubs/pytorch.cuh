// PyTorch: ATen/cuda/Atomic.cuh, ATen/core/TensorAccessor.h.

template <class T> [[smem::model(library_atomic), smem::updates(address)]] T gpuAtomicAdd(T* address, T value);
template <class T> [[smem::model(library_atomic), smem::updates(address)]] void gpuAtomicAddNoReturn(T* address, T value);
template <class T> [[smem::model(library_atomic), smem::updates(address)]] T gpuAtomicMul(T* address, T value);
template <class T> [[smem::model(library_atomic), smem::updates(address)]] T gpuAtomicMax(T* address, T value);
template <class T> [[smem::model(library_atomic), smem::updates(address)]] T gpuAtomicMin(T* address, T value);

// Views of tensors that kernels get as parameters
namespace at {
template <class T, size_t N>
class [[smem::model(accessor)]] PackedTensorAccessor {
  [[smem::pure]] long size(int dimension);
  [[smem::pure]] long stride(int dimension);
};
template <class T, size_t N>
class [[smem::model(accessor)]] PackedTensorAccessor32 {
  [[smem::pure]] long size(int dimension);
  [[smem::pure]] long stride(int dimension);
};
template <class T, size_t N>
class [[smem::model(accessor)]] PackedTensorAccessor64 {
  [[smem::pure]] long size(int dimension);
  [[smem::pure]] long stride(int dimension);
};
template <class T, size_t N>
class [[smem::model(accessor)]] GenericPackedTensorAccessor {
  [[smem::pure]] long size(int dimension);
  [[smem::pure]] long stride(int dimension);
};
template <class T, size_t N>
class [[smem::model(accessor)]] TensorAccessor {
  [[smem::pure]] long size(int dimension);
  [[smem::pure]] long stride(int dimension);
};
}
