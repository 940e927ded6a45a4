"""Which headers a candidate may include: the language's, CUDA's device side, and CuTe."""

import re

_ARGUMENTS = "cutegen_args.h"
_LANGUAGE = frozenset(
    """
    algorithm array atomic bit bitset cassert cerrno cfenv cfloat cinttypes climits cmath compare
    complex concepts cstddef cstdint cstdio cstdlib cstring ctype.h cctype exception functional
    initializer_list iomanip iosfwd iostream iterator limits list map memory mutex new numbers
    numeric optional queue random ranges ratio set span sstream stdexcept string string_view
    system_error
    tuple type_traits typeinfo unordered_map unordered_set utility valarray variant vector version
    assert.h errno.h float.h inttypes.h limits.h math.h stdbool.h stddef.h stdint.h stdio.h
    stdlib.h string.h
    """.split()  # noqa: SIM905 - one word a line would fill a page
)
_CUDA = re.compile(
    r"(cute|cutlass|cuda/(std|ptx|barrier|pipeline|atomic|semaphore|latch|functional|annotated_ptr"
    r"|discard_memory|cmath|bit)|cooperative_groups|cub/(block|warp|thread|util_\w+))([/.].*)?"
    r"|cuda(_runtime|_runtime_api|_fp\w+|_bf16|_pipeline\w*|_awbarrier\w*|TypedefsAccess|Typedefs)?\.h"
    r"|(cuComplex|driver_types|device_launch_parameters|device_functions|math_constants|mma"
    r"|vector_functions|vector_types|builtin_types|sm_\d+_intrinsics|crt/\w+)\.h(pp)?"
    r"|nv/target|cub/cub\.cuh|curand_kernel\.h"
)
_LIBRARY = re.compile(
    r"(cublas|cudnn|cufft|cusparse|cusolver|cutensor|curand|nccl|nvrtc|nvjitlink|npp|thrust|cub/"
    r"|torch|ATen|c10|pybind11|Python\.h|triton|mkl|cblas|Eigen)",
    re.IGNORECASE,
)


def refused_header(path: str) -> tuple[str, str] | None:
    """Why ``path`` may not be included, and what to do instead; None when it may."""
    if path == _ARGUMENTS or path in _LANGUAGE or _CUDA.fullmatch(path):
        return None
    if _LIBRARY.match(path):
        return (
            f"<{path}> belongs to a library that does the work itself",
            "write the kernel: CuTe and CUTLASS headers are at hand",
        )
    return (
        f"<{path}> is no header that a kernel needs",
        f'include "{_ARGUMENTS}", CuTe, CUTLASS, CUDA\'s device headers or plain C++ ones',
    )
