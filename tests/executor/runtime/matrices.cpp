// ldmatrix and stmatrix: a warp moves matrices of 8 rows of 16 bytes, the rows at addresses that its first lanes give.
// The lane that gives the address of a row counts as the one that accesses it.
#include <cstring>

#include "../headers/smem/device.h"
#include "runtime.h"

namespace smem {

namespace {

constexpr unsigned rows_of_matrix = 8, row_bytes = 16, element_bytes = 2;
constexpr unsigned all_lanes = 0xffffffff;
enum : unsigned { addresses_operation = 0x100, values_operation, done_operation };

// Where in its matrix the element stands that a lane holds in its lower (0) or upper (1) half of a register.
struct Place {
  unsigned row, column;
};
Place place_of(unsigned lane, unsigned half, bool transposed) {
  const unsigned major = lane / 4, minor = lane % 4 * 2 + half;
  return transposed ? Place{minor, major} : Place{major, minor};
}

}  // namespace

void load_matrices(uint32_t row, unsigned matrices, bool transposed, uint32_t* registers, const void* place) {
  const unsigned lane = machine.current % lanes;
  const Exchanged given = warp_exchange(addresses_operation, all_lanes, row, place);
  uint64_t address[lanes];
  memcpy(address, given.values, sizeof address);
  if (lane < matrices * rows_of_matrix)
    access(shared_pointer(row), row_bytes, Kind::read, true, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place)));
  warp_exchange(values_operation, all_lanes, 0, place);  // no row is outside
  for (unsigned matrix = 0; matrix < matrices; ++matrix) {
    uint16_t halves[2];
    for (unsigned half = 0; half < 2; ++half) {
      const Place at = place_of(lane, half, transposed);
      const char* from = static_cast<char*>(shared_pointer(static_cast<uint32_t>(address[matrix * rows_of_matrix + at.row])));
      memcpy(&halves[half], from + at.column * element_bytes, element_bytes);
    }
    memcpy(&registers[matrix], halves, sizeof halves);
  }
  warp_exchange(done_operation, all_lanes, 0, place);
}

void store_matrices(uint32_t row, unsigned matrices, bool transposed, const uint32_t* registers, const void* place) {
  const unsigned lane = machine.current % lanes;
  uint16_t elements[rows_of_matrix] = {};
  for (unsigned matrix = 0; matrix < matrices; ++matrix) {
    const Exchanged given = warp_exchange(values_operation, all_lanes, registers[matrix], place);
    if (lane / rows_of_matrix != matrix) continue;
    for (unsigned from = 0; from < lanes; ++from)
      for (unsigned half = 0; half < 2; ++half) {
        const Place at = place_of(from, half, transposed);
        if (at.row == lane % rows_of_matrix)
          elements[at.column] = static_cast<uint16_t>(given.values[from] >> (16 * half));
      }
  }
  if (lane < matrices * rows_of_matrix) {
    access(shared_pointer(row), row_bytes, Kind::write, true, static_cast<uint32_t>(reinterpret_cast<uintptr_t>(place)));
    memcpy(shared_pointer(row), elements, row_bytes);
  }
  warp_exchange(done_operation, all_lanes, 0, place);
}

}  // namespace smem
