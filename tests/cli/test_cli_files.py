"""Which files ``check`` takes: ``--exclude``, ``.gitignore``, and what is no CUDA at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

Command = Callable[..., tuple[int, str, str]]

CONCISE = ("--format", "concise")


def write(*names: str, text: str = "BUG\n") -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(text)


def checked(out: str) -> list[str]:
    return [line.partition(":")[0] for line in out.splitlines()]


def test_exclude_adds_to_the_settings(smem: Command) -> None:
    write("a.cu", "gen/b.cu", "old/c.cu", "src/x_test.cu", "src/d.cu")
    write("smem.toml", text='exclude = ["gen"]\n')
    assert checked(smem("check", *CONCISE)[1]) == ["a.cu", "old/c.cu", "src/d.cu", "src/x_test.cu"]
    _, out, _ = smem("check", *CONCISE, "--exclude", "old", "--exclude", "src/*_test.cu")
    assert checked(out) == ["a.cu", "src/d.cu"]
    assert checked(smem("check", *CONCISE, "--isolated", "--exclude", "[ao]*")[1]) == [
        *("gen/b.cu", "src/d.cu", "src/x_test.cu")
    ]


def test_a_named_file_is_left_out_only_with_force(smem: Command) -> None:
    write("a.cu", "gen/b.cu")
    named = ("check", "a.cu", "gen/b.cu", *CONCISE, "--exclude", "gen")
    assert checked(smem(*named)[1]) == ["a.cu", "gen/b.cu"]
    assert checked(smem(*named, "--force-exclude")[1]) == ["a.cu"]
    code, out, _ = smem("check", "gen/b.cu", "--exclude", "gen", "--force-exclude")
    assert (code, out) == (0, "No findings in 0 files.\n")


@pytest.mark.parametrize(
    ("pattern", "problem"),
    [("/", 'holds the pattern "/", which names nothing'), ("", "holds an empty string")],
)
def test_exclude_that_names_nothing(smem: Command, pattern: str, problem: str) -> None:
    assert smem("check", "--exclude", pattern) == (2, "", f"smem-lsp: --exclude {problem}\n")


def test_gitignore(smem: Command) -> None:
    write("a.cu", "build/b.cu", "src/c.cu", "src/gen.cu", "src/kept.gen.cu")
    write(".gitignore", text="build/\n*.gen.cu\n")
    write("src/.gitignore", text="/gen.cu\n!kept.gen.cu\n")
    assert checked(smem("check", *CONCISE)[1]) == ["a.cu", "src/c.cu", "src/kept.gen.cu"]
    everything = ["a.cu", "build/b.cu", "src/c.cu", "src/gen.cu", "src/kept.gen.cu"]
    assert checked(smem("check", *CONCISE, "--no-gitignore")[1]) == everything
    assert checked(smem("check", *CONCISE, "--no-ignore")[1]) == everything


def test_what_is_named_is_checked_whatever_git_ignores(smem: Command) -> None:
    write("build/b.cu", ".git/config", "k.cu")
    write(".gitignore", text="build/\n")
    assert checked(smem("check", "build/b.cu", *CONCISE)[1]) == ["build/b.cu"]
    assert checked(smem("check", "build", *CONCISE)[1]) == ["build/b.cu"]


def test_a_folder_in_a_repository_follows_the_files_above(smem: Command) -> None:
    write("src/a.cu", "src/b.gen.cu", ".git/config")
    write(".gitignore", text="*.gen.cu\n")
    assert checked(smem("check", "src", *CONCISE)[1]) == ["src/a.cu"]


@pytest.mark.real_engine
def test_kernels_of_ignored_headers_are_not_told(smem: Command) -> None:
    kernel = "__global__ void k(float* o) {\n  __shared__ float s[4];\n  o[0] = 1;\n}\n"
    write("third/k.cuh", text="#pragma once\n" + kernel)
    write("a.cu", text='#include "third/k.cuh"\n')
    write(".git/config")
    assert checked(smem("check", *CONCISE)[1]) == ["third/k.cuh"]
    write(".gitignore", text="third\n")
    assert smem("check", *CONCISE) == (0, "", "")
    assert checked(smem("check", *CONCISE, "--no-gitignore")[1]) == ["third/k.cuh"]


def test_a_file_that_is_no_cuda(smem: Command) -> None:
    write("notes.txt", "k.cpp", "Makefile")
    write("kernel.txt", text="__global__ void k() { BUG }\n")
    code, out, err = smem("check", "notes.txt", "k.cpp", "Makefile", "kernel.txt", *CONCISE)
    assert (code, checked(out)) == (2, ["k.cpp", "kernel.txt"])
    problem = "no CUDA source: neither a suffix like .cu nor any __global__, __device__ or __shared__ in it"
    typed = "; to check it all the same: `smem-lsp check - --stdin-filename"
    assert err.splitlines() == [
        f"smem-lsp: notes.txt: {problem}{typed} notes.cu < notes.txt`",
        f"smem-lsp: Makefile: {problem}{typed} Makefile.cu < Makefile`",
    ]


def test_of_a_file_that_is_not_there_nothing_else_is_said(smem: Command) -> None:
    for flags in ((), ("--diff",), ("--fix",)):
        assert smem("check", "gone.cu", *flags) == (2, "", "smem-lsp: gone.cu: no such file or folder\n")


def test_links_that_lead_nowhere(smem: Command) -> None:
    write("a.cu")
    Path("gone.cu").symlink_to("nowhere.cu")
    Path(".gitignore").symlink_to("nowhere")
    code, out, err = smem("check", *CONCISE)
    assert (code, checked(out), err) == (2, ["a.cu"], "smem-lsp: gone.cu: a link that leads nowhere\n")
    write("ignored", text="gone.cu\n")
    Path(".gitignore").unlink()
    Path(".gitignore").symlink_to("ignored")
    assert smem("check", *CONCISE)[2] == ""
