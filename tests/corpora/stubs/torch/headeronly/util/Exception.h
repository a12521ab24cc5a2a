// Of PyTorch the check of a condition: ours, for reading only.
#pragma once

#define STD_TORCH_CHECK(condition, ...) ((void)(condition))
