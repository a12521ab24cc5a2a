// Of PyTorch the names that host code of kernels uses: ours, for reading only.
#pragma once

#include <ATen/Tensor.h>

namespace torch {

using namespace at;

}  // namespace torch
