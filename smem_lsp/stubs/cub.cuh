// Block-wide and warp-wide collectives of CUB, whose objects are made with a TempStorage for one call (CUB
// documentation). ``reuses_storage``: some threads still read the storage when others go on, and those write it first.

namespace cub {
template <class T, auto... Parameters>
class [[smem::model(collective), smem::reuses_storage]] BlockAdjacentDifference {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective), smem::reuses_storage]] BlockDiscontinuity {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockExchange {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockHistogram {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockLoad {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective), smem::reuses_storage]] BlockMergeSort {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockRadixRank {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective), smem::reuses_storage]] BlockRadixSort {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective), smem::reuses_storage]] BlockReduce {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockRunLengthDecode {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockScan {
  struct TempStorage;
  [[smem::uniform(total)]] void InclusiveSum(T input, T& output, T& total);
  [[smem::uniform(total)]] void ExclusiveSum(T input, T& output, T& total);
  template <class Op>
  [[smem::uniform(total)]] void InclusiveScan(T input, T& output, Op op, T& total);
  template <class Op>
  [[smem::uniform(total)]] void ExclusiveScan(T input, T& output, T initial, Op op, T& total);
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockShuffle {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] BlockStore {
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
template <class T, auto... Parameters>
class [[smem::model(collective)]] WarpMergeSort {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] WarpReduce {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] WarpScan {
  struct TempStorage;
};
template <class T, auto... Parameters>
class [[smem::model(collective)]] WarpStore {
  struct TempStorage;
};
}
