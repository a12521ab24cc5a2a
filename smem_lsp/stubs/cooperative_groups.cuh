// Thread groups: CUDA C++ Programming Guide, "Cooperative Groups". What a group does stands in the code of models.

namespace cooperative_groups {
[[smem::model(group), smem::threads(block)]] thread_block this_thread_block();
[[smem::model(group), smem::threads(grid)]] grid_group this_grid();
[[smem::model(group), smem::threads(cluster)]] cluster_group this_cluster();
[[smem::model(group), smem::threads(warp)]] coalesced_group coalesced_threads();
[[smem::model(group), smem::threads(other)]] thread_group this_thread();
template <unsigned Size, class Group> [[smem::model(group), smem::threads(warp)]] thread_group tiled_partition(const Group& group);
template <class Group> [[smem::model(group), smem::threads(warp)]] coalesced_group labeled_partition(const Group& group, int label);
template <class Group> [[smem::model(group), smem::threads(warp)]] coalesced_group binary_partition(const Group& group, bool predicate);

template <class Group> [[smem::model(group_barrier)]] void sync(const Group& group);

template <class Group, class T, class Op> [[smem::model(group_collective)]] T reduce(const Group& group, T value, Op op);
template <class Group, class T, class Op> [[smem::model(group_collective)]] T inclusive_scan(const Group& group, T value, Op op);
template <class Group, class T, class Op> [[smem::model(group_collective)]] T exclusive_scan(const Group& group, T value, Op op);
template <class Group, class F> [[smem::model(group_leader)]] void invoke_one(const Group& group, F call, ...);
template <class Group, class F> [[smem::model(group_leader)]] auto invoke_one_broadcast(const Group& group, F call, ...);

class thread_group {
  template <class T> [[smem::pure, smem::collective]] T shfl(T value, int lane);
  template <class T> [[smem::pure, smem::collective]] T shfl_up(T value, int delta);
  template <class T> [[smem::pure, smem::collective]] T shfl_down(T value, int delta);
  template <class T> [[smem::pure, smem::collective]] T shfl_xor(T value, int lanes);
  [[smem::pure, smem::collective]] int any(int predicate);
  [[smem::pure, smem::collective]] int all(int predicate);
  [[smem::pure, smem::collective]] unsigned ballot(int predicate);
  template <class T> [[smem::pure, smem::collective]] unsigned match_any(T value);
  template <class T> [[smem::pure, smem::collective]] unsigned match_all(T value, int& predicate);
};
}
