// Of ATen just what host code needs that checks tensors, takes their pointers and launches: ours, for reading only.
#pragma once

#include <array>
#include <c10/core/ScalarType.h>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <optional>
#include <type_traits>

namespace c10 {

using std::optional;

}  // namespace c10

namespace at {

using c10::ScalarType;

struct Device {};

constexpr ScalarType kByte = ScalarType::Byte, kChar = ScalarType::Char, kInt8 = ScalarType::Char;
constexpr ScalarType kShort = ScalarType::Short, kInt = ScalarType::Int, kInt32 = ScalarType::Int;
constexpr ScalarType kLong = ScalarType::Long, kInt64 = ScalarType::Long;
constexpr ScalarType kHalf = ScalarType::Half, kFloat16 = ScalarType::Half, kBFloat16 = ScalarType::BFloat16;
constexpr ScalarType kFloat = ScalarType::Float, kFloat32 = ScalarType::Float, kDouble = ScalarType::Double;

struct TensorOptions {
  TensorOptions dtype(ScalarType) const { return *this; }
  TensorOptions device(Device) const { return *this; }
};

struct Tensor {
  Device device() const { return {}; }
  TensorOptions options() const { return {}; }
  ScalarType dtype() const { return kHalf; }
  ScalarType scalar_type() const { return kHalf; }
  bool is_contiguous() const { return true; }
  int64_t dim() const { return 0; }
  int64_t numel() const { return 0; }
  int64_t size(int) const { return 0; }
  int64_t stride(int) const { return 0; }
  void* data_ptr() const { return nullptr; }
  template <typename T>
  T* data_ptr() const { return nullptr; }
};

inline Tensor empty(std::initializer_list<int64_t>, TensorOptions = {}) { return {}; }
inline Device device_of(const Tensor&) { return {}; }

}  // namespace at

#define TORCH_CHECK(condition, ...) ((void)(condition))
#define AT_DISPATCH_CASE(kind, ...)                     \
  case kind: {                                          \
    using scalar_t = c10::TypeOf<kind>::type;           \
    return __VA_ARGS__();                               \
  }
#define AT_DISPATCH_SWITCH(kind, name, ...) \
  [&] {                                     \
    switch (kind) {                         \
      __VA_ARGS__                           \
      default:                              \
        break;                              \
    }                                       \
  }()
