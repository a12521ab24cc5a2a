// Barriers, warp operations, atomics and arithmetic of device code.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <type_traits>
#include <utility>

#include "device.h"

#define SMEM_CALL __attribute__((noinline, no_sanitize("thread"))) inline
#define SMEM_PLACE __builtin_return_address(0)

SMEM_CALL void __syncthreads() { smem::block_barrier(smem::Count::none, 0, SMEM_PLACE); }
SMEM_CALL int __syncthreads_count(int p) { return smem::block_barrier(smem::Count::sum, p, SMEM_PLACE); }
SMEM_CALL int __syncthreads_or(int p) { return smem::block_barrier(smem::Count::any, p, SMEM_PLACE); }
SMEM_CALL int __syncthreads_and(int p) { return smem::block_barrier(smem::Count::all, p, SMEM_PLACE); }
SMEM_CALL void __syncwarp(unsigned mask = 0xFFFFFFFFu) { smem::warp_barrier(mask, SMEM_PLACE); }
inline unsigned __activemask() { return smem::active_lanes(); }
inline void __threadfence_block() {}
inline void __threadfence() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}

namespace smem {

// Lanes meet in equal operations only.
enum : unsigned { shuffle_operation = 1, ballot_operation, match_operation, reduce_operation };

template <class T>
SMEM_CALL uint64_t packed(T value) {
  static_assert(sizeof(T) <= 8, "a lane exchanges up to 8 bytes");
  uint64_t bits = 0;
  memcpy(&bits, &value, sizeof value);
  return bits;
}

template <class T>
SMEM_CALL T unpacked(uint64_t bits) {
  T value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

// The value of lane `source`; its own value where that lane is outside its part of the warp.
template <class T>
SMEM_CALL T shuffled(unsigned mask, T value, unsigned source, bool inside, const void* place) {
  const Exchanged all = warp_exchange(shuffle_operation, mask, packed(value), place);
  return inside ? unpacked<T>(all.values[source % 32]) : value;
}

SMEM_CALL unsigned voted(unsigned mask, int predicate, const void* place) {
  const Exchanged all = warp_exchange(ballot_operation, mask, predicate != 0, place);
  unsigned votes = 0;
  for (unsigned lane = 0; lane < 32; ++lane) votes |= static_cast<unsigned>(all.values[lane]) << lane;
  return votes;
}

template <class T, class F>
SMEM_CALL T reduced(unsigned mask, T value, F combine, const void* place) {
  const Exchanged all = warp_exchange(reduce_operation, mask, packed(value), place);
  T result{};
  bool any = false;
  for (unsigned lane = 0; lane < 32; ++lane) {
    if ((all.lanes >> lane & 1) == 0) continue;
    result = any ? combine(result, unpacked<T>(all.values[lane])) : unpacked<T>(all.values[lane]);
    any = true;
  }
  return result;
}

// What is assigned to (../../unseen.py). g++ puts no hook before the store of a structure that a call returns.
template <class T>
class Assigned {
 public:
  explicit Assigned(T* at) : at_(at) {}
  SMEM_CALL T& operator=(const T& value) { return store(value, SMEM_PLACE); }
  template <class U, class = std::enable_if_t<!std::is_same_v<std::decay_t<U>, T>>>
  __attribute__((always_inline)) decltype(auto) operator=(U&& value) {
    using Given = std::decay_t<U>;
    if constexpr (std::is_class_v<Given> && std::is_convertible_v<U, T> && std::is_trivially_copy_assignable_v<T>)
      return *this = static_cast<T>(std::forward<U>(value));  // a conversion function returns it straight into memory
    else
      return *at_ = std::forward<U>(value);  // what it becomes first is stored here, behind a hook
  }

 private:
  SMEM_CALL T& store(const T& value, const void* place) {
    plain_access(&value, sizeof(T), alignof(T), false, place);
    plain_access(at_, sizeof(T), alignof(T), true, place);
    return *at_ = value;
  }
  T* at_;
};

template <class T>
__attribute__((always_inline)) inline std::conditional_t<std::is_class_v<T> || std::is_union_v<T>, Assigned<T>, T&> set(T& at) {
  if constexpr (std::is_class_v<T> || std::is_union_v<T>)
    return Assigned<T>(&at);
  else
    return at;
}

template <class T, class F>
SMEM_CALL T changed(T* at, F change, const void* place) {
  atomic_access(at, sizeof(T), place);
  const T old = *at;
  *at = change(old);
  return old;
}

}  // namespace smem

template <class T>
SMEM_CALL T __shfl_sync(unsigned mask, T value, int from, int width = 32) {
  const unsigned first = smem::lane() & ~static_cast<unsigned>(width - 1);
  return smem::shuffled(mask, value, first + (static_cast<unsigned>(from) & (width - 1)), true, SMEM_PLACE);
}
template <class T>
SMEM_CALL T __shfl_down_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = smem::lane();
  return smem::shuffled(mask, value, lane + by, (lane & (width - 1)) + by < static_cast<unsigned>(width), SMEM_PLACE);
}
template <class T>
SMEM_CALL T __shfl_up_sync(unsigned mask, T value, unsigned by, int width = 32) {
  const unsigned lane = smem::lane();
  return smem::shuffled(mask, value, lane - by, (lane & (width - 1)) >= by, SMEM_PLACE);
}
template <class T>
SMEM_CALL T __shfl_xor_sync(unsigned mask, T value, int by, int width = 32) {
  const unsigned lane = smem::lane(), source = lane ^ static_cast<unsigned>(by);
  const unsigned last = lane | static_cast<unsigned>(width - 1);
  return smem::shuffled(mask, value, source, source <= last, SMEM_PLACE);
}
SMEM_CALL unsigned __ballot_sync(unsigned mask, int p) { return smem::voted(mask, p, SMEM_PLACE); }
SMEM_CALL int __any_sync(unsigned mask, int p) { return smem::voted(mask, p, SMEM_PLACE) != 0; }
SMEM_CALL int __all_sync(unsigned mask, int p) { return smem::voted(mask, !p, SMEM_PLACE) == 0; }
template <class T>
SMEM_CALL unsigned __match_any_sync(unsigned mask, T value) {
  const smem::Exchanged all = smem::warp_exchange(smem::match_operation, mask, smem::packed(value), SMEM_PLACE);
  unsigned equal = 0;
  for (unsigned lane = 0; lane < 32; ++lane)
    if ((all.lanes >> lane & 1) && all.values[lane] == smem::packed(value)) equal |= 1u << lane;
  return equal;
}

#define SMEM_REDUCE(name, T, expression) \
  SMEM_CALL T name(unsigned mask, T value) { \
    return smem::reduced(mask, value, [](T a, T b) { return static_cast<T>(expression); }, SMEM_PLACE); \
  }
SMEM_REDUCE(__reduce_add_sync, int, a + b)
SMEM_REDUCE(__reduce_add_sync, unsigned, a + b)
SMEM_REDUCE(__reduce_min_sync, int, a < b ? a : b)
SMEM_REDUCE(__reduce_min_sync, unsigned, a < b ? a : b)
SMEM_REDUCE(__reduce_max_sync, int, a < b ? b : a)
SMEM_REDUCE(__reduce_max_sync, unsigned, a < b ? b : a)
SMEM_REDUCE(__reduce_and_sync, unsigned, a & b)
SMEM_REDUCE(__reduce_or_sync, unsigned, a | b)
SMEM_REDUCE(__reduce_xor_sync, unsigned, a ^ b)
#undef SMEM_REDUCE

#define SMEM_ATOMIC(name, expression) \
  template <class T, class V> \
  SMEM_CALL T name(T* at, V by) { \
    const T value = static_cast<T>(by); \
    return smem::changed(at, [value](T old) { return static_cast<T>(expression); }, SMEM_PLACE); \
  } \
  template <class T, class V> \
  SMEM_CALL T name##_block(T* at, V by) { \
    const T value = static_cast<T>(by); \
    return smem::changed(at, [value](T old) { return static_cast<T>(expression); }, SMEM_PLACE); \
  }
SMEM_ATOMIC(atomicAdd, old + value)
SMEM_ATOMIC(atomicSub, old - value)
SMEM_ATOMIC(atomicMin, old < value ? old : value)
SMEM_ATOMIC(atomicMax, old < value ? value : old)
SMEM_ATOMIC(atomicAnd, old & value)
SMEM_ATOMIC(atomicOr, old | value)
SMEM_ATOMIC(atomicXor, old ^ value)
SMEM_ATOMIC(atomicExch, ((void)old, value))
SMEM_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
SMEM_ATOMIC(atomicDec, old == 0 || old > value ? value : old - 1)
#undef SMEM_ATOMIC
template <class T, class V, class W>
SMEM_CALL T atomicCAS(T* at, V expected, W wanted) {
  const T from = static_cast<T>(expected), to = static_cast<T>(wanted);
  return smem::changed(at, [from, to](T old) { return old == from ? to : old; }, SMEM_PLACE);
}

template <class T> T __ldg(const T* p) { return *p; }
template <class T> T __ldcg(const T* p) { return *p; }
template <class T> T __ldcs(const T* p) { return *p; }
template <class A, class B> constexpr auto min(A a, B b) -> decltype(a + b) { return a < b ? a : b; }
template <class A, class B> constexpr auto max(A a, B b) -> decltype(a + b) { return a < b ? b : a; }
inline int __popc(unsigned x) { return __builtin_popcount(x); }
inline int __popcll(unsigned long long x) { return __builtin_popcountll(x); }
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __clz(int x) { return x == 0 ? 32 : __builtin_clz(static_cast<unsigned>(x)); }
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; ++bit) reversed |= (x >> bit & 1) << (31 - bit);
  return reversed;
}
inline int __mul24(int a, int b) { return a * b; }
inline unsigned __umul24(unsigned a, unsigned b) { return a * b; }
inline float rsqrtf(float x) { return 1.0f / sqrtf(x); }
inline float __expf(float x) { return expf(x); }
inline float __logf(float x) { return logf(x); }
inline float __sinf(float x) { return sinf(x); }
inline float __cosf(float x) { return cosf(x); }
inline float __powf(float x, float y) { return powf(x, y); }
inline float __fdividef(float a, float b) { return a / b; }
inline float __fmaf_rn(float a, float b, float c) { return fmaf(a, b, c); }
inline float __saturatef(float x) { return x < 0 ? 0.0f : x > 1 ? 1.0f : x; }
inline float __int_as_float(int x) { return smem::unpacked<float>(smem::packed(x)); }
inline int __float_as_int(float x) { return smem::unpacked<int>(smem::packed(x)); }
inline float __uint_as_float(unsigned x) { return smem::unpacked<float>(smem::packed(x)); }
inline unsigned __float_as_uint(float x) { return smem::unpacked<unsigned>(smem::packed(x)); }
inline size_t __cvta_generic_to_shared(const void* p) { return smem::shared_offset(p); }
