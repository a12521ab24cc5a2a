"""The ways into other people's projects: the hooks of pre-commit and GitHub's action, run as these would run them."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SCRIPTS = Path(sys.executable).parent
KERNEL = "__global__ void k(float* o) {\n  __shared__ float s[4];\n  o[0] = 1;\n}\n"

git = pytest.mark.skipif(shutil.which("git") is None, reason="no git to commit with")


def run(folder: Path, *command: str, env: Mapping[str, str] | None = None) -> tuple[int, str]:
    """The exit code, and what was printed."""
    done = subprocess.run(
        command,
        cwd=folder,
        env={**os.environ, "PATH": f"{SCRIPTS}{os.pathsep}{os.environ['PATH']}", **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        encoding="utf-8",
        check=False,
        timeout=300,
    )
    return done.returncode, done.stdout


def hooks() -> list[dict[str, Any]]:
    return list(yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8")))


@pytest.mark.slow(seconds=3)
def test_pre_commit_takes_the_manifest() -> None:
    command = (sys.executable, "-m", "pre_commit", "validate-manifest", ".pre-commit-hooks.yaml")
    assert run(ROOT, *command) == (0, "")


@git
@pytest.mark.slow(seconds=5)
def test_pre_commit_runs_the_hooks(tmp_path: Path) -> None:
    """As a local repository: a hook of language python would install us from PyPI, with all we need."""
    for name in ("a.cu", "gen/b.cu", "notes.txt", "kernel.cpp"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(KERNEL)
    (tmp_path / "smem.toml").write_text('exclude = ["gen"]\n')
    local = [{**hook, "language": "system"} for hook in hooks()]
    config = {"repos": [{"repo": "local", "hooks": local}]}
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(config))
    for command in (("init", "-q"), ("add", ".")):
        assert run(tmp_path, "git", *command)[0] == 0
    env = {"PRE_COMMIT_HOME": str(tmp_path / ".git" / "pre-commit")}

    def hook(name: str) -> tuple[int, str]:
        return run(tmp_path, sys.executable, "-m", "pre_commit", "run", name, env=env)

    code, out = hook("smem-lsp")
    assert (code, out.count("SMEM101")) == (1, 1)
    assert " --> a.cu:2:20" in out
    code, out = hook("smem-lsp-fix")
    assert code == 1 and "files were modified by this hook" in out
    assert "__shared__" not in (tmp_path / "a.cu").read_text()
    assert (tmp_path / "gen/b.cu").read_text() == KERNEL
    assert run(tmp_path, "git", "add", ".")[0] == 0
    assert hook("smem-lsp")[0] == 0


def recipes(kind: str) -> list[dict[str, Any]]:
    """Those of the page about CI, of the readers of ``kind``."""
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    found = re.findall(rf"^```yaml {kind}\n(.*?)^```$", page, re.M | re.S)
    return [dict(yaml.safe_load(each)) for each in found]


@git
@pytest.mark.slow(seconds=15)
def test_pre_commit_as_the_docs_say(tmp_path: Path) -> None:
    """By the hook that is installed, and by the hook that pre-commit installs, without what it needs from PyPI."""
    (recipe,) = recipes("pre-commit")
    (hook,) = recipe["repos"][0]["hooks"]
    (ours,) = (each for each in hooks() if each["id"] == hook["id"])
    assert {key: hook[key] for key in ("entry", "files", "require_serial")} == {
        key: ours[key] for key in ("entry", "files", "require_serial")
    }
    (tmp_path / "a.cu").write_text(KERNEL)
    (tmp_path / ".pre-commit-config.yaml").write_text(yaml.safe_dump(recipe))
    (tmp_path / ".gitignore").write_text(".smem-lsp\n")
    env = {
        "PRE_COMMIT_HOME": str(tmp_path / ".git" / "pre-commit"),
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say yes
    }
    for command in (("init", "-q"), ("add", "."), ("clone", "-q", str(ROOT), ".smem-lsp")):
        assert run(tmp_path, "git", *command)[0] == 0
    code, out = run(tmp_path, "pre-commit", "run", "--all-files", env={**env, "PYTHONPATH": ""})
    assert (code, out.count("SMEM101")) == (1, 1), out
    page = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
    (typed,) = re.findall(r"^pre-commit try-repo .*$", page, re.M)
    code, out = run(tmp_path, *typed.split(), env=env)
    assert (code, out.count("SMEM101")) == (1, 1), out
    assert re.search(r"repo: \.smem-lsp\n    rev: [0-9a-f]{40}\n    hooks:\n    -   id: smem-lsp\n", out)


@pytest.mark.slow(seconds=3)
@pytest.mark.parametrize("kind", ["github-workflows", "gitlab-ci"])
def test_recipes_find_what_they_run(kind: str, tmp_path: Path) -> None:
    """The submodule is checked out first; the action, and what is installed, are there; our commands run."""
    (tmp_path / ".smem-lsp").symlink_to(ROOT)
    (tmp_path / "a.cu").write_text(KERNEL)
    commands: list[str] = []
    for recipe in recipes(kind):
        for job in recipe["jobs"].values() if kind == "github-workflows" else recipe.values():
            if kind == "gitlab-ci":
                assert job["variables"]["GIT_SUBMODULE_STRATEGY"] == "normal"
                commands += job["script"]
                continue
            first, *steps = job["steps"]
            assert first["uses"].startswith("actions/checkout@") and first["with"]["submodules"] is True
            for each in steps:
                if each.get("uses", "").startswith("./"):
                    assert (tmp_path / each["uses"] / "action.yml").is_file()
                    assert each["with"].keys() <= action()["inputs"].keys()
            commands += [each["run"] for each in steps if "run" in each]
    for command in commands:
        if "install" in command:
            assert (tmp_path / command.split()[-1] / "pyproject.toml").is_file()
        else:
            code, out = run(tmp_path, "bash", "-ec", command)
            assert code == (0 if "--exit-zero" in command else 1), out
    assert len(commands) == 2


def action() -> dict[str, Any]:
    return dict(yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8")))


def step(name: str, **inputs: str) -> tuple[str, dict[str, str]]:
    """The script of a step, and its environment with the expressions of GitHub filled in."""
    (found,) = [each for each in action()["runs"]["steps"] if each["name"] == name]
    values = {f"inputs.{key}": str(each["default"]) for key, each in action()["inputs"].items()}
    values |= {f"inputs.{key.replace('_', '-')}": value for key, value in inputs.items()}
    values["github.action_path"] = str(ROOT)
    env = {key: values[text.strip("${} ")] for key, text in found["env"].items()}
    assert found["shell"] == "bash"
    assert "${{" not in found["run"]  # an input in a script would be run
    return found["run"], env


def test_every_input_of_the_action_is_said_and_used() -> None:
    text = (ROOT / "action.yml").read_text(encoding="utf-8")
    for name, each in action()["inputs"].items():
        assert each["description"] and "default" in each
        assert f"${{{{ inputs.{name} }}}}" in text


def check(folder: Path, **inputs: str) -> tuple[int, str]:
    script, env = step("Check", **inputs)
    command = ("bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script)  # as the runner does
    return run(folder, *command, env={**env, "SMEM_BIN": str(SCRIPTS)})


@pytest.mark.slow(seconds=5)
def test_the_action_checks(tmp_path: Path) -> None:
    (tmp_path / "a b.cu").write_text(KERNEL)
    (tmp_path / "c.cu").write_text(KERNEL)
    code, out = check(tmp_path)
    assert (code, out.count("::warning title=SMEM101,file=")) == (1, 2)
    code, out = check(tmp_path, paths="a b.cu\n", args="--fail-on error\n  --quiet", format="concise")
    assert (code, out) == (0, "a b.cu:2:20: warning SMEM101 `s` is declared and never accessed\n")
    code, out = check(tmp_path, output_file="x y.sarif", format="sarif")
    assert code == 1 and (tmp_path / "x y.sarif").read_text().startswith("{")


@pytest.mark.slow(seconds=10)
@pytest.mark.parametrize("text", ["$(touch pwned)", "`touch pwned`", '"; touch pwned; "'])
def test_no_input_of_the_action_is_run(tmp_path: Path, text: str) -> None:
    (tmp_path / "a.cu").write_text("")
    for names in (("paths", "args"), ("format",), ("output_file",)):
        check(tmp_path, **dict.fromkeys(names, text))
        assert not (tmp_path / "pwned").exists()


@pytest.mark.slow(seconds=20)
def test_the_action_installs_itself(tmp_path: Path) -> None:
    """Without what it needs from PyPI, which stands in for that of the runner."""
    script, env = step("Install smem-lsp")
    env |= {
        "RUNNER_TEMP": str(tmp_path),
        "GITHUB_ENV": str(tmp_path / "env"),
        "PYTHONPATH": sysconfig.get_path("purelib"),
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip's way to say yes
        "PIP_FORCE_REINSTALL": "1",  # the one in PYTHONPATH is none of the new environment
    }
    code, out = run(tmp_path, "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script, env=env)
    assert code == 0, out
    bin = (tmp_path / "env").read_text().strip().removeprefix("SMEM_BIN=")
    assert run(tmp_path, f"{bin}/smem-lsp", "--version", env={"PYTHONPATH": ""})[1].startswith("smem-lsp ")
