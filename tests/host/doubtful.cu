// Host functions of which nothing may be said: who owns a handle, or what is ordered, is not surely known here.
#include <cuda_runtime.h>
#include <memory>
#include <thread>
#include <vector>
struct Ctx { cudaStream_t stream; cudaEvent_t e; };
__global__ void k(float* p) { p[threadIdx.x] = 1; }
void unknown(float*);
bool ready();
void into_container(std::vector<cudaStream_t>& out) { cudaStream_t s; cudaStreamCreate(&s); out.push_back(s); }
void member_of_pointer(Ctx* c) { cudaStreamCreate(&c->stream); }
void assigned_as_list(Ctx& c) { cudaStream_t s; cudaStreamCreate(&s); c = {s, nullptr}; }
Ctx returned_in_object() { Ctx c; cudaStreamCreate(&c.stream); return c; }
Ctx returned_in_braces() { cudaStream_t s; cudaStreamCreate(&s); return Ctx{s, nullptr}; }
Ctx returned_as_list() { cudaStream_t s; cudaStreamCreate(&s); return {s, nullptr}; }
cudaStream_t* made_on_the_heap() { cudaStream_t* s = new cudaStream_t; cudaStreamCreate(s); return s; }
cudaStream_t* array_returned(int n) { cudaStream_t* s = new cudaStream_t[n]; for (int i = 0; i < n; i++) cudaStreamCreate(&s[i]); return s; }
cudaStream_t* array_of_malloc_returned(int n) { auto* s = (cudaStream_t*)malloc(n * sizeof(cudaStream_t)); for (int i = 0; i < n; i++) cudaStreamCreate(s + i); return s; }
void flag_says_that_it_was_made(bool x) { cudaStream_t s = 0; bool made = false; if (x) { cudaStreamCreate(&s); made = true; } k<<<1,1,0,s>>>(0); if (made) cudaStreamDestroy(s); }
void other_spelling_of_the_condition(int n) { cudaStream_t s = 0; if (n > 0) cudaStreamCreate(&s); k<<<1,1,0,s>>>(0); if (n >= 1) cudaStreamDestroy(s); }
void break_out_of_do_once() { cudaStream_t s; cudaStreamCreate(&s); do { if (ready()) break; k<<<1,1,0,s>>>(0); } while (0); cudaStreamDestroy(s); }
void unknown_function_may_wait() { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); unknown(p); p[0] = 1; cudaFree(p); }
void stored_in_container() { float* p; cudaMallocManaged(&p, 4); std::vector<float*> v{p}; k<<<1,1>>>(p); p[0] = 1; cudaDeviceSynchronize(); cudaFree(p); }
int endless_loop_with_break(int n) { cudaStream_t s; cudaStreamCreate(&s); while (true) { if (n-- == 0) break; k<<<1,1,0,s>>>(0); } cudaStreamDestroy(s); return 0; }
int error_assigned_in_condition(int n) { cudaStream_t s; cudaError_t e; if ((e = cudaStreamCreate(&s)) != cudaSuccess) return e; if ((e = cudaStreamDestroy(s)) != cudaSuccess) return e; return 0; }
bool error_compared_to_variable() { cudaStream_t s; if (cudaStreamCreate(&s)) return false; bool ok = cudaStreamSynchronize(s) == cudaSuccess; cudaStreamDestroy(s); return ok; }
bool error_worked_out() { cudaStream_t s; bool ok = cudaStreamCreate(&s) == cudaSuccess; if (!ok) return false; cudaStreamDestroy(s); return ok; }
bool either_of_two_fails() { cudaStream_t s, t; if (cudaStreamCreate(&s) != cudaSuccess || cudaStreamCreate(&t) != cudaSuccess) return false; cudaStreamDestroy(s); cudaStreamDestroy(t); return true; }
bool made_in_condition() { cudaStream_t s; if (cudaStreamCreate(&s) == cudaSuccess && ready()) { cudaStreamDestroy(s); return true; } return false; }
void elements_of_array() { cudaEvent_t e[2]; cudaEventCreate(&e[0]); cudaEventCreate(&e[1]); cudaEventRecord(e[0]); cudaEventDestroy(e[0]); cudaEventDestroy(e[1]); cudaEventElapsedTime(nullptr, e[0], e[1]); }
void swapped(cudaStream_t s) { float* p = nullptr; float* q = nullptr; cudaMallocAsync(&p, 4, s); cudaMallocAsync(&q, 4, s); std::swap(p, q); cudaFreeAsync(p, s); cudaFreeAsync(q, s); }
void lambda_with_parameter() { cudaStream_t s; cudaStreamCreate(&s); auto d = [](cudaStream_t x) { cudaStreamDestroy(x); }; d(s); }
void array_by_sum(int n) { cudaStream_t s[2]; for (int i = 0; i < 2; i++) { cudaError_t e = cudaStreamCreate(s + i); if (e) return; } for (int i = 0; i < 2; i++) cudaStreamDestroy(s[i]); }
void one_of_two() { cudaStream_t s; cudaStreamCreate(&s); cudaStream_t t; cudaStreamCreate(&t); cudaStream_t x = ready() ? s : t; cudaStreamDestroy(s); cudaStreamDestroy(t); k<<<1,1,0,x>>>(0); }
void rotated() { cudaStream_t cur, next; cudaStreamCreate(&cur); cudaStreamCreate(&next); for (int i = 0; i < 3; i++) { cudaStream_t tmp = cur; cur = next; next = tmp; } cudaStreamDestroy(cur); cudaStreamDestroy(next); }
void made_again_after_destroy() { cudaStream_t s; cudaStreamCreate(&s); cudaStreamDestroy(s); cudaStreamCreate(&s); k<<<1,1,0,s>>>(0); cudaStreamDestroy(s); }
template <class T> void given_to_method(T* t) { cudaStream_t s; cudaStreamCreate(&s); t->take(s); }
void read_through_volatile() { int* m; cudaMallocManaged(&m, 4); volatile int* flag = m; k<<<1,1>>>((float*)m); while (*flag == 0); cudaDeviceSynchronize(); cudaFree(m); }
void static_in_loop(int n) { for (int i = 0; i < n; ++i) { static cudaStream_t s; if (i == 0) cudaStreamCreate(&s); k<<<1,1,0,s>>>(0); } }
void parameter_destroyed_once(cudaGraph_t g) { cudaGraphExec_t e; cudaGraphInstantiate(&e, g, 0); cudaGraph_t c; cudaGraphClone(&c, g); cudaGraphExecDestroy(e); cudaGraphDestroy(c); }
void error_in_switch() { cudaStream_t s; switch (int r = cudaStreamCreate(&s)) { case 0: break; default: return; } cudaStreamDestroy(s); }
void destroyed_in_try_and_catch() { cudaStream_t s; cudaStreamCreate(&s); try { unknown(0); cudaStreamDestroy(s); } catch (...) { cudaStreamDestroy(s); } }
cudaStream_t g_stream;
void global_stream() { cudaStreamCreate(&g_stream); k<<<1,1,0,g_stream>>>(0); }
int lambda_with_returns(int n) { cudaStream_t s; cudaStreamCreate(&s); int r = [&] { if (n) return 1; return 0; }(); cudaStreamDestroy(s); return r; }
void alias_of_type() { using S = cudaStream_t; S s; cudaStreamCreate(&s); }
void reference_parameter(cudaStream_t& s, bool make) { if (make) cudaStreamCreate(&s); }
void pinned_array_of_handles() { cudaStream_t *s; cudaMallocHost(&s, 4); cudaStreamCreate(&s[0]); }
void local_guard() { cudaStream_t s; cudaStreamCreate(&s); struct G { cudaStream_t s; ~G() { cudaStreamDestroy(s); } } g{s}; k<<<1,1,0,s>>>(0); }
void shared_pointer() { cudaStream_t s; cudaStreamCreate(&s); std::shared_ptr<CUstream_st> p(s, cudaStreamDestroy); }
void macro_with_block() { cudaStream_t s; cudaStreamCreate(&s); SCOPE_EXIT { cudaStreamDestroy(s); }; k<<<1,1,0,s>>>(0); }
void cleanup_object() { cudaStream_t s; cudaStreamCreate(&s); auto g = absl::MakeCleanup([&] { cudaStreamDestroy(s); }); }
void deferred_by_macro() { cudaStream_t s; cudaStreamCreate(&s); defer(cudaStreamDestroy(s)); if (x) return; k<<<1,1,0,s>>>(0); }
void deferred_by_statement_macro() { cudaStream_t s; cudaStreamCreate(&s); SCOPE_EXIT(cudaStreamDestroy(s)); k<<<1,1,0,s>>>(0); }
void deferred_in_macro_argument() { cudaStream_t s; cudaStreamCreate(&s); ON_SCOPE_EXIT({ cudaStreamDestroy(s); }); k<<<1,1,0,s>>>(0); }
void unknown_checking_macro() { cudaStream_t s; CUDA_CALL(cudaStreamCreate(&s)); if (x) { CUDA_CALL(cudaStreamDestroy(s)); return; } CUDA_CALL(cudaStreamDestroy(s)); }
void macro_without_semicolon() { cudaStream_t s; CUDA_CALL(cudaStreamCreate(&s)) k<<<1,1,0,s>>>(0); CUDA_CALL(cudaStreamDestroy(s)) }
void thread_with_lambda() { std::thread t([] { cudaStream_t s; cudaStreamCreate(&s); cudaStreamDestroy(s); }); t.join(); }
void other_host_thread() { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); std::async([&] { p[0] = 1; }); cudaDeviceSynchronize(); cudaFree(p); }
void wait_in_last_turn(int n) { float* p; cudaMallocManaged(&p, 4); for (int i = 0; i < n; i++) { k<<<1,1>>>(p); if (i == n - 1) cudaDeviceSynchronize(); } printf("%f", p[0]); cudaFree(p); }
void wait_under_condition(int n, int sync) { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); if (sync) cudaDeviceSynchronize(); p[0] = 1; cudaFree(p); }
void unknown_macro_may_wait() { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); CUDA_SYNC(); p[0] = 1; cudaFree(p); }
void unknown_check_may_wait() { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); CHECK_KERNEL("k"); p[0] = 1; cudaFree(p); }
void library_sorts() { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); thrust::sort(p, p + 4); p[0] = 1; cudaFree(p); }
void free_of_other_memory_waits() { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); std::cout << "x" << std::endl; float* q; cudaMalloc(&q, 4); cudaFree(q); p[0] = 1; cudaFree(p); }
void host_in_other_part() { float* p; cudaMallocManaged(&p, 8); k<<<1,1>>>(p); float* q = p + 1; *q = 1; cudaFree(p); }
void kernel_in_other_part() { float* p; cudaMallocManaged(&p, 8); float* q = p + 1; k<<<1,1>>>(q); *p = 1; cudaFree(p); }
void other_allocation() { float *p, *q; cudaMallocManaged(&p, 8); cudaMallocManaged(&q, 8); k<<<1,1>>>(p); q[0] = 1; cudaDeviceSynchronize(); cudaFree(p); cudaFree(q); }
int goto_forward() { cudaStream_t s; cudaStreamCreate(&s); goto out; out: cudaStreamDestroy(s); return 0; }
int goto_back(int n) { cudaStream_t s; retry: cudaStreamCreate(&s); if (n--) { cudaStreamDestroy(s); goto retry; } cudaStreamDestroy(s); return 0; }
int goto_cleanup_of_some(int n) { cudaStream_t s = nullptr; if (n == 1) goto out; cudaStreamCreate(&s); if (n == 2) goto out; k<<<1,1,0,s>>>(0); out: if (s) cudaStreamDestroy(s); return 0; }
int success_on_the_left() { cudaStream_t s; if (cudaSuccess != cudaStreamCreate(&s)) { return -1; } if (cudaSuccess == cudaStreamSynchronize(s)) { cudaStreamDestroy(s); return 0; } cudaStreamDestroy(s); return 1; }
int ternary() { cudaStream_t s; return cudaStreamCreate(&s) == cudaSuccess ? cudaStreamDestroy(s) : 1; }
void given_or_made(bool own, cudaStream_t given) { cudaStream_t s = given; if (own) cudaStreamCreate(&s); k<<<1,1,0,s>>>(0); if (own) cudaStreamDestroy(s); }
void made_where_none_is_given(cudaStream_t given) { cudaStream_t s = given; if (!s) cudaStreamCreate(&s); k<<<1,1,0,s>>>(0); if (!given) cudaStreamDestroy(s); }
void given_or_own(cudaStream_t given) { cudaStream_t mine = nullptr; if (!given) { cudaStreamCreate(&mine); given = mine; } k<<<1,1,0,given>>>(0); if (mine) cudaStreamDestroy(mine); }
void waited_then_freed_elsewhere(cudaStream_t s) { float* p; cudaMallocAsync(&p, 4, s); k<<<1,1,0,s>>>(p); cudaStreamSynchronize(s); cudaFreeAsync(p, 0); }
void two_parameters_may_be_one_stream(cudaStream_t s, cudaStream_t t) { float* p; cudaMallocAsync(&p, 4, s); k<<<1,1,0,t>>>(p); cudaFreeAsync(p, s); }
void threads_get_it() { cudaStream_t s; cudaStreamCreate(&s); std::vector<std::thread> ts; for (int i = 0; i < 3; i++) ts.emplace_back(work, s); for (auto& t : ts) t.join(); }
void pointers_rotated(int n) { float* p; cudaMallocAsync(&p, 4, 0); float* q; cudaMallocAsync(&q, 4, 0); for (int i = 0; i < n; i++) { k<<<1,1>>>(p); float* t = p; p = q; q = t; } cudaFreeAsync(p, 0); cudaFreeAsync(q, 0); }
std::pair<cudaStream_t, int> returned_in_pair() { cudaStream_t s; cudaStreamCreate(&s); return std::make_pair(s, 1); }
cudaStream_t moved() { cudaStream_t s; cudaStreamCreate(&s); return std::move(s); }
void copy(cudaStream_t s);
void function_named_as_in_std() { cudaStream_t s; cudaStreamCreate(&s); copy(s); }
void released_in_other_configuration() {
  cudaStream_t s;
  cudaStreamCreate(&s);
#ifdef NOT_HERE
  cudaStreamDestroy(s);
#endif
}
void captured_once(int n, float* p) {
  bool made = false;
  cudaStream_t s;
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamCreate(&s);
  for (int i = 0; i < n; ++i) {
    if (!made) {
      cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
      k<<<1, 1, 0, s>>>(p);
      cudaStreamEndCapture(s, &graph);
      cudaGraphInstantiate(&exec, graph, 0);
      made = true;
    }
    cudaGraphLaunch(exec, s);
  }
  if (made) cudaGraphExecDestroy(exec);
  if (made) cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
}
void destroyed_in_the_last_turn(int n, float* p) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  for (int i = 0; i < n; ++i) {
    k<<<1, 1, 0, s>>>(p);
    if (i == n - 1) cudaStreamDestroy(s);
  }
}
void consume(float* p);
void drop_stream(cudaStream_t s);
template <bool Everywhere> void wait_for_device();
void copied_by_parentheses(cudaStream_t s) { float* p; cudaMallocAsync(&p, 4, s); float* q(p); consume(q); }
void copied_by_braces(cudaStream_t s) { float* p; cudaMallocAsync(&p, 4, s); float* const q{p}; consume(q); }
void handed_over_in_turn() {
  cudaStream_t streams[4];
  for (auto& s : streams) cudaStreamCreate(&s);
  for (auto&& s : streams) { drop_stream(s); }
}
float waits_through_table(void (**table)(), int i) { float* m; cudaMallocManaged(&m, 4); k<<<1,1>>>(m); table[i](); float v = m[0]; cudaFree(m); return v; }
float waits_through_pointer(void (*f)()) { float* m; cudaMallocManaged(&m, 4); k<<<1,1>>>(m); (*f)(); float v = m[0]; cudaFree(m); return v; }
float waits_through_template() { float* m; cudaMallocManaged(&m, 4); k<<<1,1>>>(m); wait_for_device<true>(); float v = m[0]; cudaFree(m); return v; }
float waits_through_result(void (*(*find)(int))()) { float* m; cudaMallocManaged(&m, 4); k<<<1,1>>>(m); find(1)(); float v = m[0]; cudaFree(m); return v; }
void decided_by_a_text_with_spaces(std::string name) {
  cudaStream_t s = nullptr;
  if (name == "a b") cudaStreamCreate(&s);
  k<<<1, 1, 0, s>>>(nullptr);
  if (name == "a b") cudaStreamDestroy(s);
}
void decided_again_in_the_next_turn(int n, bool own) {
  cudaStream_t s = nullptr;
  for (int i = 0; i < n; i++) {
    if (own) cudaStreamCreate(&s);
    k<<<1, 1, 0, s>>>(nullptr);
    if (own) cudaStreamDestroy(s);
  }
}
int excluded_by_the_opposite(int n, float* p) {
  cudaStream_t s = nullptr;
  if (n > 3) cudaStreamCreate(&s);
  if (n <= 3) return 1;
  k<<<1, 1, 0, s>>>(p);
  cudaStreamDestroy(s);
  return 0;
}
int excluded_by_another_value(int mode, float* p) {
  cudaStream_t s = nullptr;
  switch (mode) {
    case 1: cudaStreamCreate(&s); break;
    default: break;
  }
  if (mode == 2) return 1;
  k<<<1, 1, 0, s>>>(p);
  if (mode == 1) cudaStreamDestroy(s);
  return 0;
}
int excluded_by_a_flag(int n, float* p) {
  cudaStream_t s = nullptr;
  bool made = false;
  if (n > 3) { cudaStreamCreate(&s); made = true; }
  if (!made) return 1;
  k<<<1, 1, 0, s>>>(p);
  cudaStreamDestroy(s);
  return 0;
}
int excluded_in_a_switch(int mode, float* p) {
  cudaStream_t s = nullptr;
  if (mode == 1) cudaStreamCreate(&s);
  switch (mode) {
    case 2: return 1;
    case 1: k<<<1, 1, 0, s>>>(p); cudaStreamDestroy(s); break;
  }
  return 0;
}
int array_of_none(int n, float* p) {
  cudaStream_t s[8];
  for (int i = 0; i < n; i++) cudaStreamCreate(&s[i]);
  if (n == 0) return 1;
  for (int i = 0; i < n; i++) { k<<<1, 1, 0, s[i]>>>(p); cudaStreamDestroy(s[i]); }
  return 0;
}
void made_in_the_first_turn_destroyed_in_the_last(int n, float* p) {
  cudaStream_t s = nullptr;
  for (int i = 0; i < n; i++) {
    if (i == 0) cudaStreamCreate(&s);
    k<<<1, 1, 0, s>>>(p);
    if (i == n - 1) cudaStreamDestroy(s);
  }
}
void made_and_destroyed_under_one_condition_used_under_another(int n, float* p) {
  cudaStream_t s;
  if (n > 3) { cudaStreamCreate(&s); cudaStreamDestroy(s); }
  if (n <= 3) { s = nullptr; }
  if (n < 3) k<<<1, 1, 0, s>>>(p);
}
void launched_or_touched(int n) { float* p; cudaMallocManaged(&p, 4); if (n > 3) k<<<1,1>>>(p); if (n <= 3) p[0] = 1; cudaDeviceSynchronize(); cudaFree(p); }
void launched_or_touched_behind_and(int n) { float* p; cudaMallocManaged(&p, 4); if (n > 3) k<<<1,1>>>(p); n <= 3 && (p[0] = 1); cudaDeviceSynchronize(); cudaFree(p); }
void launched_in_one_turn_touched_in_another(int n) {
  float* p;
  cudaMallocManaged(&p, 4);
  for (int i = 0; i < n; i++) {
    if (i == n - 1) k<<<1, 1>>>(p);
    if (i == 0 && n > 1) p[0] = 1;
  }
  cudaDeviceSynchronize();
  cudaFree(p);
}
void freed_here_or_there(int n, cudaStream_t given) {
  cudaStream_t a, b;
  cudaStreamCreate(&a);
  cudaStreamCreate(&b);
  float* p;
  cudaMallocAsync(&p, 4, a);
  cudaStreamSynchronize(a);
  if (n > 3) k<<<1, 1, 0, a>>>(p);
  if (n <= 3) cudaFreeAsync(p, b); else cudaFreeAsync(p, a);
  cudaStreamDestroy(a);
  cudaStreamDestroy(b);
}
void touched_in_the_first_turn_alone(int n) {
  float* p;
  cudaMallocManaged(&p, 4);
  int i = 0;
  do { if (i == 0) p[0] = 1; k<<<1, 1>>>(p); } while (++i < n);
  for (int j = 0; j < 3; ++j) { cudaDeviceSynchronize(); }
  cudaFree(p);
}
struct Parts { float a[4]; int n; };
__global__ void fill_parts(Parts* s) { s->n = 1; }
__managed__ float table[4];
__global__ void fill_table() { table[0] = 1; }
void bytes_by_sizeof(float* q) { float* p; cudaMallocManaged(&p, 64); k<<<1,1>>>(p); cudaMemPrefetchAsync(p, 16 * sizeof(p[0]), 0); cudaMemcpyAsync(q, p, 4 * sizeof(*p), cudaMemcpyDefault); cudaDeviceSynchronize(); cudaFree(p); }
void not_evaluated() { float* p; cudaMallocManaged(&p, 64); k<<<1,1>>>(p); using T = decltype(p[0]); int n = sizeof p[0]; decltype(*p + 1) x = 0; cudaDeviceSynchronize(); cudaFree(p); }
void bound_to_references() { float* p; cudaMallocManaged(&p, 64); k<<<1,1>>>(p); float& r = p[0]; const float& c = *p; cudaDeviceSynchronize(); r = 1; cudaFree(p); }
void two_of_an_array_of_pointers() { float* p[2]; cudaMallocManaged(&p[0], 64); cudaMallocManaged(&p[1], 64); k<<<1,1>>>(p[0]); p[1][0] = 1; cudaDeviceSynchronize(); cudaFree(p[0]); cudaFree(p[1]); }
void others_of_an_array_of_pointers() { float* p[2]; for (int i = 0; i < 2; ++i) cudaMallocManaged(&p[i], 64); k<<<1,1>>>(p[0]); p[1][0] = 1; cudaDeviceSynchronize(); for (auto q : p) cudaFree(q); }
void address_of_a_managed_array() { fill_table<<<1,1>>>(); int n = sizeof(table) + sizeof(table[0]); float* q = table; float* r = &table[1]; float (&t)[4] = table; cudaDeviceSynchronize(); table[0] = 2; }
void address_of_member_arrays() { Parts* s; cudaMallocManaged(&s, 64); fill_parts<<<1,1>>>(s); float* q = s->a; int* r = &s->n; cudaDeviceSynchronize(); q[0] = 1; cudaFree(s); }
void copied_into_a_member(Ctx* out) { cudaStream_t s; cudaStreamCreate(&s); memcpy(&out->stream, &s, sizeof(s)); }
void array_copied_elsewhere(cudaStream_t* out) { cudaStream_t s[2]; for (auto& x : s) cudaStreamCreate(&x); std::copy(s, s + 2, out); }
void filled_into_an_array(cudaStream_t* out) { cudaStream_t s; cudaStreamCreate(&s); std::fill_n(out, 4, s); }
void filled_into_a_container(std::vector<cudaStream_t>& v) { cudaStream_t s; cudaStreamCreate(&s); std::fill(v.begin(), v.end(), s); }
void copied_into_memory(cudaStream_t* out) { cudaStream_t s; cudaStreamCreate(&s); std::memcpy(out, &s, sizeof s); }
size_t returned_as_a_number() { cudaStream_t s; cudaStreamCreate(&s); size_t h; memcpy(&h, &s, sizeof h); return h; }
void one_turn_alone() { float* p; cudaMallocManaged(&p, 64); for (int i = 0; i < 1; ++i) { p[0] = 1; k<<<1,1>>>(p); } cudaDeviceSynchronize(); cudaFree(p); }
void method_of_an_element() { Parts* s; cudaMallocManaged(&s, 64); fill_parts<<<1,1>>>(s); s->wait(); s[0].wait(); s->n = 1; cudaFree(s); }
void handed_on_by_reference() { float* p; cudaMallocManaged(&p, 4); k<<<1,1>>>(p); wait_and_read(p[0]); Waits w(p[0]); p[0] = 1; cudaFree(p); }
void array_allocated_used_and_freed_in_turns() { cudaStream_t s[4]; for (auto& x : s) cudaStreamCreate(&x); float* p[4]; for (int i = 0; i < 4; ++i) { cudaMallocAsync(&p[i], 4, s[i]); k<<<1,1,0,s[i]>>>(p[i]); } for (int i = 0; i < 4; ++i) cudaFreeAsync(p[i], s[i]); for (auto x : s) cudaStreamDestroy(x); }
void parameter_destroyed_and_made_anew(cudaStream_t s) { cudaStreamDestroy(s); cudaStreamCreate(&s); k<<<1,1,0,s>>>(0); cudaStreamDestroy(s); }
void parameter_destroyed_or_used(cudaStream_t s, bool own) { if (own) cudaStreamDestroy(s); if (!own) k<<<1,1,0,s>>>(0); }
void parameter_destroyed_in_the_last_turn(cudaStream_t s, int n) { for (int i = 0; i < n; i++) { if (i == n - 1) cudaStreamDestroy(s); else k<<<1,1,0,s>>>(0); } }
void buffer_that_grows(cudaStream_t s, int n) { float* p = nullptr; int cap = 0; for (int i = 0; i < n; ++i) { if (i >= cap) { if (p) cudaFreeAsync(p, s); cudaMallocAsync(&p, 8, s); cap = i + 1; } k<<<1,1,0,s>>>(p); } if (cap) cudaFreeAsync(p, s); }
void one_event_recorded_in_turns() { cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b); float* p; cudaMallocAsync(&p, 4, a); cudaEvent_t e; cudaEventCreate(&e); cudaEventRecord(e, a); for (int i = 0; i < 2; ++i) { cudaStreamWaitEvent(b, e, 0); k<<<1,1,0,b>>>(p); cudaEventRecord(e, b); cudaStreamWaitEvent(a, e, 0); k<<<1,1,0,a>>>(p); cudaEventRecord(e, a); } cudaFreeAsync(p, a); cudaEventDestroy(e); cudaStreamDestroy(a); cudaStreamDestroy(b); }
void asked_until_idle() { cudaStream_t a, b; cudaStreamCreate(&a); cudaStreamCreate(&b); float* p; cudaMallocAsync(&p, 4, a); while (cudaStreamQuery(a) != cudaSuccess) {} k<<<1,1,0,b>>>(p); while (cudaStreamQuery(b) == cudaErrorNotReady) {} cudaFreeAsync(p, a); cudaStreamDestroy(a); cudaStreamDestroy(b); }
int two_cleanup_labels(int n) { cudaStream_t s; cudaEvent_t e; int rc = -1; if (cudaStreamCreate(&s) != cudaSuccess) return rc; if (cudaEventCreate(&e) != cudaSuccess) goto out_s; if (n == 3) goto out_e; rc = 0; out_e: cudaEventDestroy(e); out_s: cudaStreamDestroy(s); return rc; }
#define TRY(x) do { cudaError_t e_ = (x); if (e_ != cudaSuccess) { ret = e_; goto cleanup; } } while (0)
int cleanup_by_macro(int n) { int ret = 0; cudaStream_t s = nullptr; float* d = nullptr; TRY(cudaStreamCreate(&s)); TRY(cudaMallocAsync(&d, n, s)); k<<<1,1,0,s>>>(d); TRY(cudaGetLastError()); TRY(cudaStreamSynchronize(s)); cleanup: if (d) cudaFreeAsync(d, s); if (s) cudaStreamDestroy(s); return ret; }
int counted_array(int n) { int count = 0; cudaStream_t s[8]; for (; count < n; ++count) if (cudaStreamCreate(&s[count]) != cudaSuccess) break; bool ok = count == n; while (count-- > 0) cudaStreamDestroy(s[count]); return ok; }
int array_unwound_behind_an_error(int n) { cudaStream_t s[8]; int made = 0; for (int i = 0; i < 8; ++i) { if (cudaStreamCreate(&s[i]) != cudaSuccess) { for (int j = 0; j < i; ++j) cudaStreamDestroy(s[j]); return 1; } } for (int i = 0; i < 8; ++i) cudaStreamDestroy(s[i]); return 0; }
void made_where_the_choice_was_none(bool x) { cudaStream_t s = x ? nullptr : cudaStreamPerThread; bool own = false; if (!s) { cudaStreamCreate(&s); own = true; } k<<<1,1,0,s>>>(0); if (own) cudaStreamDestroy(s); }
void read_where_the_wait_succeeded() { float* p; cudaMallocManaged(&p, 64); k<<<1,1>>>(p); cudaError_t e = cudaDeviceSynchronize(); if (e == cudaSuccess) printf("%f", p[0]); cudaFree(p); }
void swapped_between_turns(int n) { float *p, *q; cudaMallocManaged(&p, 64); cudaMallocManaged(&q, 64); for (int i = 0; i < n; ++i) { k<<<1,1>>>(p); cudaDeviceSynchronize(); std::swap(p, q); q[0] = 1; } cudaFree(p); cudaFree(q); }
void two_buffers_in_turns(int n) { float *p[2]; cudaMallocManaged(&p[0], 64); cudaMallocManaged(&p[1], 64); int cur = 0; for (int i = 0; i < n; ++i) { k<<<1,1>>>(p[cur]); p[1 - cur][0] = 1; cudaDeviceSynchronize(); cur = 1 - cur; } cudaFree(p[0]); cudaFree(p[1]); }
float& element_returned() { fill_table<<<1, 1>>>(); return table[0]; }
decltype(auto) element_returned_as_it_is() { fill_table<<<1, 1>>>(); return (table[0]); }
