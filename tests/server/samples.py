"""Kernels for conversations with the server."""

from __future__ import annotations

# `red` can use the bytes of `tile`: SMEM301. `spare` is never used: SMEM101, a warning with a safe fix.
MERGEABLE = """\
__global__ void __launch_bounds__(256) sum(const float* in, float* out) {
  __shared__ float tile[32][33];
  __shared__ float red[256];
  __shared__ int spare[8];
  int tid = threadIdx.x;
  for (int r = tid / 32; r < 32; r += 8) tile[r][tid % 32] = in[tid];
  __syncthreads();
  float s = tile[31 - tid / 32][tid % 32];
  __syncthreads();
  red[tid] = s;
  __syncthreads();
  out[tid] = red[255 - tid];
}
void run(const float* in, float* out) { sum<<<1, 256>>>(in, out); }
"""

UNUSED = """\
__global__ void k(float* out) {
  __shared__ float scratch[256];
  out[threadIdx.x] = 0.0f;
}
"""
FIXED = """\
__global__ void k(float* out) {
  out[threadIdx.x] = 0.0f;
}
"""

# Bytes fall from 56,000 to 28,000 only with a barrier: SMEM302 across the limit of 48 KiB.
WITH_BARRIER = """\
__global__ void k(const float* in, float* out) {
  __shared__ float a[7000];
  __shared__ float b[7000];
  int tid = threadIdx.x;
  for (int i = tid; i < 7000; i += 256) a[i] = in[i];
  __syncthreads();
  float s = a[6999 - tid];
  for (int i = tid; i < 7000; i += 256) b[i] = s;
  __syncthreads();
  out[tid] = b[6999 - tid];
}
"""

PUSH = {
    "textDocument": {
        "publishDiagnostics": {
            "relatedInformation": True,
            "versionSupport": True,
            "tagSupport": {"valueSet": [1, 2]},
        },
        "hover": {"contentFormat": ["markdown", "plaintext"]},
        "inlayHint": {},
        "codeLens": {},
        "codeAction": {
            "codeActionLiteralSupport": {
                "codeActionKind": {"valueSet": ["", "quickfix", "refactor", "source"]}
            },
            "isPreferredSupport": True,
            "disabledSupport": True,
            "dataSupport": True,
            "resolveSupport": {"properties": ["edit"]},
        },
    },
    "workspace": {"workspaceEdit": {"documentChanges": True}},
}
PULL = {
    **PUSH,
    "textDocument": {**PUSH["textDocument"], "diagnostic": {"relatedDocumentSupport": False}},
    "workspace": {
        **PUSH["workspace"],
        "diagnostics": {"refreshSupport": True},
        "codeLens": {"refreshSupport": True},
        "inlayHint": {"refreshSupport": True},
    },
}


def place(text: str, needle: str, *, after: str = "") -> tuple[int, int]:
    """Line and column (code points) of ``needle``, the first one behind ``after``."""
    offset = text.index(needle, text.index(after) + len(after) if after else 0)
    line = text.count("\n", 0, offset)
    return line, offset - (text.rfind("\n", 0, offset) + 1)


def diagnostic_codes(diagnostics: list[dict[str, object]]) -> list[object]:
    return [diagnostic.get("code") for diagnostic in diagnostics]
