"""Which design a CUDA source follows, one rule per feature.

Rules read the names that CUDA, CuTe, CUTLASS and PTX give to things, and the shape of loops,
branches and assignments. They never read a name that the author chose, nor a number, except where
the number is the design: the width of one access.
"""

from pydantic import JsonValue

from cutegen.cuda_syntax import CudaSource
from cutegen.structure import epilogue, mapping, movement, reductions
from cutegen.structure.libraries import hidden
from cutegen.structure.phases import phases
from cutegen.structure.products import Multiply
from cutegen.structure.view import View


def features(source: CudaSource) -> dict[str, str]:
    """All features of a source; the keys are always the same."""
    view = View(source)
    multiply = Multiply(view)
    multiplies = multiply.family != "none"
    count, kept = phases(view, multiplies=multiplies)
    found = {
        "kernels": str(len(source.kernels)),
        "mma": multiply.family,
        "mma_types": multiply.types,
        "mma_operands": multiply.operands,
        "copies": movement.copies(view),
        "smem": view.smem,
        "swizzle": movement.swizzle(view),
        "staging": movement.staging(view),
        "roles": mapping.roles(view),
        "grid": mapping.grid(
            view, multiplies=multiplies, clustered_sum=reductions.over_cluster(view)
        ),
        "cluster": mapping.cluster(view),
        "reduction": reductions.reduction(view, multiplies=multiplies),
        "tiling": multiply.tiling,
        "epilogue": epilogue.epilogue(view),
        "phases": count,
        "kept": kept,
        "loads_in_flight": movement.loads_in_flight(view, multiplies=multiplies),
        "cache_hints": movement.cache_hints(view),
    }
    return found | hidden(view, found)


def parameters(source: CudaSource) -> dict[str, JsonValue]:
    """The numbers of a design, by the author's names, and the shapes of its instructions."""
    view = View(source)
    found: dict[str, JsonValue] = dict(source.parameters)
    for index, launch in enumerate(source.launches):
        for name, number in launch._asdict().items():
            if number is not None:
                found[f"launch{index}.{name}"] = number
    shapes = {
        "mma.shape": Multiply(view).tiles,
        "swizzle.bits": movement.swizzle_numbers(view),
        "cluster.shape": "; ".join(sorted(set(source.cluster_dims))),
    }
    return found | {name: shape for name, shape in shapes.items() if shape}
