// Of ATen just what host code needs that checks tensors, takes their pointers and launches: ours, for reading only.
#pragma once

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <type_traits>

namespace at {

struct Device {};

struct ScalarType {
  int number;
  bool operator==(ScalarType other) const { return number == other.number; }
};
constexpr ScalarType kHalf{0}, kFloat{1}, kInt{2}, kShort{3};

struct Tensor {
  Device device() const { return {}; }
  ScalarType dtype() const { return kHalf; }
  int64_t dim() const { return 0; }
  int64_t numel() const { return 0; }
  int64_t size(int) const { return 0; }
  void* data_ptr() const { return nullptr; }
};

}  // namespace at

#define TORCH_CHECK(condition, ...) ((void)(condition))
