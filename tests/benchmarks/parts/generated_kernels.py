"""Kernels in tilelang's language, and the CUDA source that it makes of them.

Run by ``generated.py`` with the Python of an environment that has tilelang; nothing else imports this file. For each
kernel and form it prints one JSON line: ``kernel``, ``form``, ``source``, ``bytes`` (dynamic ones, from the attribute
that the launch is made of; None: the arrays are static), ``threads`` of a block, blocks of the ``grid``, or ``error``;
and ``version`` and the folders that its headers are in (``includes``).

Forms: ``static`` (nothing merged, each array its own), ``off`` (one dynamic array, every buffer with its own bytes),
``default``, ``aggressive``, and ``tvm`` (the pass of the TVM that tilelang brings in its place).
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

os.environ.setdefault("TILELANG_DISABLE_CACHE", "1")
sys.path = [
    entry for entry in sys.path if Path(entry or ".").resolve() != Path(__file__).parent
]  # names of the tests are none of tilelang's

import tilelang  # noqa: E402
import tilelang.language as T  # noqa: E402
from tilelang import tvm  # noqa: E402

F16, F32 = "float16", "float32"
LOG2E = 1.44269504
ROWS = T.GemmWarpPolicy.FullRow  # a warp has whole rows

FORMS: dict[str, tuple[str, dict[str, bool]]] = {
    "static": ("shared", {}),
    "off": ("shared.dyn", {"tl.disable_shared_memory_reuse": True}),
    "default": ("shared.dyn", {}),
    "aggressive": ("shared.dyn", {"tl.enable_aggressive_shared_memory_merge": True}),
    "tvm": ("shared.dyn", {}),
}

KERNELS: dict[str, Callable[[str], Any]] = {}


def kernel(make: Callable[[str], Any]) -> Callable[[str], Any]:
    KERNELS[make.__name__] = make
    return make


def _gemm(scope: str, stages: int, epilogue: bool = True, block: int = 128, depth: int = 32) -> Any:
    M = N = K = 1024

    @T.prim_func
    def main(A: T.Tensor((M, K), F16), B: T.Tensor((K, N), F16), C: T.Tensor((M, N), F16)):
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            As = T.alloc_shared((block, depth), F16, scope=scope)
            Bs = T.alloc_shared((depth, block), F16, scope=scope)
            Cs = T.alloc_shared((block, block), F16, scope=scope)
            acc = T.alloc_fragment((block, block), F32)
            T.clear(acc)
            for k in T.Pipelined(K // depth, num_stages=stages):
                T.copy(A[by * block, k * depth], As)
                T.copy(B[k * depth, bx * block], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, Cs)
            T.copy(Cs, C[by * block, bx * block])

    return main


@kernel
def gemm_epilogue(scope: str) -> Any:
    return _gemm(scope, 1)


@kernel
def gemm_2_stages(scope: str) -> Any:
    return _gemm(scope, 2)


@kernel
def gemm_3_stages(scope: str) -> Any:
    return _gemm(scope, 3)


@kernel
def gemm_4_stages(scope: str) -> Any:
    return _gemm(scope, 4, block=64)


@kernel
def gemm_bias_row(scope: str) -> Any:
    """A bias row and row sums share the epilogue with the tile."""
    M = N = K = 512
    block, depth = 64, 32

    @T.prim_func
    def main(
        A: T.Tensor((M, K), F16),
        B: T.Tensor((N, K), F16),
        bias: T.Tensor((N,), F32),
        C: T.Tensor((M, N), F32),
    ):
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            As = T.alloc_shared((block, depth), F16, scope=scope)
            Bs = T.alloc_shared((block, depth), F16, scope=scope)
            row = T.alloc_shared((block,), F32, scope=scope)
            Cs = T.alloc_shared((block, block), F32, scope=scope)
            acc = T.alloc_fragment((block, block), F32)
            T.clear(acc)
            for k in T.serial(K // depth):
                T.copy(A[by * block, k * depth], As)
                T.copy(B[bx * block, k * depth], Bs)
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(bias[bx * block], row)
            for i, j in T.Parallel(block, block):
                acc[i, j] = acc[i, j] + row[j]
            T.copy(acc, Cs)
            T.copy(Cs, C[by * block, bx * block])

    return main


@kernel
def split_k(scope: str) -> Any:
    M = N = 512
    K, block, depth, parts = 4096, 64, 32, 4

    @T.prim_func
    def main(A: T.Tensor((M, K), F16), B: T.Tensor((K, N), F16), C: T.Tensor((M, N), F32)):
        with T.Kernel(N // block, M // block, parts, threads=128) as (bx, by, bz):
            As = T.alloc_shared((block, depth), F16, scope=scope)
            Bs = T.alloc_shared((depth, block), F16, scope=scope)
            Cs = T.alloc_shared((block, block), F32, scope=scope)
            acc = T.alloc_fragment((block, block), F32)
            T.clear(acc)
            for k in T.Pipelined(K // parts // depth, num_stages=0):
                T.copy(A[by * block, bz * (K // parts) + k * depth], As)
                T.copy(B[bz * (K // parts) + k * depth, bx * block], Bs)
                T.gemm(As, Bs, acc)
            T.copy(acc, Cs)
            for i, j in T.Parallel(block, block):
                T.atomic_add(C[by * block + i, bx * block + j], Cs[i, j])

    return main


@kernel
def dequantising_gemm(scope: str) -> Any:
    """Weights of four bits, two in a byte, and a scale for each row of a tile."""
    M = N = K = 512
    block, depth = 64, 64

    @T.prim_func
    def main(
        A: T.Tensor((M, K), F16),
        B: T.Tensor((N, K // 2), "uint8"),
        scales: T.Tensor((N,), F16),
        C: T.Tensor((M, N), F16),
    ):
        with T.Kernel(N // block, M // block, threads=128) as (bx, by):
            As = T.alloc_shared((block, depth), F16, scope=scope)
            packed = T.alloc_shared((block, depth // 2), "uint8", scope=scope)
            Bs = T.alloc_shared((block, depth), F16, scope=scope)
            factor = T.alloc_shared((block,), F16, scope=scope)
            Cs = T.alloc_shared((block, block), F16, scope=scope)
            acc = T.alloc_fragment((block, block), F32)
            T.clear(acc)
            T.copy(scales[bx * block], factor)
            for k in T.serial(K // depth):
                T.copy(A[by * block, k * depth], As)
                T.copy(B[bx * block, k * depth // 2], packed)
                for i, j in T.Parallel(block, depth):
                    Bs[i, j] = (
                        T.cast((packed[i, j // 2] >> T.cast((j % 2) * 4, "uint8")) & T.cast(15, "uint8"), F16)
                        * factor[i]
                    )
                T.gemm(As, Bs, acc, transpose_B=True)
            T.copy(acc, Cs)
            T.copy(Cs, C[by * block, bx * block])

    return main


@kernel
def attention_forward(scope: str) -> Any:
    heads, length, size, rows, columns = 8, 512, 64, 64, 64

    @T.prim_func
    def main(
        Q: T.Tensor((heads, length, size), F16),
        K: T.Tensor((heads, length, size), F16),
        V: T.Tensor((heads, length, size), F16),
        O: T.Tensor((heads, length, size), F16),  # noqa: E741
    ):
        with T.Kernel(length // rows, heads, threads=128) as (bx, by):
            Qs = T.alloc_shared((rows, size), F16, scope=scope)
            Ks = T.alloc_shared((columns, size), F16, scope=scope)
            Vs = T.alloc_shared((columns, size), F16, scope=scope)
            Os = T.alloc_shared((rows, size), F16, scope=scope)
            scores = T.alloc_fragment((rows, columns), F32)
            weights = T.alloc_fragment((rows, columns), F16)
            acc = T.alloc_fragment((rows, size), F32)
            most = T.alloc_fragment((rows,), F32)
            before = T.alloc_fragment((rows,), F32)
            rescale = T.alloc_fragment((rows,), F32)
            part = T.alloc_fragment((rows,), F32)
            total = T.alloc_fragment((rows,), F32)
            T.copy(Q[by, bx * rows : (bx + 1) * rows, :], Qs)
            T.fill(acc, 0)
            T.fill(total, 0)
            T.fill(most, -T.infinity(F32))
            for k in T.serial(length // columns):
                T.copy(K[by, k * columns : (k + 1) * columns, :], Ks)
                T.clear(scores)
                T.gemm(Qs, Ks, scores, transpose_B=True, policy=ROWS)
                T.copy(most, before)
                T.reduce_max(scores, most, dim=1, clear=False)
                for i in T.Parallel(rows):
                    rescale[i] = T.exp2((before[i] - most[i]) * LOG2E)
                for i, j in T.Parallel(rows, columns):
                    scores[i, j] = T.exp2((scores[i, j] - most[i]) * LOG2E)
                T.reduce_sum(scores, part, dim=1)
                for i in T.Parallel(rows):
                    total[i] = total[i] * rescale[i] + part[i]
                T.copy(scores, weights)
                for i, j in T.Parallel(rows, size):
                    acc[i, j] *= rescale[i]
                T.copy(V[by, k * columns : (k + 1) * columns, :], Vs)
                T.gemm(weights, Vs, acc, policy=ROWS)
            for i, j in T.Parallel(rows, size):
                acc[i, j] /= total[i]
            T.copy(acc, Os)
            T.copy(Os, O[by, bx * rows : (bx + 1) * rows, :])

    return main


@kernel
def attention_backward(scope: str) -> Any:
    """The gradients of keys and values, and of queries by atomic additions."""
    heads, length, size, rows, columns = 8, 512, 64, 64, 64

    @T.prim_func
    def main(
        Q: T.Tensor((heads, length, size), F16),
        K: T.Tensor((heads, length, size), F16),
        V: T.Tensor((heads, length, size), F16),
        dO: T.Tensor((heads, length, size), F16),
        lse: T.Tensor((heads, length), F32),
        delta: T.Tensor((heads, length), F32),
        dQ: T.Tensor((heads, length, size), F32),
        dK: T.Tensor((heads, length, size), F16),
        dV: T.Tensor((heads, length, size), F16),
    ):
        with T.Kernel(length // rows, heads, threads=128) as (bx, by):
            Ks = T.alloc_shared((rows, size), F16, scope=scope)
            Vs = T.alloc_shared((rows, size), F16, scope=scope)
            Qs = T.alloc_shared((columns, size), F16, scope=scope)
            dOs = T.alloc_shared((columns, size), F16, scope=scope)
            dSs = T.alloc_shared((rows, columns), F16, scope=scope)
            ls = T.alloc_shared((columns,), F32, scope=scope)
            ds = T.alloc_shared((columns,), F32, scope=scope)
            dKs = T.alloc_shared((rows, size), F16, scope=scope)
            dVs = T.alloc_shared((rows, size), F16, scope=scope)
            scores = T.alloc_fragment((rows, columns), F32)
            weights = T.alloc_fragment((rows, columns), F16)
            dP = T.alloc_fragment((rows, columns), F32)
            dS = T.alloc_fragment((rows, columns), F16)
            dQa = T.alloc_fragment((columns, size), F32)
            dKa = T.alloc_fragment((rows, size), F32)
            dVa = T.alloc_fragment((rows, size), F32)
            T.copy(K[by, bx * rows : (bx + 1) * rows, :], Ks)
            T.copy(V[by, bx * rows : (bx + 1) * rows, :], Vs)
            T.clear(dKa)
            T.clear(dVa)
            for k in T.serial(length // columns):
                T.copy(Q[by, k * columns : (k + 1) * columns, :], Qs)
                T.copy(lse[by, k * columns : (k + 1) * columns], ls)
                T.clear(scores)
                T.gemm(Ks, Qs, scores, transpose_B=True, policy=ROWS)
                for i, j in T.Parallel(rows, columns):
                    scores[i, j] = T.exp2(scores[i, j] * LOG2E - ls[j])
                T.copy(dO[by, k * columns : (k + 1) * columns, :], dOs)
                T.clear(dP)
                T.gemm(Vs, dOs, dP, transpose_B=True, policy=ROWS)
                T.copy(scores, weights)
                T.gemm(weights, dOs, dVa, policy=ROWS)
                T.copy(delta[by, k * columns : (k + 1) * columns], ds)
                for i, j in T.Parallel(rows, columns):
                    dS[i, j] = scores[i, j] * (dP[i, j] - ds[j])
                T.gemm(dS, Qs, dKa, policy=ROWS)
                T.copy(dS, dSs)
                T.clear(dQa)
                T.gemm(dSs, Ks, dQa, transpose_A=True)
                for i, j in T.Parallel(columns, size):
                    T.atomic_add(dQ[by, k * columns + i, j], dQa[i, j])
            T.copy(dVa, dVs)
            T.copy(dVs, dV[by, bx * rows : (bx + 1) * rows, :])
            T.copy(dKa, dKs)
            T.copy(dKs, dK[by, bx * rows : (bx + 1) * rows, :])

    return main


@kernel
def linear_attention(scope: str) -> Any:
    """A state is carried from chunk to chunk: within a chunk by scores, across by the state."""
    heads, length, size, chunk = 8, 512, 64, 64

    @T.prim_func
    def main(
        Q: T.Tensor((heads, length, size), F16),
        K: T.Tensor((heads, length, size), F16),
        V: T.Tensor((heads, length, size), F16),
        O: T.Tensor((heads, length, size), F16),  # noqa: E741
    ):
        with T.Kernel(heads, threads=128) as bx:
            Qs = T.alloc_shared((chunk, size), F16, scope=scope)
            Ks = T.alloc_shared((chunk, size), F16, scope=scope)
            Vs = T.alloc_shared((chunk, size), F16, scope=scope)
            Ss = T.alloc_shared((chunk, chunk), F16, scope=scope)
            Hs = T.alloc_shared((size, size), F16, scope=scope)
            Os = T.alloc_shared((chunk, size), F16, scope=scope)
            scores = T.alloc_fragment((chunk, chunk), F32)
            state = T.alloc_fragment((size, size), F32)
            out = T.alloc_fragment((chunk, size), F32)
            T.clear(state)
            for c in T.serial(length // chunk):
                T.copy(Q[bx, c * chunk : (c + 1) * chunk, :], Qs)
                T.copy(K[bx, c * chunk : (c + 1) * chunk, :], Ks)
                T.clear(scores)
                T.gemm(Qs, Ks, scores, transpose_B=True)
                for i, j in T.Parallel(chunk, chunk):
                    scores[i, j] = T.if_then_else(i >= j, scores[i, j], T.float32(0))
                T.copy(scores, Ss)
                T.copy(V[bx, c * chunk : (c + 1) * chunk, :], Vs)
                T.clear(out)
                T.gemm(Ss, Vs, out)
                T.copy(state, Hs)
                T.gemm(Qs, Hs, out)
                T.gemm(Ks, Vs, state, transpose_A=True)
                T.copy(out, Os)
                T.copy(Os, O[bx, c * chunk : (c + 1) * chunk, :])

    return main


@kernel
def mlp(scope: str) -> Any:
    """Two matrix products with an activation between them that stays in shared memory."""
    M, K, hidden, N, block, depth = 512, 256, 64, 256, 64, 32

    @T.prim_func
    def main(
        X: T.Tensor((M, K), F16),
        W1: T.Tensor((K, hidden), F16),
        W2: T.Tensor((hidden, N), F16),
        Y: T.Tensor((M, N), F16),
    ):
        with T.Kernel(M // block, threads=128) as bx:
            Xs = T.alloc_shared((block, depth), F16, scope=scope)
            W1s = T.alloc_shared((depth, hidden), F16, scope=scope)
            Hs = T.alloc_shared((block, hidden), F16, scope=scope)
            W2s = T.alloc_shared((hidden, block), F16, scope=scope)
            Ys = T.alloc_shared((block, block), F16, scope=scope)
            h = T.alloc_fragment((block, hidden), F32)
            y = T.alloc_fragment((block, block), F32)
            T.clear(h)
            for k in T.serial(K // depth):
                T.copy(X[bx * block, k * depth], Xs)
                T.copy(W1[k * depth, 0], W1s)
                T.gemm(Xs, W1s, h)
            for i, j in T.Parallel(block, hidden):
                h[i, j] = T.max(h[i, j], T.float32(0))
            T.copy(h, Hs)
            for n in T.serial(N // block):
                T.copy(W2[0, n * block], W2s)
                T.clear(y)
                T.gemm(Hs, W2s, y)
                T.copy(y, Ys)
                T.copy(Ys, Y[bx * block, n * block])

    return main


@kernel
def convolution(scope: str) -> Any:
    """One dimension, five taps: a tile with its halo, the taps, and the result on its way out."""
    channels, length, tile, taps = 16, 4096, 256, 5

    @T.prim_func
    def main(
        X: T.Tensor((channels, length + 8), F32),
        W: T.Tensor((channels, 8), F32),
        Y: T.Tensor((channels, length), F32),
    ):
        with T.Kernel(length // tile, channels, threads=128) as (bx, by):
            Xs = T.alloc_shared((tile + 8,), F32, scope=scope)
            Ws = T.alloc_shared((8,), F32, scope=scope)
            Ys = T.alloc_shared((tile,), F32, scope=scope)
            acc = T.alloc_fragment((tile,), F32)
            T.copy(X[by, bx * tile : bx * tile + tile + 8], Xs)
            T.copy(W[by, 0:8], Ws)
            T.clear(acc)
            for t in T.serial(taps):
                for i in T.Parallel(tile):
                    acc[i] += Xs[i + t] * Ws[t]
            T.copy(acc, Ys)
            for i in T.Parallel(tile):
                Y[by, bx * tile + i] = Ys[tile - 1 - i]

    return main


@kernel
def softmax(scope: str) -> Any:
    rows, columns, block = 512, 512, 16

    @T.prim_func
    def main(X: T.Tensor((rows, columns), F16), Y: T.Tensor((rows, columns), F16)):
        with T.Kernel(rows // block, threads=128) as bx:
            Xs = T.alloc_shared((block, columns), F16, scope=scope)
            Ys = T.alloc_shared((block, columns), F16, scope=scope)
            x = T.alloc_fragment((block, columns), F32)
            most = T.alloc_fragment((block,), F32)
            total = T.alloc_fragment((block,), F32)
            T.copy(X[bx * block, 0], Xs)
            T.copy(Xs, x)
            T.reduce_max(x, most, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = T.exp2((x[i, j] - most[i]) * LOG2E)
            T.reduce_sum(x, total, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] / total[i]
            T.copy(x, Ys)
            T.copy(Ys, Y[bx * block, 0])

    return main


@kernel
def layer_norm(scope: str) -> Any:
    rows, columns, block = 512, 1024, 4

    @T.prim_func
    def main(
        X: T.Tensor((rows, columns), F32),
        gain: T.Tensor((columns,), F32),
        bias: T.Tensor((columns,), F32),
        Y: T.Tensor((rows, columns), F32),
    ):
        with T.Kernel(rows // block, threads=128) as bx:
            Xs = T.alloc_shared((block, columns), F32, scope=scope)
            gs = T.alloc_shared((columns,), F32, scope=scope)
            bs = T.alloc_shared((columns,), F32, scope=scope)
            Ys = T.alloc_shared((block, columns), F32, scope=scope)
            x = T.alloc_fragment((block, columns), F32)
            squares = T.alloc_fragment((block, columns), F32)
            mean = T.alloc_fragment((block,), F32)
            variance = T.alloc_fragment((block,), F32)
            T.copy(X[bx * block, 0], Xs)
            T.copy(Xs, x)
            T.reduce_sum(x, mean, dim=1)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] - mean[i] / columns
            for i, j in T.Parallel(block, columns):
                squares[i, j] = x[i, j] * x[i, j]
            T.reduce_sum(squares, variance, dim=1)
            T.copy(gain, gs)
            T.copy(bias, bs)
            for i, j in T.Parallel(block, columns):
                x[i, j] = x[i, j] * T.rsqrt(variance[i] / columns + 1e-5) * gs[j] + bs[j]
            T.copy(x, Ys)
            T.copy(Ys, Y[bx * block, 0])

    return main


@kernel
def reduction_tree(scope: str) -> Any:
    """Each level has an array of its own, half as long as the one before."""
    count, block = 1 << 16, 256

    @T.prim_func
    def main(X: T.Tensor((count,), F32), Y: T.Tensor((count // block,), F32)):
        with T.Kernel(count // block, threads=128) as bx:
            s0 = T.alloc_shared((block,), F32, scope=scope)
            s1 = T.alloc_shared((block // 2,), F32, scope=scope)
            s2 = T.alloc_shared((block // 4,), F32, scope=scope)
            s3 = T.alloc_shared((block // 8,), F32, scope=scope)
            s4 = T.alloc_shared((block // 16,), F32, scope=scope)
            T.copy(X[bx * block], s0)
            for i in T.Parallel(block // 2):
                s1[i] = s0[i] + s0[i + block // 2]
            for i in T.Parallel(block // 4):
                s2[i] = s1[i] + s1[i + block // 4]
            for i in T.Parallel(block // 8):
                s3[i] = s2[i] + s2[i + block // 8]
            for i in T.Parallel(block // 16):
                s4[i] = s3[i] + s3[i + block // 16]
            for _ in T.Parallel(1):
                total = T.alloc_local((1,), F32)
                total[0] = 0
                for j in T.serial(block // 16):
                    total[0] += s4[j]
                Y[bx] = total[0]

    return main


@kernel
def transpose(scope: str) -> Any:
    """A tile in, the tile transposed in a second array, a third for a reversed copy."""
    size, tile = 1024, 32

    @T.prim_func
    def main(X: T.Tensor((size, size), F32), Y: T.Tensor((size, size), F32), Z: T.Tensor((size, size), F32)):
        with T.Kernel(size // tile, size // tile, threads=128) as (bx, by):
            a = T.alloc_shared((tile, tile + 1), F32, scope=scope)
            b = T.alloc_shared((tile, tile + 1), F32, scope=scope)
            c = T.alloc_shared((tile, tile + 1), F32, scope=scope)
            for i, j in T.Parallel(tile, tile):
                a[i, j] = X[by * tile + i, bx * tile + j]
            for i, j in T.Parallel(tile, tile):
                b[i, j] = a[j, i]
            for i, j in T.Parallel(tile, tile):
                Y[bx * tile + i, by * tile + j] = b[i, j]
            for i, j in T.Parallel(tile, tile):
                c[i, j] = b[tile - 1 - i, tile - 1 - j]
            for i, j in T.Parallel(tile, tile):
                Z[bx * tile + i, by * tile + j] = c[j, i]

    return main


@kernel
def scan(scope: str) -> Any:
    rows, columns, block = 256, 128, 8

    @T.prim_func
    def main(X: T.Tensor((rows, columns), F32), Y: T.Tensor((rows, columns), F32)):
        with T.Kernel(rows // block, threads=128) as bx:
            Xs = T.alloc_shared((block, columns), F32, scope=scope)
            one = T.alloc_shared((block, columns), F32, scope=scope)
            two = T.alloc_shared((block, columns), F32, scope=scope)
            Ys = T.alloc_shared((block, columns), F32, scope=scope)
            T.copy(X[bx * block, 0], Xs)
            for i, j in T.Parallel(block, columns):
                one[i, j] = Xs[i, j] + T.if_then_else(j >= 1, Xs[i, T.max(j - 1, 0)], T.float32(0))
            for i, j in T.Parallel(block, columns):
                two[i, j] = one[i, j] + T.if_then_else(j >= 2, one[i, T.max(j - 2, 0)], T.float32(0))
            for i, j in T.Parallel(block, columns):
                Ys[i, j] = two[i, j] + T.if_then_else(j >= 4, two[i, T.max(j - 4, 0)], T.float32(0))
            T.copy(Ys, Y[bx * block, 0])

    return main


@kernel
def moe_grouping(scope: str) -> Any:
    """Rows are gathered by indices that a first phase puts into shared memory."""
    experts, size, N, block, depth = 8, 256, 256, 64, 32

    @T.prim_func
    def main(
        X: T.Tensor((512, size), F16),
        order: T.Tensor((experts, block), "int32"),
        gates: T.Tensor((experts, block), F32),
        W: T.Tensor((experts, size, N), F16),
        Y: T.Tensor((experts, block, N), F16),
    ):
        with T.Kernel(N // block, experts, threads=128) as (bx, by):
            rows = T.alloc_shared((block,), "int32", scope=scope)
            gate = T.alloc_shared((block,), F32, scope=scope)
            Xs = T.alloc_shared((block, depth), F16, scope=scope)
            Ws = T.alloc_shared((depth, block), F16, scope=scope)
            Ys = T.alloc_shared((block, block), F16, scope=scope)
            acc = T.alloc_fragment((block, block), F32)
            T.copy(order[by, 0:block], rows)
            T.clear(acc)
            for k in T.serial(size // depth):
                for i, j in T.Parallel(block, depth):
                    Xs[i, j] = X[rows[i], k * depth + j]
                T.copy(W[by, k * depth : (k + 1) * depth, bx * block : (bx + 1) * block], Ws)
                T.gemm(Xs, Ws, acc)
            T.copy(gates[by, 0:block], gate)
            for i, j in T.Parallel(block, block):
                acc[i, j] *= gate[i]
            T.copy(acc, Ys)
            T.copy(Ys, Y[by, 0:block, bx * block : (bx + 1) * block])

    return main


def _of_tvm(*_: Any, **__: Any) -> Any:
    return tvm.s_tir.transform.MergeSharedMemoryAllocations()


_OWN = tilelang.transform.MergeSharedMemoryAllocations


def lowered(name: str, form: str, arch: str) -> dict[str, Any]:
    scope, config = FORMS[form]
    target = tvm.target.Target({"kind": "cuda", "arch": arch})
    tilelang.transform.MergeSharedMemoryAllocations = _of_tvm if form == "tvm" else _OWN
    with target, tvm.transform.PassContext(config=config):
        made = tilelang.lower(KERNELS[name](scope), target=target)
    (function,) = made.device_mod.functions.values()
    held = function.attrs.get("dyn_shared_memory_buf")
    extents = function.attrs["thread_extent"]
    threads, grid = (
        [int(extents.get(f"{each}.{axis}", 1)) for axis in "xyz"] for each in ("threadIdx", "blockIdx")
    )
    size = None if held is None else int(held)
    return {"source": made.kernel_source, "bytes": size, "threads": threads, "grid": grid}


def every(names: list[str], forms: list[str], arch: str) -> Iterator[dict[str, Any]]:
    for name in names:
        for form in forms:
            try:
                result = lowered(name, form, arch)
            except Exception as error:  # noqa: BLE001  whatever the other tool raises is told
                result = {"error": f"{type(error).__name__}: {str(error).strip().splitlines()[-1][:300]}"}
            yield {"kernel": name, "form": form, **result}


def _main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("kernels", nargs="*", choices=[[], *KERNELS])
    parser.add_argument("--arch", default="sm_80")
    parser.add_argument("--forms", nargs="+", default=list(FORMS), choices=list(FORMS))
    options = parser.parse_args()
    package = Path(tilelang.__file__).parent
    includes = package / "src", package / "3rdparty" / "cutlass" / "include"
    out = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # the lines are the only thing on standard output
    for result in every(options.kernels or list(KERNELS), options.forms, options.arch):
        about = {"version": tilelang.__version__, "includes": list(map(str, includes))}
        print(json.dumps({**about, **result}), file=out, flush=True)


if __name__ == "__main__":
    _main()
