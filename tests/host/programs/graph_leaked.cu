// The graph that was captured, and the executable one.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
void host(float* p) {
  cudaStream_t s;
  cudaStreamCreate(&s);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  fill<<<1, 32, 0, s>>>(p);
  cudaStreamEndCapture(s, &graph);  // SMEM601
  cudaGraphInstantiate(&exec, graph, 0);  // SMEM601
  cudaGraphLaunch(exec, s);
  cudaStreamSynchronize(s);
  cudaStreamDestroy(s);
}
void program() { host(nullptr); }
