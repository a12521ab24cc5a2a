// Block-wide and warp-wide collectives of CUB, whose objects are made with a TempStorage for one call (CUB
// documentation; the declarations of CUB 1.15 to 3.0 agree). ``storage``: what their TempStorage holds is laid out by
// ``semantics/cub_storage.py``; ``reuses_storage``: some threads still read the storage when others go on, and those write it first.

enum cudaSharedMemConfig { cudaSharedMemBankSizeDefault, cudaSharedMemBankSizeFourByte, cudaSharedMemBankSizeEightByte };

namespace cub {
enum BlockReduceAlgorithm { BLOCK_REDUCE_RAKING_COMMUTATIVE_ONLY, BLOCK_REDUCE_RAKING, BLOCK_REDUCE_WARP_REDUCTIONS };
enum BlockScanAlgorithm { BLOCK_SCAN_RAKING, BLOCK_SCAN_RAKING_MEMOIZE, BLOCK_SCAN_WARP_SCANS };
enum BlockLoadAlgorithm { BLOCK_LOAD_DIRECT, BLOCK_LOAD_STRIPED, BLOCK_LOAD_VECTORIZE, BLOCK_LOAD_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE, BLOCK_LOAD_WARP_TRANSPOSE_TIMESLICED };
enum BlockStoreAlgorithm { BLOCK_STORE_DIRECT, BLOCK_STORE_STRIPED, BLOCK_STORE_VECTORIZE, BLOCK_STORE_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE, BLOCK_STORE_WARP_TRANSPOSE_TIMESLICED };
enum BlockHistogramAlgorithm { BLOCK_HISTO_SORT, BLOCK_HISTO_ATOMIC };

template <class T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::reuses_storage, smem::storage(block_ends)]] BlockAdjacentDifference {
  struct TempStorage;
};
template <class T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::reuses_storage, smem::storage(block_ends)]] BlockDiscontinuity {
  struct TempStorage;
};
template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, bool WARP_TIME_SLICING = false, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::storage(block_exchange)]] BlockExchange {
  struct TempStorage;
};
template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, int BINS, BlockHistogramAlgorithm ALGORITHM = BLOCK_HISTO_SORT, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::storage(block_histogram)]] BlockHistogram {
  struct TempStorage;
};
template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockLoadAlgorithm ALGORITHM = BLOCK_LOAD_DIRECT, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::storage(block_load)]] BlockLoad {
  struct TempStorage;
};
template <class KeyT, int BLOCK_DIM_X, int ITEMS_PER_THREAD, class ValueT = NullType, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::reuses_storage, smem::storage(block_merge_sort)]] BlockMergeSort {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockRadixRank {
  struct TempStorage;
};
template <class KeyT, int BLOCK_DIM_X, int ITEMS_PER_THREAD, class ValueT = NullType, int RADIX_BITS = 4, bool MEMOIZE_OUTER_SCAN = true, BlockScanAlgorithm INNER_SCAN_ALGORITHM = BLOCK_SCAN_WARP_SCANS, cudaSharedMemConfig SMEM_CONFIG = cudaSharedMemBankSizeFourByte, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::reuses_storage, smem::storage(block_radix_sort)]] BlockRadixSort {
  struct TempStorage;
};
template <class T, int BLOCK_DIM_X, BlockReduceAlgorithm ALGORITHM = BLOCK_REDUCE_WARP_REDUCTIONS, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::reuses_storage, smem::storage(block_reduce)]] BlockReduce {
  struct TempStorage;
};
template <class ItemT, int BLOCK_DIM_X, int RUNS_PER_THREAD, int DECODED_ITEMS_PER_THREAD, class DecodedOffsetT = uint32_t, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::storage(block_run_length_decode)]] BlockRunLengthDecode {
  struct TempStorage;
};
template <class T, int BLOCK_DIM_X, BlockScanAlgorithm ALGORITHM = BLOCK_SCAN_RAKING, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::storage(block_scan)]] BlockScan {
  struct TempStorage;
  [[smem::uniform(total)]] void InclusiveSum(T input, T& output, T& total);
  [[smem::uniform(total)]] void ExclusiveSum(T input, T& output, T& total);
  template <class Op>
  [[smem::uniform(total)]] void InclusiveScan(T input, T& output, Op op, T& total);
  template <class Op>
  [[smem::uniform(total)]] void ExclusiveScan(T input, T& output, T initial, Op op, T& total);
};
template <class T, int BLOCK_DIM_X, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::storage(block_shuffle)]] BlockShuffle {
  struct TempStorage;
};
template <class T, int BLOCK_DIM_X, int ITEMS_PER_THREAD, BlockStoreAlgorithm ALGORITHM = BLOCK_STORE_DIRECT, int BLOCK_DIM_Y = 1, int BLOCK_DIM_Z = 1>
class [[smem::model(collective), smem::storage(block_store)]] BlockStore {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] WarpExchange {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] WarpLoad {
  struct TempStorage;
};
template <class KeyT, int ITEMS_PER_THREAD, int LOGICAL_WARP_THREADS = 32, class ValueT = NullType>
class [[smem::model(collective), smem::storage(warp_merge_sort)]] WarpMergeSort {
  struct TempStorage;
};
template <class T, int LOGICAL_WARP_THREADS = 32>
class [[smem::model(collective), smem::storage(warp_reduce)]] WarpReduce {
  struct TempStorage;
};
template <class T, int LOGICAL_WARP_THREADS = 32>
class [[smem::model(collective), smem::storage(warp_scan)]] WarpScan {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] WarpStore {
  struct TempStorage;
};
}
