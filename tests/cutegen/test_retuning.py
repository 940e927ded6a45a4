"""Other numbers for named constants, and nothing else touched."""

import pytest

from cutegen.edits import EditRefusedError
from cutegen.retuning import with_constants
from cutegen.structure import describe_change, fingerprint

SOURCE = """\
// kThreads = 256 is told here too: größer
#define STAGES 3
constexpr int kThreads = 256;  // a warp has 32
static constexpr unsigned kVector{4};
constexpr int kTile = kThreads * 4;
using Rows = cute::Int<128>;
using Depth = cute::_64;
template <int kBatch = 8>
__global__ void f(float* out) { out[threadIdx.x] = kBatch; }
"""


def test_each_form_of_a_definition() -> None:
    new = with_constants(
        SOURCE, {"kThreads": 512, "STAGES": 4, "Rows": 64, "Depth": 32, "kBatch": 2}
    )
    for line in (
        "// kThreads = 256 is told here too: größer",
        "#define STAGES 4",
        "constexpr int kThreads = 512;  // a warp has 32",
        "constexpr int kTile = kThreads * 4;",
        "using Rows = cute::Int<64>;",
        "using Depth = cute::Int<32>;",
        "template <int kBatch = 2>",
    ):
        assert f"{line}\n" in new
    old, changed = fingerprint(SOURCE), fingerprint(new)
    assert changed.same_structure(old)
    assert "kThreads 256→512" in describe_change(old, changed)


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        ({"kWarps": 8}, "kWarps is not defined in the source; the named constants are"),
        ({"kTile": 8}, "is no number by itself"),
        ({"kThreads": 256}, "nothing changes"),
    ],
)
def test_what_cannot_be_set_is_named(values: dict[str, int], reason: str) -> None:
    with pytest.raises(EditRefusedError, match=reason):
        with_constants(SOURCE, values)


def test_a_name_of_two_definitions_is_refused() -> None:
    twice = SOURCE.replace("constexpr int kTile = kThreads * 4;", "#define kThreads 128")
    with pytest.raises(EditRefusedError, match="more than once"):
        with_constants(twice, {"kThreads": 64})
