"""What a release needs besides the code. All of it, built and installed: tests/project/release_dry_run.py."""

from __future__ import annotations

import re
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


def test_no_sentence_installs_what_is_not_published() -> None:
    """No name of ours is on an index yet: a command installs a folder, words name the extra."""
    promise = re.compile(
        r"(?:pipx?|uv pip|uv tool|pip3) install [^`\n]*(?<![./\w-])smem-lsp|uvx smem-lsp|rev: v\d|smem-lsp@v"
    )
    texts = [*(ROOT / "smem_lsp").rglob("*.py"), *(ROOT / "docs").glob("*.md"), *ROOT.glob("*.md")]
    texts += [*(ROOT / "vscode-extension" / "src").glob("*.ts"), ROOT / "vscode-extension" / "README.md"]
    found = [
        f"{path.relative_to(ROOT)}: {match[0]}"
        for path in texts
        for match in promise.finditer(path.read_text(encoding="utf-8"))
    ]
    assert found == []
    for each in ("pip install 'smem-lsp[dask]'", "pipx install smem-lsp", "uvx smem-lsp", "    rev: v0.1.0"):
        assert promise.search(each)
    for each in (
        "pipx install ./.smem-lsp",
        "pip install '.[nvcc]' && .venv/bin/smem-lsp",
        "uvx --from . smem-lsp",
    ):
        assert not promise.search(each)
