"""What a built object asks of the world outside: the symbols it imports, and its constructors.

``readelf`` reads them: it is part of binutils, without which g++ could not have linked the
object; a Python library would be one more dependency and slower on CuTe's long names.
"""

import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

from cutegen.source_policy.names import CALLED, DISTINCT
from cutegen.source_policy.violation import Violation

_TIMEOUT_S = 30.0
_MOST_CONSTRUCTORS = 2  # nvcc's registration of kernels, and <iostream>, which CuTe includes
_UNDEFINED = re.compile(r"\bUND (?P<name>[^\s@]+)")
_INITIALISED = re.compile(r"^\s*[0-9a-f]+ +[0-9a-f]+ +R_\w+")
# of objects that nvcc and CuTe make; a call in the source itself is found there
_COMPILERS_OWN = frozenset({"atexit", "__cxa_atexit", "exit"})
_LANGUAGE = re.compile(r"_GLOBAL_OFFSET_TABLE_|_DYNAMIC|_Unwind_\w+|_ITM_\w+|abort|__\w+")
_RUNTIME = re.compile(r"_*cu(da)?[A-Z]\w*|__nv\w*|_fatbin\w*|__fatbin\w*")
_LIBC = re.compile(
    r"mem\w+|str\w+|__(mem|str)\w+_chk|bcmp|(__)?[fsv]*n?printf(_chk)?|f?puts|f?putc(har)?|fwrite"
    r"|fflush|std(out|err)|malloc|calloc|realloc|free|aligned_alloc|posix_memalign|qsort|bsearch"
    r"|l?l?abs|ato[ifl]l?|s?rand|div|ldiv|lldiv|isatty|pthread_(once|mutex_\w+)|to(upper|lower)|is[a-z]+"
)
_MATH = re.compile(
    r"(__)?(a?(sin|cos|tan)h?|atan2|exp[2m]?1?0?|log(2|10|1p|b)?|pow|sqrt|cbrt|hypot|erfc?|[lt]gamma"
    r"|ceil|floor|trunc|l?l?r?(round|int)|nearbyint|fmod|remainder|remquo|fdim|f(max|min|ma)|fabs"
    r"|copysign|nextafter|nexttoward|ldexp|frexp|modf|ilogb|scalbl?n|sincos|nan|j[01n]|y[01n]"
    r"|(is)?(finite|inf|nan)|fpclassify|signbit|fe\w+)[fl]?(_finite)?"
)
_FORBIDDEN_CXX = (
    (re.compile(r"_ZN?K?St(6thread|13__future_base|6jthread|3_V2)"), "std::thread"),
    (re.compile(r"_ZT?\w?N?K?St\d*(13basic_filebuf|1[34]basic_[io]?fstream)"), "std::fstream"),
    (re.compile(r"_ZN?K?St(10filesystem|13random_device)"), "std::filesystem"),
)


def check_object(
    path: Path, source: str = "", *, also: frozenset[str] = frozenset()
) -> tuple[Violation, ...]:
    """What an object or library imports that no kernel needs.

    Args:
        path: An ELF object or shared object.
        source: The candidate's text, to find lines in.
        also: Further names that are fine, such as those of the emulator's machine.

    Raises:
        OSError: ``readelf`` cannot be run.
    """
    listing = _readelf("-Ws", path)
    found = [
        violation
        for name in sorted(set(_UNDEFINED.findall(listing)) - also)
        for violation in _judge(name, source)
    ]
    constructors = _constructors(_readelf("-Wr", path)) if path.suffix == ".o" else 0
    if constructors > _MOST_CONSTRUCTORS:
        found.append(
            Violation(0, "code runs when the library is loaded", "do everything in cutegen_launch")
        )
    return tuple(found)


def _judge(name: str, source: str) -> Iterator[Violation]:
    """At most one violation for an imported name."""
    line = _line_with(name, source)
    if name.startswith("_Z"):
        for pattern, what in _FORBIDDEN_CXX:
            if pattern.match(name):
                yield Violation(line, f"{what} is used", "put all work on a->stream")
        return
    if name in _COMPILERS_OWN:
        return
    for rule in (*DISTINCT, CALLED):
        # glibc has many of its functions under a name with underscores, too
        if rule.names.fullmatch(name.removeprefix("__libc_").lstrip("_")):
            yield Violation(line, f"{name} {rule.what}", rule.advice)
            return
    if not any(known.fullmatch(name) for known in (_LANGUAGE, _RUNTIME, _LIBC, _MATH)):
        yield Violation(
            line,
            f"{name} is imported, and no kernel needs it",
            "a kernel computes from its arguments alone; take this out",
        )


def _line_with(name: str, source: str) -> int:
    word = re.compile(rf"\b{re.escape(name)}\b")
    return next((n for n, line in enumerate(source.split("\n"), 1) if word.search(line)), 0)


def _constructors(relocations: str) -> int:
    """Entries of ``.init_array`` in a listing of relocations."""
    count, inside = 0, False
    for line in relocations.split("\n"):
        if line.startswith("Relocation section"):
            inside = ".init_array" in line
        elif inside and _INITIALISED.match(line):
            count += 1
    return count


def _readelf(option: str, path: Path) -> str:
    program = shutil.which("readelf")
    if program is None:
        raise FileNotFoundError("readelf is not on PATH: install binutils, which g++ links with")
    return subprocess.run(
        [program, option, str(path)],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=_TIMEOUT_S,
        start_new_session=True,
        check=True,
    ).stdout
