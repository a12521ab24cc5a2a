// What host code calls of the C and C++ libraries, and of PyTorch's: none of it waits for a device. Functions read and
// write what their attributes say, and what they get by value is not changed; one that ``forwards`` gives back, or
// elsewhere, what it is given. A method that is const reads its object.

[[smem::impure]] int printf(const char* format, ...);
[[smem::impure]] int fprintf(FILE* file, const char* format, ...);
[[smem::writes(text, some)]] int sprintf(char* text, const char* format, ...);
[[smem::writes(text, size)]] int snprintf(char* text, size_t size, const char* format, ...);
[[smem::impure]] int puts(const char* text);
[[smem::impure]] int fputs(const char* text, FILE* file);
[[smem::impure]] int fflush(FILE* file);
[[smem::impure]] void perror(const char* text);
[[smem::impure]] FILE* fopen(const char* path, const char* mode);
[[smem::impure]] int fclose(FILE* file);
[[smem::impure, smem::writes(to, some)]] size_t fread(void* to, size_t size, size_t count, FILE* file);
[[smem::reads(from, some)]] size_t fwrite(const void* from, size_t size, size_t count, FILE* file);

[[smem::impure]] void* malloc(size_t size);
[[smem::impure]] void* calloc(size_t count, size_t size);
[[smem::impure]] void free(void* memory);
[[smem::writes(to, size)]] void* memset(void* to, int value, size_t size);
[[smem::writes(to, size), smem::reads(from, size)]] void* memcpy(void* to, const void* from, size_t size);
[[smem::writes(to, size), smem::reads(from, size)]] void* memmove(void* to, const void* from, size_t size);
[[smem::reads(one, size), smem::reads(other, size)]] int memcmp(const void* one, const void* other, size_t size);
[[smem::pure]] int strcmp(const char* one, const char* other);
[[smem::pure]] size_t strlen(const char* text);
[[smem::pure]] int atoi(const char* text);
[[smem::pure]] double atof(const char* text);
[[smem::impure]] long strtol(const char* text, char** end, int base);
[[smem::impure]] char* getenv(const char* name);

[[smem::pure]] double sqrt(double x);
[[smem::pure]] float sqrtf(float x);
[[smem::pure]] double pow(double x, double y);
[[smem::pure]] float powf(float x, float y);
[[smem::pure]] double exp(double x);
[[smem::pure]] float expf(float x);
[[smem::pure]] double log(double x);
[[smem::pure]] float logf(float x);
[[smem::pure]] double log2(double x);
[[smem::pure]] double sin(double x);
[[smem::pure]] double cos(double x);
[[smem::pure]] float sinf(float x);
[[smem::pure]] float cosf(float x);
[[smem::pure]] double fabs(double x);
[[smem::pure]] float fabsf(float x);
[[smem::pure]] int abs(int x);
[[smem::pure]] double ceil(double x);
[[smem::pure]] double floor(double x);
[[smem::pure]] double fmax(double x, double y);
[[smem::pure]] double fmin(double x, double y);
[[smem::pure]] bool isnan(double x);
[[smem::pure]] bool isinf(double x);
[[smem::impure]] int rand();
[[smem::impure]] void srand(unsigned seed);
[[smem::impure, smem::writes(at)]] time_t time(time_t* at);
[[smem::impure]] clock_t clock();
[[smem::impure, smem::writes(at)]] int gettimeofday(timeval* at, void* zone);
[[smem::impure]] int usleep(unsigned microseconds);
[[smem::impure]] void assert(bool condition);
[[smem::impure, smem::model(ending)]] void exit(int status);
[[smem::impure, smem::model(ending)]] void abort();
[[smem::impure, smem::model(ending)]] void quick_exit(int status);
[[smem::impure, smem::model(ending)]] void _Exit(int status);
[[smem::impure, smem::model(ending)]] void terminate();
[[smem::impure, smem::model(ending)]] void __builtin_trap();
[[smem::impure, smem::model(ending)]] void __builtin_unreachable();

// CUDA's own of vector_types.h
class [[smem::pure, smem::value(extents)]] dim3;
[[smem::pure]] uint3 make_uint3(unsigned x, unsigned y, unsigned z);
[[smem::pure]] int3 make_int3(int x, int y, int z);

namespace std {
template <class T> [[smem::pure, smem::value(minimum)]] T min(T a, T b);
template <class T> [[smem::pure, smem::value(maximum)]] T max(T a, T b);
template <class T> [[smem::pure]] T clamp(T value, T low, T high);
template <class T> [[smem::pure]] T gcd(T a, T b);
template <class T> [[smem::pure]] T lcm(T a, T b);
template <class T> [[smem::pure]] string to_string(T value);
[[smem::pure]] int setprecision(int digits);
[[smem::pure]] int setw(int width);

template <class Iterator, class T> [[smem::writes(first, some)]] void fill(Iterator first, Iterator last, T value);
template <class Iterator, class T> [[smem::writes(first, count)]] Iterator fill_n(Iterator first, size_t count, T value);
template <class Iterator, class T> [[smem::writes(first, some)]] void iota(Iterator first, Iterator last, T value);
template <class Iterator, class F> [[smem::writes(first, some)]] void generate(Iterator first, Iterator last, F make);
template <class Iterator> [[smem::updates(first, some)]] void sort(Iterator first, Iterator last, ...);
template <class Iterator, class To> [[smem::reads(first, some), smem::writes(to, some)]] To copy(Iterator first, Iterator last, To to);
template <class Iterator, class To> [[smem::reads(first, count), smem::writes(to, count)]] To copy_n(Iterator first, size_t count, To to);
template <class Iterator, class T> [[smem::reads(first, some)]] T accumulate(Iterator first, Iterator last, T value, ...);
template <class Iterator, class To> [[smem::reads(first, some), smem::reads(other, some)]] bool equal(Iterator first, Iterator last, To other, ...);
template <class Iterator> [[smem::reads(first, some)]] Iterator max_element(Iterator first, Iterator last, ...);
template <class Iterator> [[smem::reads(first, some)]] Iterator min_element(Iterator first, Iterator last, ...);
template <class Iterator, class F> [[smem::impure]] bool all_of(Iterator first, Iterator last, F holds);
template <class Iterator, class F> [[smem::impure]] bool any_of(Iterator first, Iterator last, F holds);
template <class Iterator, class T> [[smem::impure]] ptrdiff_t count(Iterator first, Iterator last, T value);

template <class T> [[smem::forwards]] T&& move(T& object);
template <class T> [[smem::forwards]] T&& forward(T& object);
template <class T> [[smem::forwards]] void swap(T& a, T& b);
template <class T> [[smem::forwards]] T exchange(T& object, T value);
template <class T> [[smem::forwards]] unique_ptr make_unique(T value);
template <class T> [[smem::forwards]] shared_ptr make_shared(T value);
[[smem::pure]] int stoi(const string& text);
[[smem::pure]] long stol(const string& text);
[[smem::pure]] unsigned long stoul(const string& text);
template <class T> [[smem::forwards]] T tie(T& first, ...);
template <int I, class T> [[smem::forwards, smem::value(part)]] T get(T& object);
template <class T> [[smem::forwards, smem::value(parts)]] T make_pair(T first, T second);
template <class T> [[smem::forwards, smem::value(parts)]] T make_tuple(T first, ...);
template <class T> [[smem::forwards, smem::value(parts)]] T pair(T first, T second);
template <class T> [[smem::forwards, smem::value(parts)]] T tuple(T first, ...);

template <class T>
class vector {
  [[smem::keeps]] size_t size() const;
  [[smem::keeps]] bool empty() const;
  [[smem::keeps]] T* begin() const;
  [[smem::keeps]] T* end() const;
  [[smem::keeps]] T* cbegin();
  [[smem::keeps]] T* cend();
  [[smem::keeps]] T& at(size_t position) const;
  [[smem::keeps]] T& front() const;
  [[smem::keeps]] T& back() const;
  [[smem::keeps]] void clear();
  [[smem::keeps]] void resize(size_t size);
  [[smem::keeps]] void reserve(size_t size);
  T* data() const;
  void push_back(T value);
  void emplace_back(T value);
  void pop_back();
  void assign(size_t size, T value);
  void insert(T* position, T value);
  void erase(T* position);
  void fill(T value);
};
template <class T>
class optional {
  T value() const;
  T value_or(T otherwise) const;
  bool has_value() const;
};
class atomic_int {
  void store(int value);
  int load();
};
class string {
  const char* c_str() const;
  size_t length() const;
};
class stringstream {
  string str();
};
class exception {
  const char* what();
};
class time_point {
  duration now();
  duration time_since_epoch();
  long count() const;
};
}

// Objects out of sight whose methods read them: smart pointers, PyTorch's tensors (ATen/core/TensorBody.h), Eigen's matrices
namespace at {
class Tensor {
  long size(long dimension) const;
  IntArrayRef sizes() const;
  long numel() const;
  long dim() const;
  long ndimension() const;
  long stride(long dimension) const;
  IntArrayRef strides() const;
  template <class T>
  T* data_ptr() const;
  template <class T>
  T* const_data_ptr() const;
  template <class T>
  T* mutable_data_ptr() const;
  ScalarType scalar_type() const;
  TypeMeta dtype() const;
  Device device() const;
  bool is_contiguous() const;
  bool is_cuda() const;
  bool defined() const;
};
}
template <class T>
class Pointer {
  T* get() const;
};
template <class T>
class Matrix {
  long rows() const;
  long cols() const;
  IntArrayRef dims() const;
};
