"""Kernels as text: a unit is a file of blocks, one namespace a kernel, that share a prelude.

A translation unit is put together from the prelude, any choice of blocks, and a dispatch by
number; so a mutant can stand beside others in one build, and a block has a hash of its own.
"""

import hashlib
import re
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

KERNELS = Path(__file__).parent / "kernels"

HEADER = """\
// The arguments of every kernel here: two matrices in, one out, of types that the kernel knows.
#pragma once

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

struct CutegenArgs {
  void const* a;
  int64_t a_shape[2];
  void const* b;
  int64_t b_shape[2];
  int64_t which;
  void* out;
  int64_t out_shape[2];
  void* workspace;
  size_t workspace_bytes;
  cudaStream_t stream;

  template <class T> T const* in_a() const { return static_cast<T const*>(a); }
  template <class T> T const* in_b() const { return static_cast<T const*>(b); }
  template <class T> T* to() const { return static_cast<T*>(out); }
};

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a);
extern "C" size_t cutegen_workspace_bytes(CutegenArgs const* a);
"""

_BLOCK = re.compile(
    r"^namespace (?P<name>\w+) \{.*?^\}  // namespace (?P=name)\n", re.MULTILINE | re.DOTALL
)
_WORKSPACE = 1 << 14


class Block(NamedTuple):
    """One kernel with its ``launch``, in the namespace ``name``."""

    unit: str
    name: str
    text: str


@cache
def read_unit(unit: str) -> tuple[str, dict[str, Block]]:
    """The prelude of ``kernels/UNIT.cu``, and its blocks by name.

    Raises:
        ValueError: There is text between or after the blocks.
    """
    text = (KERNELS / f"{unit}.cu").read_text(encoding="utf-8")
    found = list(_BLOCK.finditer(text))
    rest = _BLOCK.sub("", text[found[0].start() :]).strip()
    if rest:
        raise ValueError(f"{unit}.cu has text outside of its namespaces: {rest[:80]!r}")
    blocks = {match["name"]: Block(unit, match["name"], match[0]) for match in found}
    return text[: found[0].start()], blocks


def block(unit: str, name: str) -> Block:
    """One block of a unit."""
    return read_unit(unit)[1][name]


def source_hash(kernel: Block) -> str:
    """Hash of everything the compiler sees of a kernel: header, prelude and block."""
    prelude, _ = read_unit(kernel.unit)
    return hashlib.sha256(f"{HEADER}\0{prelude}\0{kernel.text}".encode()).hexdigest()[:16]


def assemble(kernels: Sequence[Block]) -> str:
    """One translation unit; kernel number ``which`` is the one at that place in ``kernels``."""
    (unit,) = {kernel.unit for kernel in kernels}
    prelude, _ = read_unit(unit)
    choices = "\n".join(
        f"    case {number}: return {kernel.name}::launch(a);"
        for number, kernel in enumerate(kernels)
    )
    return f"""\
{prelude}
{"".join(kernel.text for kernel in kernels)}
extern "C" size_t cutegen_workspace_bytes(CutegenArgs const*) {{ return {_WORKSPACE}; }}

extern "C" cudaError_t cutegen_launch(CutegenArgs const* a) {{
  switch (a->which) {{
{choices}
  }}
  return cudaErrorInvalidValue;
}}
"""
