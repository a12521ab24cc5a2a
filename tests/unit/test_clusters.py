"""Clusters and ``cudaLaunchKernelEx``: what a launch configures, and what SMEM507 says of it."""

from __future__ import annotations

import pytest
from carets import expect
from harness import kernel_facts

from smem_lsp.ir.nodes import LaunchSite
from smem_lsp.rules.model import Severity

KERNEL = """\
{linkage}__global__ void {dims}k(float* out) {{
  __shared__ float s[128];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[127 - threadIdx.x];
}}
"""
CONFIG = """\
  cudaLaunchConfig_t config = {0};
  config.gridDim = dim3(10, 2);
  config.blockDim = 128;
  config.dynamicSmemBytes = 2 * sizeof(float[512]);
  cudaLaunchAttribute attributes[1];
  attributes[0].id = cudaLaunchAttributeClusterDimension;
  attributes[0].val.clusterDim.x = 4;
  attributes[0].val.clusterDim.y = 1;
  attributes[0].val.clusterDim.z = 1;
  config.attrs = attributes;
  config.numAttrs = 1;
"""
LAUNCH = "  cudaLaunchKernelEx(&config, k, out);\n"


def text_of(host: str, dims: str = "", linkage: str = "") -> str:
    return f"{KERNEL.format(dims=dims, linkage=linkage)}void host(float* out, int n) {{\n{host}}}\n"


def site_of(host: str) -> LaunchSite:
    (site,) = kernel_facts(text_of(host)).kernel.launches
    return site


@pytest.mark.parametrize(
    "launch", [LAUNCH, f"  CHECK({LAUNCH.strip()[:-1]});\n", f"  cudaError_t e = {LAUNCH.strip()}\n"]
)
def test_an_extended_launch_says_what_an_ordinary_one_says(launch: str) -> None:
    site = site_of(CONFIG + launch)
    assert (site.block, site.grid, site.dynamic_bytes) == ((128, 1, 1), (10, 2, 1), 4096)
    assert site.cluster == (4, 1, 1)
    assert site.dynamic_expression == "2 * sizeof(float[512])"


def test_what_is_not_set_is_zero_only_where_the_configuration_begins_so() -> None:
    without = CONFIG.replace("  config.dynamicSmemBytes = 2 * sizeof(float[512]);\n", "")
    assert site_of(without + LAUNCH).dynamic_bytes == 0
    assert site_of(without.replace(" = {0}", "") + LAUNCH).dynamic_bytes is None


@pytest.mark.parametrize(
    "between",
    [
        "  if (n > 3) config.blockDim = n;\n",
        "  config.blockDim.x = 256;\n",
        "  config.blockDim = n;\n",
        "  prepare(&config);\n",
        "  auto& alias = config;\n  prepare(alias);\n",
        "  auto* alias = &config;\n",
        "  prepare(config);\n",
    ],
)
def test_a_configuration_that_may_have_changed_is_not_known(between: str) -> None:
    sites = kernel_facts(text_of(CONFIG + between + LAUNCH)).kernel.launches
    assert None in {site.block for site in sites}


def test_a_condition_makes_two_launches() -> None:
    facts = kernel_facts(text_of(f"{CONFIG}  if (n) attributes[0].val.clusterDim.x = 2;\n{LAUNCH}"))
    assert {site.cluster for site in facts.kernel.launches} == {(2, 1, 1), (4, 1, 1)}
    facts = kernel_facts(text_of(f"{CONFIG}  if (n) attributes[0].val.clusterDim.x = n;\n{LAUNCH}"))
    assert {site.cluster for site in facts.kernel.launches} == {None, (4, 1, 1)}


JUDGED = ("SMEM507",)


def test_an_extended_launch_whose_grid_its_clusters_do_not_divide() -> None:
    host = f"""\
{CONFIG}
  cudaLaunchKernelEx(&config, k, out);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM507 a grid of 10 × 2 × 1 blocks is not divisible by clusters of 4 × 1 × 1
"""
    expect(text_of(host), among=JUDGED)


@pytest.mark.parametrize(
    ("dims", "host"),
    [
        (
            "__cluster_dims__(2) ",
            """
  k<<<7, 128>>>(out);
//^^^^^^^^^^^^^^^^^^ SMEM507 a grid of 7 × 1 × 1 blocks is not divisible by clusters of 2 × 1 × 1
""",
        ),
        (
            "__cluster_dims__(2, 2, 1) ",
            """
  k<<<dim3(8, 3), 128>>>(out);
//^^^^^^^^^^^^^^^^^^^^^^^^^^^ SMEM507 a grid of 8 × 3 × 1 blocks is not divisible by clusters of 2 × 2 × 1
""",
        ),
        (
            "__cluster_dims__(32) ",
            """
  k<<<64, 128>>>(out);
//^^^^^^^^^^^^^^^^^^^ SMEM507 clusters of 32 blocks: no device takes more than 16
""",
        ),
    ],
)
def test_a_grid_that_does_not_fit_its_clusters(dims: str, host: str) -> None:
    expect(text_of(host, dims), among=JUDGED)


@pytest.mark.parametrize(
    ("dims", "host"),
    [
        ("", CONFIG.replace("dim3(10, 2)", "12") + LAUNCH),
        ("", CONFIG.replace("dim3(10, 2)", "n") + LAUNCH),
        ("__cluster_dims__(2) ", "  k<<<8, 128>>>(out);\n"),
        ("__cluster_dims__(2) ", "  k<<<n, 128>>>(out);\n"),
    ],
)
def test_a_grid_that_its_clusters_divide_or_may_divide(dims: str, host: str) -> None:
    expect(text_of(host, dims), among=JUDGED)


LARGE_CLUSTERS = """
  k<<<32, 128>>>(out);
//^^^^^^^^^^^^^^^^^^^ SMEM507
"""
ALLOWED = """
  cudaFuncSetAttribute(k, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  k<<<32, 128>>>(out);
"""


@pytest.mark.parametrize(("linkage", "severity"), [("static ", Severity.ERROR), ("", Severity.HINT)])
def test_clusters_that_not_every_device_takes(linkage: str, severity: Severity) -> None:
    report = expect(text_of(LARGE_CLUSTERS, "__cluster_dims__(16) ", linkage), among=JUDGED)
    assert [each.severity for each in report.findings if each.code == "SMEM507"] == [severity]


@pytest.mark.parametrize("linkage", ["static ", ""])
def test_clusters_that_the_kernel_is_allowed(linkage: str) -> None:
    expect(text_of(ALLOWED, "__cluster_dims__(16) ", linkage), among=JUDGED)


def test_a_comment_in_front_of_a_launch_moves_it() -> None:
    """Whatever was found in the same words, where they stood closer."""
    for between in ("", "\n", "  // ten by two blocks\n"):
        text = text_of(CONFIG + between + LAUNCH)
        (site,) = kernel_facts(text).kernel.launches
        assert text[site.span.start : site.span.end] == LAUNCH.strip()[:-1]
