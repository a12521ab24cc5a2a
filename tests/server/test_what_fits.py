"""What fits, in the light bulb at a constant: other values, what they cost, and nothing but the number changes."""

from __future__ import annotations

from server.client import Client, serving
from server.samples import PUSH, place

from .test_light_bulb import URI, applied, resolved

STAGES = """\
#define STAGES 4
constexpr int WIDTH = 1024;
constexpr int UNUSED = 8;
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float tile[STAGES][WIDTH];
  for (int i = threadIdx.x; i < STAGES * WIDTH; i += 256) tile[i / WIDTH][i % WIDTH] = in[i];
  __syncthreads();
  out[threadIdx.x] = tile[STAGES - 1][255 - threadIdx.x];
}
void f(const float* in, float* out) { k<<<1, 256>>>(in, out); }
"""


def titles(client: Client, at: tuple[int, int], **context: object) -> list[str]:
    found = client.actions(URI, at, only=["refactor.rewrite"], **context)
    return [action["title"] for action in found if action["title"].startswith("Set ")]


def test_other_values_and_what_they_cost() -> None:
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_86"], "registers": 32}}) as client:
        client.open(URI, STAGES)
        assert titles(client, (0, 10)) == [
            "Set STAGES to 2: 8,192 B shared, 5 → 6 blocks/SM (sm_86)",
            "Set STAGES to 3: 12,288 B shared, 5 → 6 blocks/SM (sm_86)",
            "Set STAGES to 5: 20,480 B shared, 5 → 4 blocks/SM (sm_86)",
            "Set STAGES to 6: 24,576 B shared, 5 → 4 blocks/SM (sm_86)",
            "Set STAGES to 8: 32,768 B shared, 5 → 3 blocks/SM (sm_86)",
        ]


def test_only_the_number_changes() -> None:
    with serving(PUSH) as client:
        client.open(URI, STAGES)
        found = client.actions(URI, (1, 16), only=["refactor.rewrite"])
        (action,) = [action for action in found if action["title"].startswith("Set WIDTH to 512: ")]
        assert applied(STAGES, resolved(client, action)["edit"]) == STAGES.replace("1024", "512")


def test_where_the_constant_is_used() -> None:
    with serving(PUSH) as client:
        client.open(URI, STAGES)
        assert titles(client, (4, 24)) == titles(client, (0, 10)) != []


def test_not_where_nobody_asks_or_nothing_changes() -> None:
    with serving(PUSH) as client:
        client.open(URI, STAGES)
        assert titles(client, (0, 10), triggerKind=2) == []  # the cursor has moved there
        assert titles(client, (2, 16)) == []
        assert titles(client, place(STAGES, "tile")) == []


TEMPLATE = """\
template <int WIDTH, int STAGES = 2>
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float tile[STAGES][WIDTH];
  for (int i = threadIdx.x; i < STAGES * WIDTH; i += 256) tile[i / WIDTH][i % WIDTH] = in[i];
  __syncthreads();
  out[threadIdx.x] = tile[STAGES - 1][255 - threadIdx.x];
}
void f(const float* in, float* out) {
  cudaFuncSetAttribute(k<1024, 4>, cudaFuncAttributeMaxDynamicSharedMemorySize, 0);
  k<1024, 4><<<1, 256>>>(in, out);
}
"""


def test_a_template_argument_at_the_launch() -> None:
    with serving(PUSH, initializationOptions={"settings": {"arch": ["sm_86"], "registers": 32}}) as client:
        client.open(URI, TEMPLATE)
        at = place(TEMPLATE, "4><<<")
        assert titles(client, at)[:2] == [
            "Set STAGES to 2: 8,192 B shared, 5 → 6 blocks/SM (sm_86)",
            "Set STAGES to 3: 12,288 B shared, 5 → 6 blocks/SM (sm_86)",
        ]
        found = client.actions(URI, at, only=["refactor.rewrite"])
        (action,) = [action for action in found if action["title"].startswith("Set STAGES to 3: ")]
        assert applied(TEMPLATE, resolved(client, action)["edit"]) == TEMPLATE.replace("1024, 4", "1024, 3")


def test_a_template_parameter_with_one_instance() -> None:
    with serving(PUSH) as client:
        client.open(URI, TEMPLATE)
        at_launch = titles(client, place(TEMPLATE, "4><<<"))
        assert titles(client, place(TEMPLATE, "STAGES = 2")) == at_launch
        assert titles(client, place(TEMPLATE, "STAGES][WIDTH]")) == at_launch != []


def test_a_template_parameter_with_several_instances_is_set_where_they_are() -> None:
    text = TEMPLATE.replace("  k<1024, 4>", "  k<512, 3><<<1, 256>>>(in, out);\n  k<1024, 4>")
    with serving(PUSH) as client:
        client.open(URI, text)
        assert titles(client, place(text, "STAGES = 2")) == []
        assert titles(client, place(text, "3><<<")) != titles(client, place(text, "4><<<")) != []


def test_values_that_do_not_compile_are_refused_with_the_reason() -> None:
    text = STAGES.replace("__global__", '#if STAGES > 6\n#error "too many"\n#endif\n__global__', 1)
    with serving(PUSH) as client:
        client.open(URI, text)
        found = client.actions(URI, (0, 10), only=["refactor.rewrite"])
        refused = {each["title"]: each["disabled"]["reason"] for each in found if "disabled" in each}
        why = "it does not compile: #error at line 5"
        assert refused == {"Set STAGES to 8": why, "Set STAGES to 16": why}
        assert all(len(each["title"]) <= 60 for each in found)
