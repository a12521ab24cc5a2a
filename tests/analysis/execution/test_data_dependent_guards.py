"""Accesses that happen in threads which their own data choose, against others that all threads make: likely races where
the two meet in whichever thread it is, nothing where the data may be what keeps them apart."""

from __future__ import annotations

import pytest
from analysis.hazards.patterns import MISSING, Pattern
from carets import codes

from smem_lsp.engine import check

JUDGED = ("SMEM103", "SMEM201", "SMEM202", "SMEM203", "SMEM205", "SMEM208", "SMEM402")

# As it stands nothing is wrong; without the barriers listed something is.
SPOKEN = (
    Pattern(
        "bitonic sort, compare and swap",
        """
__shared__ float s[512];
const int t = threadIdx.x;
s[t] = in[t];
s[t + 256] = in[t + 256];
for (int k = 2; k <= 512; k *= 2) {
  for (int j = k / 2; j > 0; j /= 2) {
    @1
    const int i = 2 * t - (t & (j - 1));
    const bool up = (i & k) == 0;
    if ((s[i] > s[i + j]) == up) {
      const float other = s[i];
      s[i] = s[i + j];
      s[i + j] = other;
    }
  }
}
@2
out[t] = s[t];
out[t + 256] = s[t + 256];
""",
        variants=((1, "", MISSING), (2, "", ())),  # 2: the last iterations of inner loops are not run
    ),
    Pattern(
        "odd-even transposition sort",
        """
__shared__ float s[512];
const int t = threadIdx.x;
s[t] = in[t];
s[t + 256] = in[t + 256];
@1
for (int p = 0; p < 512; ++p) {
  const int i = 2 * t + (p & 1);
  if (i + 1 < 512) {
    const float a = s[i], b = s[i + 1];
    if (a > b) {
      s[i] = b;
      s[i + 1] = a;
    }
  }
  @2
}
out[t] = s[t];
out[t + 256] = s[t + 256];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "a flag that some threads set",
        """
__shared__ int found;
const int t = threadIdx.x;
if (t == 0) found = 0;
__syncthreads();
if (in[t] == 3.0f) found = 1;
@1
out[t] = found;
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "a tile with zeros where there is nothing",
        """
__shared__ float s[256];
const int t = threadIdx.x;
float sum = 0;
for (int i = 0; i < n; ++i) {
  if (in[t + i * 256] > 0.0f) s[t] = in[t];
  else s[t] = 0;
  @1
  sum += s[255 - t];
  @2
}
out[t] = sum;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "the sums of as many warps as data say",
        """
__shared__ float s[32];
const int t = threadIdx.x;
const int warps = ((int)in[0] + 31) / 32;
if (t % 32 == 0) s[t / 32] = in[t];
@1
float sum = 0;
if (t < warps) sum = s[t];
out[t] = sum;
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "pairs that move together, one way or the other",
        """
__shared__ float key[512];
__shared__ int value[512];
const int t = threadIdx.x;
const bool up = blockIdx.x % 2 == 0 ? t % 2 == 0 : t % 2 == 1;
key[t] = in[t];
key[t + 256] = in[t + 256];
value[t] = t;
value[t + 256] = t + 256;
@1
for (int i = 128; i > 0; i /= 2) {
  const int a = 2 * t - (t & (i - 1)), b = a + i;
  const float mine = key[a], other = key[b];
  const int mine_too = value[a], other_too = value[b];
  if ((mine > other) == up) {
    key[a] = other;
    key[b] = mine;
    value[a] = other_too;
    value[b] = mine_too;
  }
  @2
}
out[t] = value[t];
out[t + 256] = value[t + 256];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "farthest point: a tree in a loop whose ends are data",
        """
__shared__ float best[256];
__shared__ int at[256];
const int t = threadIdx.x;
for (int m = (int)in[0]; m < (int)in[1]; ++m) {
  __syncthreads();
  best[t] = in[t + m];
  at[t] = t;
  for (int i = 128; i > 0; i /= 2) {
    @1
    if (t < i && best[t] < best[t + i]) {
      best[t] = best[t + i];
      at[t] = at[t + i];
    }
  }
  __syncthreads();
  if (t == 0) out[m] = at[0];
}
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "as long as something changes",
        """
__shared__ int changed;
const int t = threadIdx.x;
int i = 0;
do {
  @1
  if (t == 0) changed = 0;
  __syncthreads();
  if (in[i * 256 + t] > 2.0f) changed = 1;
  @2
  ++i;
} while (changed);
out[t] = i;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "count of those that are kept",
        """
__shared__ int count;
const int t = threadIdx.x;
if (t == 0) count = 0;
@1
if (in[t] > 0.0f) atomicAdd(&count, 1);
@2
if (t == 0) out[0] = count;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "neighbours of some cells",
        """
__shared__ float s[258];
const int t = threadIdx.x;
s[t + 1] = in[t];
if (t == 0) s[0] = s[257] = 0;
@1
float v = 0;
if (in[t + 256] > 0.5f) v = s[t] + s[t + 2];
@2
s[t + 1] = v;
__syncthreads();
out[t] = s[256 - t];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "degrees of rows",
        """
__shared__ int edges;
const int t = threadIdx.x;
if (t == 0) edges = 0;
@1
for (int e = (int)in[t]; e < (int)in[t + 1]; ++e) atomicAdd(&edges, 1);
@2
out[t] = edges;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "first error of a block",
        """
__shared__ float worst;
const int t = threadIdx.x;
worst = 0;
__syncthreads();
for (int i = 0; i < n; ++i) {
  const float e = in[i * 256 + t];
  if (!(e <= 1.0f)) worst = e;
  @1
  if (worst > 0) out[i] = worst;
  @2
}
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "neighbours of cells that a mask names",
        """
__shared__ float s[258];
const int t = threadIdx.x;
s[t + 1] = in[t];
if (t == 0) s[0] = s[257] = 0;
@1
float v = s[t + 1];
if (((const int*)in)[t + 512]) v = s[t] + s[t + 2];
@2
s[t + 1] = v;
__syncthreads();
out[t] = s[256 - t];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "heads of runs",
        """
__shared__ int sums[8];
const int t = threadIdx.x;
const bool head = t == 0 || in[t] != in[t - 1];
if (t % 32 == 0) sums[t / 32] = __popc(t);
__syncthreads();
if (t == 0) {
  for (int i = 1; i < 8; ++i) sums[i] += sums[i - 1];
}
@1
if (head) out[t] = sums[t / 32];
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "labels sink until nothing changes",
        """
__shared__ int label[256];
__shared__ int changed;
const int t = threadIdx.x;
label[t] = (int)in[t];
while (true) {
  __syncthreads();
  if (t == 0) changed = 0;
  int least = label[t];
  if (t > 0) least = min(least, label[t - 1]);
  if (t < 255) least = min(least, label[t + 1]);
  @1
  if (least < label[t]) {
    label[t] = least;
    changed = 1;
  }
  @2
  if (!changed) break;
}
out[t] = label[t];
""",
        variants=((2, "", MISSING),),
    ),
    Pattern(
        "first hit of a search, as long as there is none",
        """
__shared__ int found;
const int t = threadIdx.x;
if (t == 0) found = -1;
__syncthreads();
for (int i = 0; i < n; i += 256) {
  if (in[i + t] == 3.0f) found = i + t;
  @1
  if (found >= 0) break;
  @2
}
if (t == 0) out[0] = found;
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
    Pattern(
        "behind a loop that data end in its midst",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = 0;
__syncthreads();
for (int e = (int)in[t]; e < (int)in[t + 1]; ++e) {
  if (in[e] == 3.0f) break;
  out[e] += s[0];
}
__syncthreads();
s[t] = in[t];
@1
out[t] = s[255 - t];
""",
        variants=((1, "", MISSING),),
    ),
    Pattern(
        "some threads leave their value to the other half",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = 0;
@1
if (t < 128 && in[t] > in[t + 256]) s[255 - t] += in[t];
@2
out[t] = s[t];
""",
        variants=((1, "", MISSING), (2, "", MISSING)),
    ),
)

# Barriers that nobody needs are left out: nothing may be said.
SILENT = (
    Pattern(
        "each writes its slot in either arm",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (in[t] > 0.0f) s[t] = in[t];
else s[t] = 0;
out[t] = s[t];
""",
    ),
    Pattern(
        "another slot in the other arm",
        """
__shared__ float s[512];
const int t = threadIdx.x;
if (in[t] > 0.0f && in[t + 256] > 0.0f) s[t] = in[t];
else s[511 - t] = 0;
if (in[t] < 1.0f) out[t] = s[255 - t];
""",
    ),
    Pattern(
        "as many lanes as data say",
        """
__shared__ float s[32];
const int t = threadIdx.x;
if (t < (int)in[0]) {
  s[t] = in[t];
  __syncwarp();
  out[t] = s[31 - t];
}
""",
    ),
    Pattern(
        "as many threads as data say, and those behind them",
        """
__shared__ float s[256];
const int t = threadIdx.x;
const int count = (int)in[0];
if (t < count) s[t] = in[t];
if (t >= count) out[t] = s[t ^ 64];
""",
    ),
    Pattern(
        "as many threads as data say, and then a few",
        """
__shared__ float s[256];
const int t = threadIdx.x;
const int count = (int)in[0];
if (t < count) s[t] = in[t];
if (t < 8 - count) out[t] = s[t + 64];
if (count < 5) out[t] = s[t + 64];
""",
    ),
    Pattern(
        "at most as many as there are lanes",
        """
__shared__ float s[256];
const int t = threadIdx.x;
const int count = (int)in[0];
if (t < count % 32) s[t] = in[t];
if (t < 32) out[t] = s[t];
if (t >= 32 && t < 64) out[t] = s[t];
""",
    ),
    Pattern(
        "both sides in the same arm",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (in[t] > 0.0f) {
  s[t] = in[t];
  out[t] = s[255 - t];
}
""",
    ),
    Pattern(
        "both sides under data",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (in[t] > 0.0f) s[t] = in[t];
if (in[t + 256] > 0.0f) out[t] = s[255 - t];
""",
    ),
    Pattern(
        "slots of their own",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = 0;
if (in[t] > 0.0f) s[t] = in[t];
out[t] = s[t];
""",
    ),
    Pattern(
        "the owner writes, who that is data tell",
        """
__shared__ float best;
const int t = threadIdx.x;
if (t == 0) out[0] = best = 0;
__syncthreads();
if (in[t] == blockIdx.x) best = in[t + 256];
if (t == 0) out[1] = best;
""",
    ),
    Pattern(
        "the last one to come",
        """
__shared__ int arrived;
__shared__ float s[256];
const int t = threadIdx.x;
if (t == 0) arrived = 0;
__syncthreads();
s[t] = in[t];
__threadfence_block();
if (atomicAdd(&arrived, 1) == 255) {
  float sum = 0;
  for (int i = 0; i < 256; ++i) sum += s[i];
  out[0] = sum;
}
""",
    ),
    Pattern(
        "a leader that the warps have voted for",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
if (__ballot_sync(0xffffffffu, in[t] > 0.0f) == 1) out[t] = s[255 - t];
""",
        right=MISSING,
    ),
    Pattern(
        "the winner that all know",
        """
__shared__ int winner;
__shared__ float s[256];
const int t = threadIdx.x;
if (t == 0) winner = (int)in[0];
__syncthreads();
s[t] = in[t];
if (t == winner) out[0] = s[t];
""",
    ),
    Pattern(
        "a look before the atomic",
        """
__shared__ int most;
const int t = threadIdx.x;
if (t == 0) most = 0;
__syncthreads();
for (int i = t; i < n; i += 256) {
  const int v = (int)in[i];
  if (v > most) atomicMax(&most, v);
}
__syncthreads();
out[t] = most;
""",
    ),
    Pattern(
        "nothing to do once it is found",
        """
__shared__ int found;
const int t = threadIdx.x;
if (t == 0) found = 0;
__syncthreads();
for (int i = 0; i < n; ++i) {
  if (!found && in[i * 256 + t] == 3.0f) found = 1;
}
__syncthreads();
out[t] = found;
""",
    ),
    Pattern(
        "a flag that is polled",
        """
__shared__ int found;
const int t = threadIdx.x;
if (t == 0) found = 0;
__syncthreads();
for (int i = t; i < n; i += 256) {
  out[i] = found;
  if (in[i] == 3.0f) found = 1;
}
""",
    ),
    Pattern(
        "a flag that orders",
        """
__shared__ int ready[256];
__shared__ float s[256];
const int t = threadIdx.x;
ready[t] = 0;
__syncthreads();
s[t] = in[t];
__threadfence_block();
ready[t] = 1;
if (ready[255 - t] == 1) out[t] = s[255 - t];
""",
        right=MISSING,  # of `ready` alone
    ),
    Pattern(
        "labels that sink",
        """
__shared__ float label[257];
const int t = threadIdx.x;
label[t] = in[t];
if (t == 0) label[256] = 1000;
__syncthreads();
const float other = label[t + 1];
if (other < label[t]) label[t] = other;
""",
        right=MISSING,
    ),
    Pattern(
        "only lanes of one warp",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
__syncwarp();
if (in[t + 256] > 0.0f) out[t] = s[t ^ 1];
""",
    ),
    Pattern(
        "where the data say",
        """
__shared__ float s[256];
const int t = threadIdx.x;
if (in[t] > 0.0f) s[(int)in[t + 256] & 255] = in[t];
out[t] = s[t];
""",
    ),
    Pattern(
        "all or none, though a pointer may change",
        """
__shared__ float s[256];
const int t = threadIdx.x;
s[t] = in[t];
if (out[0] > 0.0f) {
  __syncthreads();
  out[t] = s[255 - t];
}
""",
        right=(),
    ),
    Pattern(
        "who comes last wins",
        """
__shared__ float s;
const int t = threadIdx.x;
if (t == 0) s = 0;
if (in[t] > 0.0f) s = in[t];
""",
    ),
)

CASES = [
    pytest.param(pattern, number, wanted, id=f"{pattern.name}, {number}")
    for pattern in (*SPOKEN, *SILENT)
    for number, wanted in ((0, pattern.right), *((n, wanted) for n, _, wanted in pattern.variants))
]


@pytest.mark.parametrize(("pattern", "number", "wanted"), CASES)
def test_it_is_judged_as_listed(pattern: Pattern, number: int, wanted: tuple[str, ...]) -> None:
    assert set(codes(check(pattern.text(number)), among=JUDGED)) == set(wanted)


def test_it_is_a_warning_with_threads_that_may_meet() -> None:
    text = next(each for each in SPOKEN if each.name == "a flag that some threads set").text(1)
    found = [finding for finding in check(text).findings if finding.code == "SMEM201"]
    assert [(each.verdict, each.severity.label) for each in found] == [("likely", "warning")]
    assert found[0].message == (
        "data race (read after write): thread 0 may write `found` (line 6), thread 255 may read it (line 8), "
        "with no barrier between them; "
        "put one before line 8, with the 256×1×1 block of line 10"
    )
