// Device API of cuRAND (curand_kernel.h): what a function returns, and the state that it leaves, follows from the state
// that its last argument points to.

template <class State> [[smem::model(random_state), smem::writes(state)]] void curand_init(unsigned long long seed, unsigned long long sequence, unsigned long long offset, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] unsigned curand(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] uint4 curand4(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float curand_uniform(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float4 curand_uniform4(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double curand_uniform_double(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double2 curand_uniform2_double(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double4 curand_uniform4_double(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float curand_normal(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float2 curand_normal2(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float4 curand_normal4(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double curand_normal_double(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double2 curand_normal2_double(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double4 curand_normal4_double(State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float curand_log_normal(float mean, float stddev, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float2 curand_log_normal2(float mean, float stddev, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] float4 curand_log_normal4(float mean, float stddev, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double curand_log_normal_double(double mean, double stddev, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double2 curand_log_normal2_double(double mean, double stddev, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] double4 curand_log_normal4_double(double mean, double stddev, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] unsigned curand_poisson(State* state, double lambda);
template <class State> [[smem::model(random_number), smem::updates(state)]] uint4 curand_poisson4(State* state, double lambda);
template <class State> [[smem::model(random_number), smem::updates(state)]] unsigned curand_discrete(State* state, void* distribution);
template <class State> [[smem::model(random_number), smem::updates(state)]] uint4 curand_discrete4(State* state, void* distribution);
template <class State> [[smem::model(random_number), smem::updates(state)]] void skipahead(unsigned long long n, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] void skipahead_sequence(unsigned long long n, State* state);
template <class State> [[smem::model(random_number), smem::updates(state)]] void skipahead_subsequence(unsigned long long n, State* state);
