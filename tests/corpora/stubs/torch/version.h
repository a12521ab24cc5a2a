// The version of PyTorch whose headers the others stand for: ours, for reading only.
#pragma once

#define TORCH_VERSION_MAJOR 2
#define TORCH_VERSION_MINOR 4
