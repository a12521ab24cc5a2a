// Of c10 the type of 8 bits: ours, for reading only.
#pragma once

#include <c10/util/Half.h>
#include <cuda_fp8.h>
#include <limits>

namespace c10 {

struct Float8_e4m3fn {
  uint8_t x;
  Float8_e4m3fn() = default;
  struct Bits {};
  constexpr C10_HOST_DEVICE Float8_e4m3fn(uint8_t bits, Bits) : x(bits) {}
  C10_HOST_DEVICE Float8_e4m3fn(float value) : x(__nv_cvt_float_to_fp8(value, __NV_SATFINITE, __NV_E4M3)) {}
  C10_HOST_DEVICE operator float() const { return float(reinterpret_cast<const __nv_fp8_e4m3&>(x)); }
};

}  // namespace c10

template <>
struct std::numeric_limits<c10::Float8_e4m3fn> {
  static constexpr C10_HOST_DEVICE c10::Float8_e4m3fn max() { return {0x7E, c10::Float8_e4m3fn::Bits{}}; }
};
