// The graph writes the memory that the host reads.
#include <cuda_runtime.h>

__global__ void fill(float* p) { p[threadIdx.x] = 1.0f; }
float host() {
  cudaStream_t s;
  cudaStreamCreate(&s);
  float* p;
  cudaMallocManaged(&p, 128);
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaStreamBeginCapture(s, cudaStreamCaptureModeGlobal);
  fill<<<1, 32, 0, s>>>(p);
  cudaStreamEndCapture(s, &graph);
  p[0] = 3.0f;  // nothing runs yet
  cudaGraphInstantiate(&exec, graph, 0);
  cudaGraphLaunch(exec, s);
  float first = p[0];  // SMEM602
  cudaStreamSynchronize(s);
  cudaGraphExecDestroy(exec);
  cudaGraphDestroy(graph);
  cudaFree(p);
  cudaStreamDestroy(s);
  return first;
}
void program() { host(); }
