// An allocation in a capture is a node of the graph.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaGraph_t graph;
  float* p;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  cudaMallocAsync((void**)&p, 128, s);
  fill<<<1, 32, 0, s>>>(p);
  cudaFreeAsync(p, s);
  cudaStreamEndCapture(s, &graph);
  cudaGraphDestroy(graph);
  cudaStreamDestroy(s);
}
void program() { host(); }
