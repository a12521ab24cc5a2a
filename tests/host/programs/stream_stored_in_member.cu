#include <cuda_runtime.h>

struct Worker {
  cudaStream_t stream = nullptr;
  void start() {
    cudaStream_t s;
    cudaStreamCreate(&s);
    stream = s;
  }
  ~Worker() { cudaStreamDestroy(stream); }
};
void program() {
  Worker worker;
  worker.start();
}
