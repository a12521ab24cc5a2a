"""Config files: which one, what it says, what is wrong with it."""

from __future__ import annotations

from pathlib import Path

import pytest

from smem_lsp.config import (
    Config,
    ConfigError,
    config_from_table,
    discover,
    find_config,
    load_config,
    matches,
)


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    return file


def problem(tmp_path: Path, text: str, name: str = "smem.toml") -> str:
    with pytest.raises(ConfigError) as error:
        load_config(write(tmp_path / name, text))
    message = str(error.value)
    assert "\n" not in message
    return message.replace(str(tmp_path) + "/", "")


def test_every_key(tmp_path: Path) -> None:
    text = """
arch = ["sm_90", "sm_80"]
threads = 256
registers = 40
include-dirs = ["include", "/opt/x"]
defines = { BM = 64, NAME = "x", FLAG = true, OFF = false }
compile-commands = "build"
stubs = ["lib/device.cuh"]
select = ["SMEM3"]
ignore = ["bank-conflict"]
exclude = ["third_party"]
nvcc = "tools/nvcc"

[severity]
SMEM301 = "info"

[per-file-ignores]
"test/**" = ["SMEM101"]
"""
    loaded = load_config(write(tmp_path / "smem.toml", text))
    assert loaded.config == Config(
        arch=("sm_90", "sm_80"),
        arch_configured=True,
        threads=256,
        registers=40,
        include_dirs=(str(tmp_path / "include"), "/opt/x"),
        defines=("BM=64", "NAME=x", "FLAG"),
        compile_commands=str(tmp_path / "build"),
        nvcc=str(tmp_path / "tools/nvcc"),
        stubs=(str(tmp_path / "lib/device.cuh"),),
        select=("SMEM3",),
        ignore=("bank-conflict",),
        severity={"SMEM301": "info"},
        per_file_ignores={"test/**": ("SMEM101",)},
        exclude=("third_party",),
    )
    assert loaded.origins["threads"] == f"{tmp_path / 'smem.toml'}:3"
    assert loaded.origins["severity"] == f"{tmp_path / 'smem.toml'}:14"


def test_arch_may_be_a_string(tmp_path: Path) -> None:
    config = load_config(write(tmp_path / "smem.toml", 'arch = "sm_90, sm_80"\n')).config
    assert config.arch == ("sm_90", "sm_80")


def test_defaults_are_not_configured(tmp_path: Path) -> None:
    config = load_config(write(tmp_path / "smem.toml", "threads = 64\n")).config
    assert config.arch == ("sm_80", "sm_90", "sm_120")
    assert not config.arch_configured


def test_bare_program_name_is_looked_up_on_path(tmp_path: Path) -> None:
    assert load_config(write(tmp_path / "smem.toml", 'nvcc = "nvcc-13"\n')).config.nvcc == "nvcc-13"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("include_dirs = []", 'smem.toml:1: unknown key "include_dirs", did you mean "include-dirs"?'),
        ("\nslect = []", 'smem.toml:2: unknown key "slect", did you mean "select"?'),
        ("threads = true", 'smem.toml:1: "threads" must be a whole number, not a boolean'),
        ('threads = "many"', 'smem.toml:1: "threads" is "many": use 256, 32x8 or 16x16x2'),
        ('threads = "8x"', 'smem.toml:1: "threads" is "8x": use 256, 32x8 or 16x16x2'),
        ('threads = "64x64"', 'smem.toml:1: "threads" must be a block of 1 to 1024 threads, not 64x64'),
        ('threads = "1x1x65"', 'smem.toml:1: "threads" must be a block of 1 to 1024 threads, not 1x1x65'),
        ("threads = 2048", 'smem.toml:1: "threads" must be between 1 and 1024, not 2048'),
        ("registers = 0", 'smem.toml:1: "registers" must be between 1 and 255, not 0'),
        ("arch = 90", 'smem.toml:1: "arch" must be a string or a list of strings, not a whole number'),
        ("arch = []", 'smem.toml:1: "arch" must name at least one target'),
        ('select = "SMEM3"', 'smem.toml:1: "select" must be a list of strings, not a string'),
        ("ignore = [3]", 'smem.toml:1: "ignore" must be a list of strings, but holds a whole number'),
        (
            'stubs = ["~nobody-here/x.cuh"]',
            'smem.toml:1: "stubs" is "~nobody-here/x.cuh": there is no such home folder',
        ),
        (
            'include-dirs = ["~nobody-here/x"]',
            'smem.toml:1: "include-dirs" is "~nobody-here/x": there is no such home folder',
        ),
        ("nvcc = []", 'smem.toml:1: "nvcc" must be a string, not a list'),
        (
            'defines = ["1X"]',
            'smem.toml:1: "defines" is wrong: "1X" is not a definition: use NAME or NAME=VALUE',
        ),
        (
            '[severity]\nSMEM301 = "warn"',
            'smem.toml:2: "severity.SMEM301" is "warn": use error, warning, info or hint',
        ),
        (
            '[per-file-ignores]\n"a/*" = "SMEM1"',
            'smem.toml:2: "per-file-ignores.a/*" must be a list of strings, not a string',
        ),
    ],
)
def test_what_is_wrong_is_one_line(tmp_path: Path, text: str, message: str) -> None:
    assert problem(tmp_path, text + "\n") == message


def test_broken_toml_names_the_line(tmp_path: Path) -> None:
    message = problem(tmp_path, "threads = = 3\n")
    assert message.startswith("smem.toml: is not valid TOML: ")
    assert "line 1" in message


def test_not_text(tmp_path: Path) -> None:
    (tmp_path / "smem.toml").write_bytes(b"threads = 3 # \xff\n")
    with pytest.raises(ConfigError, match="is not UTF-8 text"):
        load_config(tmp_path / "smem.toml")


def test_missing(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot be read: No such file"):
        load_config(tmp_path / "none.toml")


def test_pyproject_table_and_line(tmp_path: Path) -> None:
    text = '[project]\nname = "x"\nthreads = 1\n\n[tool.smem]\nthreads = 99\n'
    loaded = load_config(write(tmp_path / "pyproject.toml", text))
    assert loaded.config.threads == 99
    assert loaded.origins == {"threads": f"{tmp_path / 'pyproject.toml'}:6"}


def test_nearest_file_wins(tmp_path: Path) -> None:
    write(tmp_path / "smem.toml", "threads = 1\n")
    write(tmp_path / "a/pyproject.toml", "[tool.smem]\nthreads = 2\n")
    write(tmp_path / "a/b/pyproject.toml", '[project]\nname = "other"\n')
    kernel = write(tmp_path / "a/b/k.cu", "")
    assert discover(kernel).config.threads == 2
    assert discover(tmp_path / "k.cu").config.threads == 1


def test_own_file_wins_in_one_folder(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.smem]\nthreads = 2\n")
    write(tmp_path / "smem.toml", "threads = 1\n")
    assert find_config(tmp_path) == tmp_path / "smem.toml"


def test_broken_pyproject_of_others_is_not_ours(tmp_path: Path) -> None:
    write(tmp_path / "smem.toml", "threads = 1\n")
    write(tmp_path / "a/pyproject.toml", "[project\n")
    assert discover(tmp_path / "a" / "k.cu").config.threads == 1


def test_broken_pyproject_that_means_us(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "[tool.smem]\nthreads = \n")
    with pytest.raises(ConfigError, match="not valid TOML"):
        discover(tmp_path / "k.cu")


def test_per_file_ignores_join_ignore(tmp_path: Path) -> None:
    text = (
        'ignore = ["SMEM101"]\n[per-file-ignores]\n"test/**" = ["SMEM201", "SMEM101"]\n"*.cuh" = ["SMEM3"]\n'
    )
    loaded = load_config(write(tmp_path / "smem.toml", text))
    assert loaded.for_file(str(tmp_path / "test/deep/k.cu")).ignore == ("SMEM101", "SMEM201")
    assert loaded.for_file(str(tmp_path / "k.cuh")).ignore == ("SMEM101", "SMEM3")
    assert loaded.for_file(str(tmp_path / "k.cu")).ignore == ("SMEM101",)


@pytest.mark.parametrize(
    ("pattern", "path", "expected"),
    [
        ("build", "build/x.cu", True),
        ("build", "src/build/x.cu", True),
        ("build", "builder/x.cu", False),
        ("*_test.cu", "src/a_test.cu", True),
        ("src/*.cu", "src/a.cu", True),
        ("src/*.cu", "src/deep/a.cu", False),
        ("src/**/*.cu", "src/a.cu", True),
        ("src/**/*.cu", "src/x/y/a.cu", True),
        ("src/", "src/a.cu", True),
        ("./src/x", "src/x/a.cu", True),
        ("a[0-9].cu", "a7.cu", True),
        ("a[!0-9].cu", "a7.cu", False),
        ("a[z-a].cu", "a7.cu", False),
        ("a(b.cu", "a(b.cu", True),
    ],
)
def test_patterns(tmp_path: Path, pattern: str, path: str, expected: bool) -> None:
    assert matches(pattern, str(tmp_path / path), tmp_path) is expected


def test_table_from_an_editor(tmp_path: Path) -> None:
    config = config_from_table({"threads": 128, "severity": {"SMEM301": "hint"}}, tmp_path)
    assert (config.threads, config.severity) == (128, {"SMEM301": "hint"})
