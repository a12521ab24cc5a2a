// Class templates of the C++ standard library (what stands in std is in cuda::std, too), of libcu++, CUB, Thrust and
// PyTorch, as far as sizes and types follow from them. ``type``: code knows the member ``type``, and what ``name_t`` is;
// ``constant``: the member ``value``, and what ``name_v`` is; ``layout``: how large an object is; ``alias``: what the
// name stands for. The layouts are those of libcu++ 2.0 (CUDA 12) to 3.0 (CUDA 13).

namespace std {
template <bool condition, class A, class B> class [[smem::type(conditional)]] conditional;
template <bool condition, class T = void> class [[smem::type(enable_if)]] enable_if;
template <class... T> class [[smem::type(common)]] common_type;
template <class T> class [[smem::type(identity)]] type_identity;
template <class T> class [[smem::type(without_cv)]] remove_const;
template <class T> class [[smem::type(without_cv)]] remove_volatile;
template <class T> class [[smem::type(without_cv)]] remove_cv;
template <class T> class [[smem::type(without_reference)]] remove_reference;
template <class T> class [[smem::type(without_cvref)]] remove_cvref;
template <class T> class [[smem::type(pointed)]] remove_pointer;
template <class T> class [[smem::type(element)]] remove_extent;
template <class T> class [[smem::type(innermost_element)]] remove_all_extents;
template <class T> class [[smem::type(lvalue_reference)]] add_lvalue_reference;
template <class T> class [[smem::type(rvalue_reference)]] add_rvalue_reference;
template <class T> class [[smem::type(with_const)]] add_const;
template <class T> class [[smem::type(decayed)]] decay;
template <class T> class [[smem::type(underlying)]] underlying_type;
template <class T> class [[smem::type(unsigned_form)]] make_unsigned;
template <class T> class [[smem::type(signed_form)]] make_signed;

template <class T, T value> class [[smem::constant(last)]] integral_constant;
template <bool value> class [[smem::constant(last)]] bool_constant;
class [[smem::alias(true_constant)]] true_type;
class [[smem::alias(false_constant)]] false_type;
template <class A, class B> class [[smem::constant(same)]] is_same;
template <class T> class [[smem::constant(is_integral)]] is_integral;
template <class T> class [[smem::constant(is_floating_point)]] is_floating_point;
template <class T> class [[smem::constant(is_arithmetic)]] is_arithmetic;
template <class T> class [[smem::constant(is_pointer)]] is_pointer;
template <class T> class [[smem::constant(is_reference)]] is_reference;
template <class T> class [[smem::constant(is_lvalue_reference)]] is_lvalue_reference;
template <class T> class [[smem::constant(is_rvalue_reference)]] is_rvalue_reference;
template <class T> class [[smem::constant(is_enum)]] is_enum;
template <class T> class [[smem::constant(is_signed)]] is_signed;
template <class T> class [[smem::constant(is_unsigned)]] is_unsigned;
template <class T> class [[smem::constant(alignment)]] alignment_of;
template <class T, unsigned dimension = 0> class [[smem::constant(extent)]] extent;
template <class T> class [[smem::constant(rank)]] rank;
template <class T> class [[smem::constant(elements)]] tuple_size;

template <class T> class [[smem::limits]] numeric_limits;
template <class T, size_t count> class [[smem::layout(array)]] array;
template <class T> class [[smem::layout(complex)]] complex;
template <class T> class [[smem::layout(atomic)]] atomic;
template <size_t size, size_t alignment> class aligned_storage;
template <size_t size, size_t alignment> class aligned_storage_t;
template <class... T> class variant;
}

namespace cuda {
enum thread_scope { thread_scope_system, thread_scope_device, thread_scope_block, thread_scope_thread };
template <thread_scope scope> class [[smem::layout(barrier)]] barrier;
template <thread_scope scope, size_t stages> class [[smem::layout(pipeline)]] pipeline_shared_state;
template <class T, thread_scope scope = thread_scope_system> class [[smem::layout(atomic)]] atomic;
}

namespace cub {
class [[smem::alias(nothing)]] NullType;
template <class T> class [[smem::layout(uninitialized)]] Uninitialized;
template <class Key, class Value> class [[smem::layout(pair)]] KeyValuePair;
}

namespace thrust {
template <class T> class [[smem::layout(complex)]] complex;
}

// The type in which PyTorch computes on a GPU (ATen/OpMathType.h, ATen/AccumulateType.h)
namespace at {
template <class T> class [[smem::alias(computed)]] opmath_type;
template <class T, bool on_device> class [[smem::alias(accumulated)]] acc_type;
}
