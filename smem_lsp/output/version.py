"""The version that outputs print. A constant, because reading the installed metadata costs 100 ms."""

TOOL = "smem-lsp"
VERSION = "0.1.0"
