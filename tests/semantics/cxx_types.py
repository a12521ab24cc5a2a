"""Random classes for the comparison with a compiler: structs, unions, bit-fields, bases, attributes, templates."""

from __future__ import annotations

import random
from dataclasses import dataclass, field

_SCALARS = (
    "char",
    "bool",
    "short",
    "int",
    "unsigned",
    "long",
    "long long",
    "float",
    "double",
    "float2",
    "float3",
    "float4",
    "uchar4",
    "short3",
    "int2",
    "double2",
    "ulonglong2",
    "__half",
    "__half2",
    "__nv_bfloat16",
    "__nv_bfloat162",
    "uint8_t",
    "std::size_t",
    "void*",
)
_BITS = {
    "unsigned": 32,
    "int": 32,
    "unsigned char": 8,
    "short": 16,
    "long long": 64,
    "uint64_t": 64,
    "bool": 8,
}


@dataclass
class Program:
    """Declarations, and the types among them that have a size."""

    lines: list[str] = field(default_factory=list)
    types: list[str] = field(default_factory=list)
    bases: list[str] = field(default_factory=list)  # classes that others may derive from


def random_program(seed: int, classes: int) -> Program:
    """A program of ``classes`` random classes; the same for the same seed."""
    rng = random.Random(seed)
    program = Program()
    for number in range(classes):
        _add_class(rng, program, f"R{seed}_{number}")
    return program


def _add_class(rng: random.Random, program: Program, name: str) -> None:
    tag = rng.choice(("struct", "struct", "struct", "struct", "union", "class"))
    template = rng.random() < 0.2
    attribute = rng.choice(
        ("", "", "", "", "alignas(16) ", "__align__(8) ", "__attribute__((packed)) ", "__builtin_align__(4) ")
    )
    if attribute == "__attribute__((packed)) " and tag == "class":
        attribute = ""
    bases = ""
    if tag != "union" and "packed" not in attribute and program.bases and rng.random() < 0.35:
        chosen = rng.sample(program.bases, k=min(len(program.bases), rng.choice((1, 1, 2))))
        bases = " : " + ", ".join(f"public {base}" for base in chosen)
    members = (
        [] if tag == "class" else [_member(rng, program, i) for i in range(rng.choice((0, 1, 1, 2, 3, 5, 8)))]
    )
    if tag == "class":
        members = ["public:", *(_member(rng, program, i) for i in range(rng.choice((0, 1, 2, 4))))]
        if rng.random() < 0.5:
            members += ["private:", _member(rng, program, 9)]
    if tag == "struct" and rng.random() < 0.2:
        members.append(f"__host__ __device__ {name}();")
    if rng.random() < 0.3:
        members.insert(0, "static constexpr int K = 3;")
        members.append("__host__ __device__ int twice(int a) const { return 2 * a; }")
    body = "\n  ".join(members)
    head = "template <int N, typename T> " if template else ""
    if template:
        body += "\n  T t[N]; " if tag != "union" else "\n  T t[N + 1]; char c[N];"
    program.lines.append(f"{head}{tag} {attribute}{name}{bases} {{\n  {body}\n}};")
    spelled = name
    if template:
        spelled = f"{name}<{rng.randint(1, 5)}, {rng.choice(_SCALARS)}>"
    program.types.append(spelled)
    if tag != "union" and "packed" not in attribute:
        program.bases.append(spelled)


def _member(rng: random.Random, program: Program, number: int) -> str:
    name = f"m{number}"
    form = rng.random()
    if form < 0.25:
        base, bits = rng.choice(list(_BITS.items()))
        width = 1 if base == "bool" else rng.randint(1, bits)
        if rng.random() < 0.15:
            return f"{base} : {rng.choice((0, width))};" if base != "bool" else "int : 0;"
        return f"{base} {name} : {width};"
    kind = rng.choice(_SCALARS)
    if form < 0.45 and program.types:
        kind = rng.choice(program.types)
    if form < 0.55:
        return f"{kind} {name}[{rng.randint(1, 3)}][{rng.randint(1, 4)}];"
    if form < 0.6:
        return f"alignas({rng.choice((16, 32))}) {kind} {name};"
    if form < 0.65:
        return (
            f"union {{ {kind} u{number}; struct {{ char a{number}; {rng.choice(_SCALARS)} b{number}; }}; }};"
        )
    if form < 0.7:
        return f"struct Inner{number} {{ {kind} a; char b; }} {name}[2];"
    if form < 0.75:
        return f"{rng.choice(('int (*{})[4]', 'void (*{})(int)', 'float *{}[3]', 'char *const *{}')).format(name)};"
    if form < 0.8:
        return (
            f"enum E{number} : {rng.choice(('short', 'char', 'long'))} {{ V{number} = 1 }}; E{number} {name};"
        )
    if form < 0.85 and not kind.endswith("*"):
        return f"{kind} {name}, *p{number}, q{number}[2];"
    return f"{kind} {name};"
