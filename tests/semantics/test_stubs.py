"""The stub files: the front end reads what their index finds, and code and declarations name each other."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from smem_lsp.analysis.host.api import MODELS, api_of, handle_types, words_of_lifetimes
from smem_lsp.elaborate.conversions import bits_of, range_of
from smem_lsp.lowering.callees.library_names import LIBRARY
from smem_lsp.lowering.library.values import KNOWN
from smem_lsp.semantics.collect import collect, inside
from smem_lsp.semantics.cub_storage import STORAGES, classes
from smem_lsp.semantics.declarations import (
    ClassDecl,
    DeclaredNames,
    EnumDecl,
    Enumerator,
    FunctionDecl,
    Source,
)
from smem_lsp.semantics.entities import UNKNOWN
from smem_lsp.semantics.intrinsics import parameter_type, returned_by, signature
from smem_lsp.semantics.library_entities import ALIASES, LAYOUTS
from smem_lsp.semantics.type_traits import CONSTANTS, TYPES
from smem_lsp.semantics.types import Scalar, scalar_of
from smem_lsp.syntax import stubs, symbols
from smem_lsp.syntax.brackets import match_brackets
from smem_lsp.syntax.known_names import known
from smem_lsp.syntax.lexer import lex
from smem_lsp.targets.dialects import CUDA, DIALECTS, HIP
from smem_lsp.terms.bit_functions import BIT_FUNCTIONS, VALUES, BitFunction, bit_function
from smem_lsp.unit.host_models import MODELS as OF_NUMBERS

FILES = [*sorted(stubs.FOLDER.glob("*.cuh")), *sorted((stubs.FOLDER / "host").glob("*.cuh"))]
HOST = stubs.host().all
OWN = stubs.own().all


def _declared(text: str) -> list[tuple[tuple[str, ...], str]]:
    """(what stands around it, name) of all functions and classes, as the front end reads a file."""
    tokens = lex(text)
    names = symbols.Names()
    symbols.collect(tokens.kinds, tokens.texts, names)
    found = DeclaredNames()
    source = Source(tokens.kinds, tokens.texts, match_brackets(tokens.kinds), names.symbols())
    collect(source, 0, len(tokens.kinds), found)
    assert not any(level.odd for level in found.levels())
    listed: list[tuple[tuple[str, ...], str]] = []
    for path, decl in found.walk_with_paths():
        assert isinstance(decl, FunctionDecl | ClassDecl | EnumDecl | Enumerator), decl
        if isinstance(decl, Enumerator):
            continue
        listed.append((path, decl.name))
        if isinstance(decl, ClassDecl):
            methods = (each for group in inside(decl).names.values() for each in group)
            listed += [((*path, decl.name), each.name) for each in methods if isinstance(each, FunctionDecl)]
    return listed


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.relative_to(stubs.FOLDER).as_posix())
def test_the_front_end_finds_what_the_index_finds(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert sorted(_declared(text)) == sorted(
        (each.around, each.name) for each in stubs.indexed(text, "x.cuh")
    )


def test_every_function_has_a_signature() -> None:
    for each in (*OWN, *HOST):
        if each.parameters is not None:
            found = signature(each)
            assert found is not None, each.text
            names = [parameter.declarators[0].name for parameter in found.parameters]
            assert names == [name for name in each.parameter_names if name != "..."], each.text


OF_PARAMETERS = {"makes", "releases", "flags", "stream", "event", "direction", "arguments"}


def test_every_attribute_is_known_and_names_parameters() -> None:
    for each in (*OWN, *HOST):
        assert re.sub(r"smem::\w+(\([\w, ]+\))?(, )?", "", each.written) == "", each.text
        for attribute in each.attributes:
            assert attribute.name in stubs.ATTRIBUTES, each.text
            if attribute.name in ("reads", "writes", "updates", "uniform"):
                assert {*attribute.arguments} <= {*each.parameter_names, "some"}, each.text
            if attribute.name in OF_PARAMETERS:
                assert attribute.arguments[0] in {*each.parameter_names, "last"}, each.text
            if attribute.name == "collective":
                assert {*attribute.arguments} <= {*each.parameter_names}, each.text


OF_CLASSES = {"accessor", "collective", "named_barrier"}  # which the code of objects asks for
OF_COPIES = {"async_copy"}


def test_every_model_has_code_and_all_code_a_declaration() -> None:
    declared = {each.model for each in OWN if each.model}
    assert declared == {each.model for each in LIBRARY if each.model} | OF_CLASSES | OF_COPIES


def test_what_host_code_makes_has_a_name() -> None:
    """Whatever is declared is understood; what is not declared of the API may do anything."""
    for each in HOST:
        assert each.written or each.member or each.around == ("at",) or each.text.endswith("{"), each.text
        if each.text.endswith("{") or each.file == "std.cuh":
            continue
        if each.parameters is None:
            assert each.name in handle_types(CUDA)
        elif each.name.startswith("cu"):
            assert api_of(each.name, CUDA) == api_of(each.name + "_v2", CUDA) != api_of("cudaUnheard", CUDA)


def test_every_model_of_host_code_has_code() -> None:
    named = {each.argument("model") or each.value for each in HOST} - {""}
    assert named == MODELS | OF_NUMBERS


def test_a_dialect_spells_the_api_in_its_own_way() -> None:
    assert api_of("hipMemcpyAsync", HIP) == api_of("cudaMemcpyAsync", CUDA)
    assert api_of("hipMemcpyHtoD", HIP) == api_of("cuMemcpyHtoD", CUDA)
    assert api_of("cudaMalloc", HIP) is None is api_of("custom", CUDA)
    assert {"hipStream_t", "CUstream"} <= handle_types(HIP).keys()
    assert "cudaStream_t" not in handle_types(HIP)
    assert {"hipMallocAsync", "hipMallocAsync_v2"} <= words_of_lifetimes(HIP)


def test_every_value_has_code_and_all_code_a_declaration() -> None:
    assert {each.value for each in OWN if each.value} == KNOWN


def test_every_function_of_bits_has_a_record_and_every_record_a_declaration() -> None:
    """A value of the stub files that a record gives means something for an operand of this width alone."""
    found: dict[str, BitFunction] = {}
    for each in OWN:
        if each.value not in VALUES:
            continue
        operand, result = scalar_of(parameter_type(each, 0)), returned_by(each.name, [UNKNOWN], None).type
        assert operand is not None and isinstance(result, Scalar), each.text
        function = bit_function(each.value, bits_of(operand))
        assert function is not None, f"no record in terms/bit_functions.py: {each.text}"
        assert function.most <= range_of(result)[1], each.text
        found[each.name] = function
    for function in BIT_FUNCTIONS.values():
        assert found.get(function.name) is function, f"no declaration: {function.name}"


def test_every_storage_has_code_and_all_code_a_declaration() -> None:
    assert {each.argument("storage") for each in OWN if each.has("storage")} == STORAGES
    assert len(classes()) == sum(each.has("storage") for each in OWN)


@pytest.mark.parametrize(
    ("attribute", "code"),
    [("type", TYPES), ("constant", CONSTANTS), ("layout", LAYOUTS), ("alias", ALIASES)],
)
def test_every_type_has_code_and_all_code_a_declaration(attribute: str, code: frozenset[str]) -> None:
    assert {each.argument(attribute) for each in OWN if each.has(attribute)} == code


def test_overloads_say_the_same() -> None:
    """Who asks for the attributes of a name does not know the types."""
    for each in OWN:
        if not each.member:
            assert {other.written for other in stubs.own().named(each.name)} == {each.written}, each.text


def test_barriers_are_those_that_a_dialect_knows() -> None:
    for dialect in DIALECTS:
        for scope, names in (
            ("block", dialect.voting_barriers | {dialect.block_barrier}),
            ("warp", {dialect.warp_barrier}),
        ):
            assert names == {each.name for each in OWN if each.argument("barrier") == scope}
    named = {each.name for each in OWN if each.argument("barrier") == "named"}
    assert named == CUDA.numbered_barriers | CUDA.counted_barriers


def test_known_names_are_what_the_front_end_finds() -> None:
    """Two ways of reading one file: line by line, and as any header."""
    found = symbols.Names.empty()
    directives: list[str] = []
    for file in (stubs.FOLDER / "headers").glob("*.cuh"):
        tokens = lex(file.read_text(encoding="utf-8"))
        directives += [text for kind, text in zip(tokens.kinds, tokens.texts) if kind == "DIRECTIVE"]
        symbols.collect(tokens.kinds, tokens.texts, found)
    assert found.types - found.templates - {"T"} == known().types
    assert found.templates == known().templates
    defined = [text.removeprefix("#define ") for text in directives if text.startswith("#define")]
    assert sorted(defined) == sorted(known().macros)
    included = {
        text.removeprefix("#include <").removesuffix(">") for text in directives if "#include" in text
    }
    assert included == known().headers


def test_exchanges_are_those_that_a_dialect_knows() -> None:
    found = {each.name for each in OWN if each.has("collective") and not each.member}
    for dialect in DIALECTS:
        assert all(dialect.exchanges.fullmatch(name) for name in found - {"__uni_sync"})


def test_another_form_is_told_with_its_line() -> None:
    with pytest.raises(ValueError, match=re.escape("a.cuh:3: no declaration")):
        list(stubs.indexed("// it\nint f(int n);\nint g(int n) { return n; }\n", "a.cuh"))
