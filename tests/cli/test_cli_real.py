"""The command line over the real engine. Skipped until it is there."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import jsonschema
import pytest

import smem_lsp
from smem_lsp.output import json_

pytestmark = pytest.mark.real_engine

Command = Callable[..., tuple[int, str, str]]

ROOT = Path(smem_lsp.__file__).parents[1]
SCHEMA = json.loads((Path(json_.__file__).parent / "schema.json").read_text())

MERGEABLE = """\
__global__ void __launch_bounds__(256) k(const float* in, float* out) {
  __shared__ float a[4096];
  __shared__ float b[4096];
  a[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  float x = a[(threadIdx.x + 1) % 256];
  __syncthreads();
  b[threadIdx.x] = x;
  __syncthreads();
  out[threadIdx.x] = b[255 - threadIdx.x];
}
"""

RACY = """\
__global__ void k(float* out) {
  __shared__ float s[256];
  s[threadIdx.x] = out[threadIdx.x];
  out[threadIdx.x] = s[255 - threadIdx.x];
}
void run(float* out) { k<<<1, 256>>>(out); }
"""


def check_json(smem: Command, text: str, *flags: str) -> dict[str, list[dict[str, object]]]:
    Path("k.cu").write_text(text)
    _, out, err = smem("check", "k.cu", "--output-format", "json", *flags)
    assert err == ""
    whole: dict[str, list[dict[str, object]]] = json.loads(out)
    jsonschema.validate(whole, SCHEMA, jsonschema.Draft202012Validator)
    return whole


def test_bytes_and_plans(smem: Command) -> None:
    (kernel,) = check_json(smem, MERGEABLE)["kernels"]
    assert kernel["static_bytes"] == {"value": 32768, "exact": True}
    plans = kernel["plans"]
    assert isinstance(plans, list)
    best = next(p for p in plans if p["allocator"] == "best" and p["barriers_added"] == 0)
    assert best["bytes"] == 16384


def test_a_mergeable_pair_is_found_and_fixed(smem: Command) -> None:
    whole = check_json(smem, MERGEABLE, "--select", "SMEM301")
    assert [finding["code"] for finding in whole["findings"]] == ["SMEM301"]
    smem("check", "k.cu", "--select", "SMEM301", "--fix", "--unsafe-fixes")
    after = Path("k.cu").read_text()
    assert after != MERGEABLE
    (kernel,) = check_json(smem, after)["kernels"]
    assert kernel["static_bytes"] == {"value": 16384, "exact": True}


def test_race_is_an_error_or_a_warning(smem: Command) -> None:
    whole = check_json(smem, RACY)
    codes = [finding["code"] for finding in whole["findings"]]
    assert "SMEM201" in codes
    assert smem("check", "k.cu")[0] == 1


def test_layout(smem: Command) -> None:
    Path("k.cu").write_text(MERGEABLE)
    code, out, _ = smem("layout", "k.cu:k", "--arch", "sm_90")
    assert code == 0
    assert "32,768 → 16,384 B" in out
    code, out, _ = smem("layout", "k.cu", "--format", "json")
    found = json.loads(out)
    assert list(found) == ["version", "kernel", "points", "rects"]
    schema = {"$ref": "#/$defs/kernel", "$defs": SCHEMA["$defs"]}
    jsonschema.validate(found["kernel"], schema, jsonschema.Draft202012Validator)


def test_every_rule_has_a_page(smem: Command) -> None:
    for line in smem("rules")[1].splitlines():
        code, name = line.split()[:2]
        assert smem("explain", code)[0] == 0
        assert smem("explain", name)[0] == 0


@pytest.mark.slow(seconds=4)
def test_processes_print_what_one_prints(smem: Command) -> None:
    for n in range(6):
        Path(f"k{n}.cu").write_text(RACY if n % 2 else MERGEABLE)
    Path("k9.cu").write_bytes(b"\0")
    outputs = []
    for jobs in ("1", "3"):
        command = [sys.executable, "-m", "smem_lsp", "check", str(Path.cwd()), "--jobs", jobs]
        done = subprocess.run(
            [*command, "--output-format", "json"],
            capture_output=True,
            text=True,
            cwd=ROOT,
            check=False,
            timeout=300,
        )
        outputs.append((done.returncode, done.stdout, done.stderr))
    assert outputs[0] == outputs[1]
    assert outputs[0][0] == 2


def test_the_command_line_never_loads_the_server() -> None:
    Path("k.cu").write_text(RACY)
    script = (
        "import sys; from smem_lsp.cli import main; main(['check', sys.argv[1], '--quiet']);"
        "print([m for m in ('pygls', 'lsprotocol', 'smem_lsp.server') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(Path("k.cu").absolute())],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
        timeout=60,
    )
    assert done.stdout.splitlines()[-1] == "[]"


ORDERED = """\
__global__ void k(float* out) {
  __shared__ float s[64];
  s[threadIdx.x] = out[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = s[63 - threadIdx.x];
}
"""


@pytest.mark.parametrize(("text", "loaded"), [(ORDERED, "False"), (RACY, "True")], ids=["free", "racy"])
def test_what_writes_fixes_is_loaded_for_a_finding_that_has_some(text: str, loaded: str) -> None:
    Path("k.cu").write_text(text)
    script = (
        "import sys; from smem_lsp.cli import main; main(['check', sys.argv[1], '--quiet', '--no-cache']);"
        "print('smem_lsp.fixes.registry' in sys.modules)"
    )
    command = [sys.executable, "-c", script, str(Path("k.cu").absolute())]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)
    assert done.stdout.splitlines()[-1] == loaded


@pytest.mark.parametrize(
    ("ours", "told"), [("collect_seldom()", "0 True"), ("gc.set_threshold(0)", "0 False")]
)
def test_a_check_of_one_small_file_looks_for_no_garbage(ours: str, told: str) -> None:
    """Nor does it look at what is imported, unless the process is another's, which decides that itself."""
    Path("k.cu").write_text(ORDERED)
    script = (
        "import gc, sys; gc.disable(); from smem_lsp.cli import main; from smem_lsp.cli.garbage import collect_seldom;"
        f"{ours}; gc.enable(); found = []; gc.callbacks.append(lambda *each: found.append(each));"
        "main(['check', sys.argv[1], '--quiet', '--no-cache']); print(len(found), gc.get_freeze_count() > 50_000)"
    )
    command = [sys.executable, "-c", script, str(Path("k.cu").absolute())]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False, timeout=120)
    assert done.stdout.splitlines()[-1] == told


@pytest.mark.parametrize("text", ["", "\ufeff", "__global__", "__global__ void k(", "}\n", "\x0c\r\n\r"])
def test_half_typed_files_are_no_failure(smem: Command, text: str) -> None:
    Path("k.cu").write_text(text)
    assert smem("check", "k.cu")[0] in (0, 1)


def test_layout_shows_the_streams_of_a_host_function(smem: Command, tmp_path: Path) -> None:
    program = Path(__file__).parents[1] / "host" / "programs" / "async_fork_join.cu"
    (tmp_path / "streams.cu").write_bytes(program.read_bytes())
    code, out, _ = smem("layout", "streams.cu:host")
    assert code == 0 and "◆ record ready" in out
    code, out, _ = smem("layout", "streams.cu:host", "--format", "svg")
    assert code == 0 and out.startswith("<svg")
    code, out, _ = smem("layout", "streams.cu:host", "--format", "html")
    assert code == 0 and "<svg" in out
    assert smem("layout", "streams.cu:host", "--format", "json")[0] == 2
    assert smem("layout", "streams.cu:program")[0] == 2
