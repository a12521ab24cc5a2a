// Ours, for reading only.
#pragma once

#include <torch/all.h>
