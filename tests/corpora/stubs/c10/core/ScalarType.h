// Of c10 the types of elements, and which type of C++ each is: ours, for reading only.
#pragma once

#include <c10/util/Float8_e4m3fn.h>
#include <c10/util/Half.h>
#include <cstdint>

namespace c10 {

enum class ScalarType : int8_t { Byte, Char, Short, Int, Long, Half, Float, Double, Bool, BFloat16, Float8_e4m3fn };

template <ScalarType>
struct TypeOf;
template <typename>
struct CppTypeToScalarType;

#define OF_C10(of, name)                                        \
  template <>                                                   \
  struct TypeOf<ScalarType::name> {                             \
    using type = of;                                            \
  };                                                            \
  template <>                                                   \
  struct CppTypeToScalarType<of> {                              \
    static constexpr ScalarType value = ScalarType::name;       \
  };
OF_C10(uint8_t, Byte)
OF_C10(int8_t, Char)
OF_C10(int16_t, Short)
OF_C10(int, Int)
OF_C10(int64_t, Long)
OF_C10(c10::Half, Half)
OF_C10(float, Float)
OF_C10(double, Double)
OF_C10(c10::BFloat16, BFloat16)
OF_C10(c10::Float8_e4m3fn, Float8_e4m3fn)
#undef OF_C10

}  // namespace c10
