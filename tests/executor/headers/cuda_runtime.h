// Stands in for CUDA's header of this name.
#pragma once

#include "smem/host.h"
#include "smem/intrinsics.h"
#include "smem/ptx.h"
#include "smem/types.h"
