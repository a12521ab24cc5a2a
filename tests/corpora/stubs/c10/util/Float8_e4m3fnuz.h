// Of c10 the name of the type of 8 bits that other GPUs have: ours, for reading only.
#pragma once

#include <cstdint>

namespace c10 {

struct Float8_e4m3fnuz {
  uint8_t x;
};

}  // namespace c10
