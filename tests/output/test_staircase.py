"""The occupancy staircase: every step is where occupancy says, and the kernel stands on it."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from harness import kernel_facts

from smem_lsp.analysis.occupancy import occupancy
from smem_lsp.config import Config
from smem_lsp.output.staircase import HEIGHT, chart, staircases
from smem_lsp.output.staircase_text import stairs_text

KERNEL = """\
__global__ void __launch_bounds__(256) k(const float* in, float* out) {{
  __shared__ float a[{size}];
  __shared__ float b[{size}];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float v = a[255 - threadIdx.x];
  __syncthreads();
  b[threadIdx.x] = v;
  __syncthreads();
  out[threadIdx.x] = b[255 - threadIdx.x];
}}
"""


@pytest.mark.parametrize("arch", ["sm_75", "sm_80", "sm_90", "sm_120"])
@pytest.mark.parametrize("registers", [None, 40])
def test_each_step_is_the_last_byte_with_its_blocks(arch: str, registers: int | None) -> None:
    config = Config(arch=(arch,), registers=registers)
    (stairs,) = staircases(kernel_facts(KERNEL.format(size=2048), config=config))

    def blocks(size: int) -> int:
        found = occupancy(arch, threads=256, registers=registers, static_shared=size, opt_in=True)
        return found.blocks

    assert [blocks(most) for most, _ in stairs.steps] == [each for _, each in stairs.steps]
    assert all(blocks(most + 1) < each for most, each in stairs.steps)
    assert stairs.declared == (16384, blocks(16384))
    assert stairs.merged == (8192, blocks(8192))


def test_a_kernel_that_has_no_smaller_layout_is_marked_once() -> None:
    text = KERNEL.format(size=2048).replace("  __syncthreads();\n  b[", "  b[")
    (stairs,) = staircases(kernel_facts(text, config=Config(arch=("sm_90",))))
    assert stairs.merged is None
    drawn = ElementTree.fromstring(f"<svg>{''.join(chart(stairs, 0, 0, 400))}</svg>")
    assert [element.text for element in drawn.iter("text") if "font-weight" in element.attrib][1:] == [
        "you are here: 8"
    ]


def test_the_steps_in_characters() -> None:
    config = Config(arch=("sm_120",), registers=40)
    (stairs,) = staircases(kernel_facts(KERNEL.format(size=3000), config=config))
    assert list(stairs_text(stairs)) == [
        "blocks/SM up to this many bytes per block (sm_120)",
        "6 █████████▋           16,000 B  merged",
        "5 ███████████▊         19,456 B",
        "4 ██████████████▉      24,576 B  you are here",
        "3 ████████████████████ 33,024 B",
    ]


@pytest.mark.parametrize("size", [64, 1024, 4096, 6144, 20000])
def test_everything_is_inside_the_picture(size: int) -> None:
    for stairs in staircases(kernel_facts(KERNEL.format(size=size))):
        text = "".join(chart(stairs, 0, 0, 300))
        for x, y in re.findall(r'c?x="(-?[\d.]+)" c?y="(-?[\d.]+)"', text):
            assert 0 <= float(x) <= 300
            assert 0 <= float(y) <= HEIGHT


def test_nothing_where_bytes_or_threads_are_not_known() -> None:
    assert staircases(kernel_facts(KERNEL.format(size="n"))) == []
    assert staircases(kernel_facts(KERNEL.format(size=64).replace("__launch_bounds__(256) ", ""))) == []
