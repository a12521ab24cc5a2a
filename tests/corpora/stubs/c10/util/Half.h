// Of c10 the two types of 16 bits, which are calculated with as float: ours, for reading only.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#define C10_HOST_DEVICE __host__ __device__

namespace c10 {

#define OF_C10(name, native, to_float, from_float)                                                     \
  struct alignas(2) name {                                                                             \
    unsigned short x;                                                                                  \
    name() = default;                                                                                  \
    C10_HOST_DEVICE name(float value) : name(from_float(value)) {}                                     \
    C10_HOST_DEVICE name(native value) : x(reinterpret_cast<const unsigned short&>(value)) {}          \
    C10_HOST_DEVICE operator native() const { return reinterpret_cast<const native&>(x); }             \
    C10_HOST_DEVICE operator float() const { return to_float(reinterpret_cast<const native&>(x)); }    \
  };                                                                                                   \
  C10_HOST_DEVICE inline name operator*(name a, name b) { return float(a) * float(b); }                \
  C10_HOST_DEVICE inline name operator+(name a, name b) { return float(a) + float(b); }                \
  C10_HOST_DEVICE inline name& operator+=(name& a, name b) { return a = a + b; }
OF_C10(Half, __half, __half2float, __float2half_rn)
OF_C10(BFloat16, __nv_bfloat16, __bfloat162float, __float2bfloat16)
#undef OF_C10

}  // namespace c10
