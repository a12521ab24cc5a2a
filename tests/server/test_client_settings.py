"""What a client may send as its settings."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp.config import Config
from smem_lsp.environment.compiler import OFF
from smem_lsp.server.client_settings import ClientSettings, apply_client_settings, read_client_settings
from smem_lsp.server.config_files import ConfigFiles
from smem_lsp.server.languages import holds_cuda
from smem_lsp.server.uris import name_of, path_of, uri_of


def test_names_of_editors_and_of_the_config_file() -> None:
    read = read_client_settings({"includeDirs": ["a"], "compile-commands": "b", "threads": 128})
    assert read.table == {"include-dirs": ["a"], "compile-commands": "b", "threads": 128}


def test_nothing_set_is_nothing_said() -> None:
    read = read_client_settings(
        {"arch": [], "threads": None, "severity": {}, "path": "/x", "trace": {"server": "off"}}
    )
    assert read == ClientSettings()


@pytest.mark.parametrize(
    "section",
    [{"codeLens": {"enable": False}}, {"codeLens.enable": False}, {"smem": {"codeLens": {"enable": False}}}],
)
def test_switches_nested_and_dotted(section: object) -> None:
    assert read_client_settings(section).code_lens is False


@pytest.mark.parametrize("section", [None, 5, [], "x", {"codeLens": 5}, {"codeLens": {"enable": "no"}}])
def test_settings_of_a_wrong_type_are_the_defaults(section: object) -> None:
    assert read_client_settings(section) == ClientSettings()


def test_a_wrong_value_is_left_out_and_named() -> None:
    config, problems = apply_client_settings(Config(), {"threads": "many", "registers": 40}, Path("/w"))
    assert (config.threads, config.registers) == (None, 40)
    assert problems == ['smem settings: "threads" is "many": use 256, 32x8 or 16x16x2']


def test_severities_join_and_the_client_wins() -> None:
    base = Config(severity={"SMEM101": "info", "SMEM102": "hint"})
    config, _ = apply_client_settings(base, {"severity": {"SMEM101": "error"}}, Path("/w"))
    assert config.severity == {"SMEM101": "error", "SMEM102": "hint"}


def test_the_nearest_file_under_the_client(tmp_path: Path) -> None:
    (tmp_path / "smem.toml").write_text('threads = 64\narch = "sm_80"\nexclude = ["vendor"]\n')
    (tmp_path / "a.cu").touch()
    files = ConfigFiles()
    found = files.resolve(str(tmp_path / "a.cu"), tmp_path, ClientSettings({"threads": 128}))
    assert (found.config.threads, found.config.arch, found.excluded, found.problems) == (
        128,
        ("sm_80",),
        False,
        (),
    )
    assert files.resolve(str(tmp_path / "vendor" / "b.cu"), tmp_path, ClientSettings()).excluded


def test_a_wrong_file_is_one_problem_and_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "smem.toml").write_text("thread = 64\n")
    found = ConfigFiles().resolve(str(tmp_path / "a.cu"), None, ClientSettings())
    assert found.config == Config(nvcc=OFF)  # nobody says that the workspace is trusted
    (problem,) = found.problems
    assert problem.startswith(f"{tmp_path / 'smem.toml'}:1:") and 'did you mean "threads"' in problem


def test_a_wrong_file_of_stubs_is_one_problem_and_no_stubs(tmp_path: Path) -> None:
    (tmp_path / "smem.toml").write_text('stubs = ["lib.cuh"]\nthreads = 64\n')
    (tmp_path / "lib.cuh").write_text("\n[[smem::purr]] int f(int n);\n")
    found = ConfigFiles().resolve(str(tmp_path / "a.cu"), None, ClientSettings())
    assert (found.config.threads, found.config.stubs) == (64, ())
    (problem,) = found.problems
    assert problem.startswith(f"{tmp_path / 'lib.cuh'}:2: f has the unknown attribute")
    (tmp_path / "lib.cuh").write_text("[[smem::pure]] int f(int n);\n")
    found = ConfigFiles().resolve(str(tmp_path / "a.cu"), None, ClientSettings())
    assert (found.config.stubs, found.problems) == ((str(tmp_path / "lib.cuh"),), ())
    client = ClientSettings({"stubs": ["more.cuh"]})
    found = ConfigFiles().resolve(str(tmp_path / "a.cu"), tmp_path, client)
    assert "more.cuh: cannot be read: No such file" in found.problems[0]


def test_unknown_targets_and_rules_are_named() -> None:
    settings = ClientSettings(
        {"arch": ["sm_90", "sm_1"], "select": ["SMEM3", "SMEM999"], "ignore": ["missing-barrier"]}
    )
    found = ConfigFiles().resolve(None, None, settings)
    assert (found.config.arch, found.config.select, found.config.ignore) == (
        ("sm_90",),
        ("SMEM3",),
        ("SMEM201",),
    )
    assert len(found.problems) == 2


def test_a_misspelt_setting_is_named_and_a_key_of_the_client_is_not() -> None:
    settings = read_client_settings(
        {"slect": ["SMEM3"], "includeDir": ["x"], "path": "y", "trace": {"server": "off"}}
    )
    found = ConfigFiles().resolve(None, None, settings)
    assert found.config == Config(nvcc=OFF)  # nobody has said that the workspace is trusted
    assert found.problems == (
        'smem settings: unknown key "slect", did you mean "select"?',
        'smem settings: unknown key "include-dir", did you mean "include-dirs"?',
    )


def test_rules_of_the_client_have_one_name_in_any_case() -> None:
    table = {"select": ["smem3", "Unused-Buffer"], "severity": {"smem301": "info", "leaks": "info"}}
    found = ConfigFiles().resolve(None, None, ClientSettings(table))
    assert (found.config.select, found.config.severity) == (("SMEM3", "SMEM101"), {"SMEM301": "info"})
    assert found.problems == ("smem settings: severity: unknown rule `leaks`; `smem-lsp rules` lists them",)


@pytest.mark.parametrize(
    ("uri", "language", "text", "expected"),
    [
        ("file:///a.cu", "plaintext", "", True),
        ("file:///a.CUH", "cpp", "", True),
        ("file:///a.h", "cpp", "int x;", False),
        ("file:///a.h", "cpp", "__device__ int x;", True),
        ("file:///a.cpp", "cpp", "__global__ void k();", False),
        ("untitled:Untitled-1", "cuda-cpp", "", True),
        ("untitled:Untitled-1", "cuda", "", True),
        ("untitled:Untitled-1", "cuda_cpp", "", True),
        ("untitled:Untitled-1", "cpp", "", False),
    ],
)
def test_which_documents_hold_cuda(uri: str, language: str, text: str, expected: bool) -> None:
    assert holds_cuda(uri, language, text) is expected


@pytest.mark.skipif("os.name == 'nt'")
@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a/b%20c%C3%A4.cu", "/a/b cä.cu"),
        ("file:///a/100%25%23.cu", "/a/100%#.cu"),
        ("file:///a/x#1?.cu", "/a/x#1?.cu"),
        ("file://host/share/a.cu", "//host/share/a.cu"),
        ("untitled:Untitled-1", None),
        ("file://[bad", None),
        ("file:///a%00b", None),
    ],
)
def test_uris(uri: str, path: str | None) -> None:
    assert path_of(uri) == path
    assert path is None or path_of(uri_of(path)) == path
    assert name_of(uri)
