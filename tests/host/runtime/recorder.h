// Around each program.
#pragma once
namespace recorder {
void begin();
void end(const char* program);
}  // namespace recorder
