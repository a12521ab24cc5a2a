"""Writes compile_commands.json, in the root of a Bazel workspace, of the CUDA actions that `bazel aquery` tells."""

import json
import sys
from pathlib import Path

commands = [
    {
        "directory": str(Path.cwd()),
        "file": next(word for word in action["arguments"] if word.endswith((".cu", ".cu.cc", ".cu.cpp"))),
        "arguments": action["arguments"],
    }
    for action in json.load(sys.stdin).get("actions", [])
]
Path("compile_commands.json").write_text(json.dumps(commands, indent=1) + "\n", encoding="utf-8")
