// C = A * B by Stream-K: the steps of all tiles are dealt out evenly, so a block may begin or end inside of a tile.
// What it has of such a tile goes through a workspace, which a second kernel adds up. m, n and k are multiples of
// the tile.
#include <cuda_runtime.h>

constexpr int TILE = 32;    // rows and columns of a tile
constexpr int STEP = 16;    // of k in one step
constexpr int ROWS = 4;     // of a tile, for each of its 256 threads
constexpr int AREA = TILE * TILE;

struct Work {
  int tiles, tiles_across, steps_per_tile, steps_per_block;
};

static __global__ void partial(const float* a, const float* b, float* workspace, int n, int k, Work work) {
  __shared__ float left[TILE * STEP];
  __shared__ float right[STEP * TILE];
  __shared__ float part[AREA];
  int column = threadIdx.x % TILE, row = threadIdx.x / TILE * ROWS;
  int first = blockIdx.x * work.steps_per_block;
  for (int segment = 0; segment < 2; ++segment) {
    int tile = first / work.steps_per_tile + segment;
    int from = segment == 0 ? first % work.steps_per_tile : 0;
    int left_over = first + work.steps_per_block - tile * work.steps_per_tile;
    int to = tile < work.tiles ? min(work.steps_per_tile, left_over) : 0;
    float sum[ROWS] = {};
    const float* rows = a + tile / work.tiles_across * TILE * k;
    const float* columns = b + tile % work.tiles_across * TILE;
    for (int step = from; step < to; ++step) {
      for (int i = threadIdx.x; i < TILE * STEP; i += 256) {
        left[i] = rows[i / STEP * k + step * STEP + i % STEP];
        right[i] = columns[(step * STEP + i / TILE) * n + i % TILE];
      }
      __syncthreads();
      for (int i = 0; i < STEP; ++i)
        for (int r = 0; r < ROWS; ++r) sum[r] += left[(row + r) * STEP + i] * right[i * TILE + column];
      __syncthreads();
    }
    for (int r = 0; r < ROWS; ++r) part[(row + r) * TILE + column] = sum[r];
    __syncthreads();
    float* slot = workspace + (blockIdx.x * 2 + segment) * AREA;
    for (int i = threadIdx.x; i < AREA; i += 256) slot[i] = part[i];
    __syncthreads();
  }
}

// One block for each tile: the sum of what the blocks that worked on it have left.
static __global__ void fix_up(const float* workspace, float* c, int n, Work work) {
  int first = blockIdx.x * work.steps_per_tile;
  float* out = c + blockIdx.x / work.tiles_across * TILE * n + blockIdx.x % work.tiles_across * TILE;
  for (int i = threadIdx.x; i < AREA; i += 256) {
    float sum = 0;
    int last = (first + work.steps_per_tile - 1) / work.steps_per_block;
    for (int block = first / work.steps_per_block; block <= last; ++block) {
      int begins = block * work.steps_per_block / work.steps_per_tile;
      sum += workspace[(block * 2 + (blockIdx.x - begins)) * AREA + i];
    }
    out[i / TILE * n + i % TILE] = sum;
  }
}

cudaError_t stream_k(const float* a, const float* b, float* c, int m, int n, int k) {
  int tiles = m / TILE * (n / TILE), steps = k / STEP;
  // no more steps for a block than a tile has: it meets two tiles at most
  Work work = {tiles, n / TILE, steps, (steps * 3 + 3) / 4};
  int blocks = (tiles * steps + work.steps_per_block - 1) / work.steps_per_block;
  cudaStream_t stream;
  cudaError_t err = cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  if (err != cudaSuccess) return err;
  float* workspace;
  err = cudaMallocAsync(&workspace, size_t(blocks) * 2 * AREA * sizeof(float), stream);
  if (err == cudaSuccess) {
    partial<<<blocks, 256, 0, stream>>>(a, b, workspace, n, k, work);
    fix_up<<<tiles, 256, 0, stream>>>(workspace, c, n, work);
    err = cudaGetLastError();
    cudaFreeAsync(workspace, stream);  // in the order of the stream: behind both kernels
  }
  if (err == cudaSuccess) err = cudaStreamSynchronize(stream);
  cudaStreamDestroy(stream);
  return err;
}
