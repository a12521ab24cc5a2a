"""Constructs that are known to be read wrongly: the test leaves them out, and says so. The list may only shrink."""

OPEN: dict[str, str] = {
    "barrier: conversion to a reference": "int& r = q; runs no operator int&() of q",
}
"""The name of each and what is wrong."""
