// HIP: what it has beside the functions of CUDA ("C++ language extensions", "Atomic functions").

template <class T> [[smem::model(atomic), smem::updates(address)]] T safeAtomicAdd(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T safeAtomicMin(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T safeAtomicMax(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T unsafeAtomicAdd(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T unsafeAtomicMin(T* address, T value);
template <class T> [[smem::model(atomic), smem::updates(address)]] T unsafeAtomicMax(T* address, T value);
