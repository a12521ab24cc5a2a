"""Long lines, long words, strange characters, random tokens."""

from __future__ import annotations

from collections.abc import Callable

from robustness.hostile.making import HOSTILE, Hostile, hostile, kernel, lines, random_of


def _repeated(word: str) -> Callable[[int], str]:
    return lambda n: kernel("__shared__ float s[4]; s[0] = 1;\n" + word * (n // len(word)))


for _name, _word in {
    "letters": "a", "digits": "7", "hexadecimals": "0x", "blanks": " ", "tabs": "\t", "quotes": '"', "apostrophes": "'",
    "slashes": "/", "stars": "*", "backslashes": "\\", "less": "<", "greater": ">", "hashes": "#", "ats": "@",
    "commas": ",", "semicolons": ";", "colons": "::", "equals": "=", "dots": ".", "ampersands": "&", "exponents": "1e",
    "words": "a ", "statements": "a; ", "calls": "a(); ", "generics": "a<b>", "strings": '"a" ', "raw": 'R"(', "odd": "\x7f\x01",
    "accents": "e\u0301", "bidi": "\u202e\u2066", "astral": "\U0001f600", "spliced": "\\\n", "returned": "\r", "fed": "\f\n",
    "newlines": "\n", "separators": "\u2028", "shared": "__shared__ ", "attributes": "[[a]] ", "launches_open": "k<<<", "templates": "template <",
}.items():  # fmt: skip
    HOSTILE[f"line_of_{_name}"] = Hostile(
        _repeated(_word), 2_000_000 if len(_word.encode()) > 1 else 5_000_000
    )


@hostile(1_000_000)
def long_name(n: int) -> str:
    name = "a" * n
    return kernel(f"__shared__ float {name}[4]; {name}[0] = 1; g[0] = {name}[1];")


@hostile(1_000_000)
def long_number(n: int) -> str:
    return kernel(f"__shared__ float s[{'9' * n}]; s[1{'0' * n}] = 1e{'9' * n}; g[0x{'f' * n}] = 1;")


@hostile(1_000)
def huge_values(n: int) -> str:
    return kernel(
        f"const long c = {' * '.join(['2147483647'] * n)};\n__shared__ float s[1 << 2147483647];\n__shared__ float t[c];\ns[1 << c] = 1 >> -5;"
    )


@hostile(1_000_000)
def open_comment(n: int) -> str:
    return kernel("__shared__ float s[4]; s[0] = 1;") + "/*" + "x\n" * n


@hostile(100_000)
def open_strings(n: int) -> str:
    return kernel('char* a = "x\n' * n)


@hostile(50_000)
def raw_strings(n: int) -> str:
    return kernel(lines(n, lambda i: f'const char* a{i} = R"d{i}(x)d{i - 1}")d{i}";'))


@hostile(50_000)
def open_raw_strings(n: int) -> str:
    return kernel(lines(n, lambda i: f'const char* a{i} = R"d{i}('))


def _random_bytes(n: int) -> str:
    return bytes(random_of(1).randrange(1, 256) for _ in range(n)).decode("latin-1")


def _random_tokens(n: int, words: str, seed: int) -> str:
    chosen = random_of(seed)
    return " ".join(chosen.choices(words.split(), k=n))


HOSTILE["random_bytes"] = Hostile(_random_bytes, 500_000)
HOSTILE["random_brackets"] = Hostile(lambda n: _random_tokens(n, "( ) [ ] { } < > ; , <<< >>>", 2), 500_000)
HOSTILE["random_tokens"] = Hostile(
    lambda n: _random_tokens(
        n,
        "__global__ __shared__ __device__ void float int k s g n ( ) [ ] { } < > ; , = + - * & :: . -> if else for while"
        " switch case return template typename struct union using namespace const 0 1 256 threadIdx.x __syncthreads()"
        " <<< >>> operator auto constexpr # ## \\ alignas extern static",
        3,
    ),
    300_000,
)
HOSTILE["random_kernel"] = Hostile(
    lambda n: kernel(
        "__shared__ float s[256], t[256]; int i = threadIdx.x;\n"
        + " ".join(
            random_of(4).choices(
                ["s[i] = t[i];", "t[i + 1] = s[n];", "__syncthreads();", "if (n) {", "}", "for (int j = 0; j < n; j++) {",
                 "} else {", "return;", "break;", "i += n;", "float* p = n ? s : t;", "*p = 1;", "while (i < n) {"],
                k=n,
            )
        )
    ),
    30_000,
)  # fmt: skip
