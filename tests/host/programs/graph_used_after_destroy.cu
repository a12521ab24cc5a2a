#include <cuda_runtime.h>

void host() {
  cudaGraph_t graph;
  cudaGraphExec_t exec;
  cudaGraphCreate(&graph, 0);
  cudaGraphDestroy(graph);
  cudaGraphInstantiate(&exec, graph, 0);  // SMEM603
  cudaGraphExecDestroy(exec);
}
void program() { host(); }
