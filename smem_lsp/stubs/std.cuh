// The C++ standard library, libcu++ and the C library, and built-in functions of compilers. What stands in std is in
// cuda::std and thrust, too.

[[smem::writes(to, size), smem::reads(from, size)]] void* memcpy(void* to, const void* from, size_t size);
[[smem::writes(to, size), smem::reads(from, size)]] void* memmove(void* to, const void* from, size_t size);
[[smem::writes(to, size)]] void* memset(void* to, int value, size_t size);
[[smem::writes(to, size), smem::reads(from, size)]] void* __builtin_memcpy(void* to, const void* from, size_t size);
[[smem::writes(to, size)]] void* __builtin_memset(void* to, int value, size_t size);
[[smem::model(memory)]] void __builtin_prefetch(const void* address, int write = 0, int locality = 3);
[[smem::model(address_question)]] void __builtin_assume(bool condition);
[[smem::model(address_question), smem::value(first)]] long __builtin_expect(long value, long expected);
[[smem::pure, smem::value(popcount)]] int __builtin_popcount(unsigned x);
[[smem::pure, smem::value(popcount)]] int __builtin_popcountll(unsigned long long x);
[[smem::pure, smem::value(first_set)]] int __builtin_ffs(int x);
[[smem::pure, smem::value(first_set)]] int __builtin_ffsll(long long x);
[[smem::pure, smem::value(reversed)]] unsigned __builtin_bitreverse32(unsigned x);
[[smem::pure, smem::value(reversed)]] unsigned long long __builtin_bitreverse64(unsigned long long x);
[[smem::pure, smem::value(bytes_reversed)]] unsigned short __builtin_bswap16(unsigned short x);
[[smem::pure, smem::value(bytes_reversed)]] unsigned __builtin_bswap32(unsigned x);
[[smem::pure, smem::value(bytes_reversed)]] unsigned long long __builtin_bswap64(unsigned long long x);
template <class T> [[smem::model(same_address)]] T* __builtin_assume_aligned(T* address, size_t alignment, ...);
template <class T> [[smem::model(same_address), smem::value(address)]] T* __addressof(T& object);

namespace std {
template <size_t N, class T> [[smem::model(same_address)]] T* assume_aligned(T* address);
template <class T> [[smem::model(same_address)]] T* launder(T* address);
template <class T> [[smem::model(same_address), smem::value(address)]] T* addressof(T& object);
template <class T> [[smem::model(same_address)]] T&& move(T& object);
template <class T> [[smem::model(same_address)]] T&& forward(T& object);
template <class T> [[smem::model(swap)]] void swap(T& a, T& b);
template <class Iterator> [[smem::pure]] ptrdiff_t distance(Iterator first, Iterator last);
// <bit>, of unsigned types
[[smem::pure, smem::value(popcount)]] int popcount(unsigned x);
[[smem::pure, smem::value(popcount)]] int popcount(unsigned long long x);
[[smem::pure, smem::value(leading_zeros)]] int countl_zero(unsigned x);
[[smem::pure, smem::value(leading_zeros)]] int countl_zero(unsigned long long x);
template <class T> [[smem::pure]] int countl_one(T x);
template <class T> [[smem::pure]] int countr_zero(T x);
template <class T> [[smem::pure]] int countr_one(T x);
template <class T> [[smem::pure]] int bit_width(T x);
template <class T> [[smem::pure]] bool has_single_bit(T x);
template <class T> [[smem::pure]] T bit_ceil(T x);
template <class T> [[smem::pure]] T bit_floor(T x);
template <class T> [[smem::pure]] T rotl(T x, int s);
template <class T> [[smem::pure]] T rotr(T x, int s);
template <class T> [[smem::pure]] T byteswap(T x);
}
