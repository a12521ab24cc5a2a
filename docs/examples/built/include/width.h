// Found only along an include folder that the build names.
#pragma once
constexpr int WIDTH = ROWS * 32;
