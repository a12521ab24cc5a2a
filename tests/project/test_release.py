"""What a release needs besides the code. All of it, built and installed: tests/project/release_dry_run.py."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from project.release_dry_run import Failed, agreed_version, without_licence

from smem_lsp.output.version import VERSION

ROOT = Path(__file__).parents[2]


def test_every_version_is_that_of_version_py() -> None:
    assert agreed_version() == VERSION


def test_a_tag_of_another_version_is_refused() -> None:
    with pytest.raises(Failed, match=r"the tag has version 9\.9\.9"):
        agreed_version("v9.9.9")


def test_what_is_not_released_cannot_be_tagged() -> None:
    if "(not released)" not in (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"):
        assert agreed_version(f"v{VERSION}") == VERSION
        return
    with pytest.raises(Failed, match="calls a version not released"):
        agreed_version(f"v{VERSION}")


def test_a_package_without_a_licence_is_found(tmp_path: Path) -> None:
    import zipfile

    vsix = tmp_path / "a.vsix"
    with zipfile.ZipFile(vsix, "w") as archive:
        for name in (
            "LICENSE.txt",
            "bundled/libs/one-1.dist-info/METADATA",
            "bundled/libs/two-1.dist-info/licenses/LICENSE",
        ):
            archive.writestr(f"extension/{name}", "")
    assert without_licence(vsix) == ["one-1.dist-info", "extension/dist/licenses.txt"]


def test_nothing_is_published_but_from_a_tag_and_after_the_tests() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text(encoding="utf-8"))
    jobs = workflow["jobs"]
    assert workflow["permissions"] == {"contents": "read"}
    assert jobs["attest"]["if"] == "github.ref_type == 'tag'" and jobs["attest"]["needs"] == "build"
    for name in ("pypi", "extension"):
        assert jobs[name]["needs"] == ["build", "attest"]  # a job that was left out lets no later one run
    assert any("release_dry_run.py" in step.get("run", "") for step in jobs["build"]["steps"])
