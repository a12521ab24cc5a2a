"""What the built-in functions of CUDA return, as declarations: no header of the toolkit is read.

A line declares a function as C++ does, without names of parameters. ``{rd,rn}`` in a name stands for one declaration
for each word; ``*`` at its end for all that begin so; ``T`` for the type of the argument that has it. Of several
declarations of one name the first counts that takes the arguments. What is overloaded for other types than numbers
(``__hadd``) is left out.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product

from smem_lsp.semantics.entities import UNKNOWN, TypedConstant
from smem_lsp.semantics.types import Array, Pointer, Scalar, Type, fundamental, is_number, plain_type
from smem_lsp.source.queries import remembered
from smem_lsp.source.record import dataclass
from smem_lsp.source.regex import regex

# CUDA Math API Reference Manual: "Integer Intrinsics", "Type Casting Intrinsics", "SIMD Intrinsics"
_OF_NUMBERS = """
unsigned int __brev(unsigned int)
unsigned long long int __brevll(unsigned long long int)
unsigned int __byte_perm(unsigned int, unsigned int, unsigned int)
int __clz(int)
int __clzll(long long int)
int __ffs(int)
int __ffsll(long long int)
unsigned int __fns(unsigned int, unsigned int, int)
unsigned int __funnelshift_{l,lc,r,rc}(unsigned int, unsigned int, unsigned int)
int __mul24(int, int)
long long int __mul64hi(long long int, long long int)
int __mulhi(int, int)
int __popc(unsigned int)
int __popcll(unsigned long long int)
int __rhadd(int, int)
unsigned int __sad(int, int, unsigned int)
unsigned int __uhadd(unsigned int, unsigned int)
unsigned int __umul24(unsigned int, unsigned int)
unsigned long long int __umul64hi(unsigned long long int, unsigned long long int)
unsigned int __umulhi(unsigned int, unsigned int)
unsigned int __urhadd(unsigned int, unsigned int)
unsigned int __usad(unsigned int, unsigned int, unsigned int)
float __double2float_{rd,rn,ru,rz}(double)
int __double2{hi,lo}int(double)
int __double2int_{rd,rn,ru,rz}(double)
long long int __double2ll_{rd,rn,ru,rz}(double)
unsigned int __double2uint_{rd,rn,ru,rz}(double)
unsigned long long int __double2ull_{rd,rn,ru,rz}(double)
long long int __double_as_longlong(double)
int __float2int_{rd,rn,ru,rz}(float)
long long int __float2ll_{rd,rn,ru,rz}(float)
unsigned int __float2uint_{rd,rn,ru,rz}(float)
unsigned long long int __float2ull_{rd,rn,ru,rz}(float)
int __float_as_int(float)
unsigned int __float_as_uint(float)
double __hiloint2double(int, int)
double __int2double_rn(int)
float __int2float_{rd,rn,ru,rz}(int)
float __int_as_float(int)
double __ll2double_{rd,rn,ru,rz}(long long int)
float __ll2float_{rd,rn,ru,rz}(long long int)
double __longlong_as_double(long long int)
double __uint2double_rn(unsigned int)
float __uint2float_{rd,rn,ru,rz}(unsigned int)
float __uint_as_float(unsigned int)
double __ull2double_{rd,rn,ru,rz}(unsigned long long int)
float __ull2float_{rd,rn,ru,rz}(unsigned long long int)
unsigned int __vabs*(unsigned int)
unsigned int __vneg*(unsigned int)
unsigned int __vadd*(unsigned int, unsigned int)
unsigned int __vavg*(unsigned int, unsigned int)
unsigned int __vcmp*(unsigned int, unsigned int)
unsigned int __vhadd*(unsigned int, unsigned int)
unsigned int __vmax*(unsigned int, unsigned int)
unsigned int __vmin*(unsigned int, unsigned int)
unsigned int __vsad*(unsigned int, unsigned int)
unsigned int __vset*(unsigned int, unsigned int)
unsigned int __vsub*(unsigned int, unsigned int)
"""
# "Half Precision Conversion and Data Movement", with one argument that is no number of C++
_OF_HALVES = """
float __half2float(half)
int __half2int_{rd,rn,ru,rz}(half)
long long int __half2ll_{rd,rn,ru,rz}(half)
short int __half2short_{rd,rn,ru,rz}(half)
unsigned int __half2uint_{rd,rn,ru,rz}(half)
unsigned long long int __half2ull_{rd,rn,ru,rz}(half)
unsigned short int __half2ushort_{rd,rn,ru,rz}(half)
short int __half_as_short(half)
unsigned short int __half_as_ushort(half)
"""
# CUDA C++ Programming Guide: "Time Function", "Read-Only Data Cache Load Function", "Warp Shuffle Functions", "Warp
# Reduce Functions", "Warp Vote Functions"
_OF_THREADS = """
long int clock()
long long int clock64()
T __ldg(T*)
T __ld{ca,cg,cs,cv,lu}(T*)
T __shfl(T, ...)
T __shfl_{down,up,xor}(T, ...)
T __shfl_sync(unsigned int, T, ...)
T __shfl_{down,up,xor}_sync(unsigned int, T, ...)
T __reduce_{add,and,max,min,or,xor}_sync(unsigned int, T)
int __{all,any}(int)
int __{all,any}_sync(unsigned int, int)
"""
# masks of a warp, where it has 32 lanes
_OF_MASKS = """
unsigned int __activemask()
unsigned int __ballot(int)
unsigned int __ballot_sync(unsigned int, int)
unsigned int __match_any_sync(unsigned int, any)
unsigned int __match_all_sync(unsigned int, any, int*)
"""
_LINE = regex(r"(?P<result>.+?) (?P<name>[\w{},]+\*?)\((?P<parameters>.*)\)")
_WORDS = regex(r"\{([^}]*)\}")
_LANES = 32


@dataclass(frozen=True, slots=True)
class Declaration:
    """``result``: "T" for the type of the argument at that place; ``parameters``: as they are written."""

    result: str
    name: str
    parameters: tuple[str, ...]

    def returned(self, given: Sequence[Type | None]) -> Type | None:
        """The type of a call with arguments of these types; None: it is another function, or not known."""
        open_ended = self.parameters[-1:] == ("...",)
        wanted = self.parameters[:-1] if open_ended else self.parameters
        if len(given) < len(wanted) or (len(given) > len(wanted) and not open_ended):
            return None
        if not all(_takes(parameter, kind) for parameter, kind in zip(wanted, given)):
            return None
        if self.result != "T":
            return fundamental(self.result.split())
        at = next(at for at, parameter in enumerate(wanted) if parameter.startswith("T"))
        kind = plain_type(given[at])
        if wanted[at] == "T":
            return kind
        if isinstance(kind, Pointer):
            return plain_type(kind.target)
        return plain_type(kind.element) if isinstance(kind, Array) else None


def is_intrinsic(name: str) -> bool:
    """May a built-in function have this name, where no file declares it?"""
    return name.startswith("__") or name in _declarations()[0]


def returned_by(name: str, arguments: Sequence[TypedConstant], warp_size: int | None) -> TypedConstant:
    """What a call of a built-in function returns, without its value. ``warp_size``: lanes of a warp, where it is known;
    masks of others are larger."""
    given = [argument.type for argument in arguments]
    for each in declared(name, masks=warp_size == _LANES):
        found = each.returned(given)
        if found is not None:
            return TypedConstant(found)
    return UNKNOWN


def declared(name: str, *, masks: bool) -> Iterator[Declaration]:
    """The declarations of a name."""
    whole, beginnings = _declarations()
    for each in whole.get(name, ()):
        if masks or each.name not in _masks():
            yield each
    for each in beginnings:
        if name.startswith(each.name):
            yield each


@remembered(most=1)
def _declarations() -> tuple[Mapping[str, Sequence[Declaration]], Sequence[Declaration]]:
    """Those of whole names, and those of beginnings."""
    whole: dict[str, list[Declaration]] = {}
    beginnings: list[Declaration] = []
    for line in "".join((_OF_NUMBERS, _OF_HALVES, _OF_THREADS, _OF_MASKS)).splitlines():
        for each in parsed(line) if line else ():
            if each.name.endswith("*"):
                beginnings.append(Declaration(each.result, each.name[:-1], each.parameters))
            else:
                whole.setdefault(each.name, []).append(each)
    return whole, beginnings


@remembered(most=1)
def _masks() -> frozenset[str]:
    return frozenset(each.name for line in _OF_MASKS.splitlines() if line for each in parsed(line))


def parsed(line: str) -> Iterator[Declaration]:
    """The declarations that one line stands for. Raises ValueError for what is none."""
    found = _LINE.fullmatch(line)
    if found is None:
        raise ValueError(f"no declaration: {line}")
    parameters = tuple(each.strip() for each in found["parameters"].split(",") if each.strip())
    parts = _WORDS.split(found["name"])
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    for name in product(*choices):
        yield Declaration(found["result"], "".join(name), parameters)


def _takes(parameter: str, given: Type | None) -> bool:
    """May an argument be passed, as far as its type is known?"""
    kind = plain_type(given)
    if kind is None or parameter in ("any", "half"):
        return True
    if parameter.endswith("*"):
        return isinstance(kind, Pointer | Array)
    return isinstance(kind, Scalar) if parameter == "T" else is_number(kind)
