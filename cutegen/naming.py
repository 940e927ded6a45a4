"""Names for C++: every argument of the contract becomes a field of ``CutegenArgs``."""

import re
from collections.abc import Iterable

_CPP_KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t
    char32_t class co_await co_return co_yield compl concept const const_cast consteval
    constexpr constinit continue decltype default delete do double dynamic_cast else enum
    explicit export extern false float for friend goto if inline int long mutable namespace new
    noexcept not not_eq nullptr operator or or_eq private protected public register
    reinterpret_cast requires restrict return short signed sizeof static static_assert
    static_cast struct switch template this thread_local throw true try typedef typeid typename
    union unsigned using virtual void volatile wchar_t while xor xor_eq
    """.split()  # noqa: SIM905 - one word a line would fill a page
)
# Macros and types that the headers of a candidate bring in.
_TAKEN = frozenset(
    """
    NULL EOF NAN INFINITY assert errno stdin stdout stderr linux unix
    int8_t uint8_t int32_t int64_t size_t cudaStream_t cudaError_t cutlass cute CutegenArgs
    """.split()  # noqa: SIM905 - the same
)
_CONTRACT = re.compile(r"out\d*|stream|workspace|workspace_bytes")


def c_names(names: Iterable[str]) -> list[str]:
    """C++ field names for Python names, in order, all different.

    Dots become underscores, what C++ cannot spell is written out, and a name that is a
    keyword, a field of the contract or already taken gets trailing underscores.
    """
    used: set[str] = set()
    fields: list[str] = []
    for name in names:
        field = "".join(map(_spell, name))
        if not field or field[0].isdigit():
            field = f"_{field}"
        while _is_reserved(field) or {field, f"{field}_shape"} & used:
            field += "_"
        used |= {field, f"{field}_shape"}
        fields.append(field)
    return fields


def _spell(character: str) -> str:
    if character.isascii() and (character.isalnum() or character == "_"):
        return character
    return "_" if character.isascii() else f"u{ord(character):x}"


def _is_reserved(field: str) -> bool:
    stem = field.removesuffix("_shape")
    return field in _CPP_KEYWORDS | _TAKEN or _CONTRACT.fullmatch(stem) is not None
