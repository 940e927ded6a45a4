"""Judging host candidates by the real ladder."""

from collections.abc import Callable

import pytest

from cutegen.execution.memory import HostArena
from cutegen.execution.session import WorkerSession, arena_bytes
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.toolchain.protocol import BuildRequest, Toolchain
from cutegen.verification.ladder import verify
from cutegen.verification.plan import plan_checks
from cutegen.verification.verdict import Verdict

Climbed = Callable[..., Verdict]


@pytest.fixture
def climbed(host_toolchain: Toolchain) -> Climbed:
    """``climbed(spec, body, helpers="")``: the verdict on a body of ``cutegen_launch``."""

    def run(spec: KernelSpec, body: str, *, helpers: str = "") -> Verdict:
        source = (
            '#include "cutegen_args.h"\n#include <cmath>\n#include <cstdint>\n#include <vector>\n'
            f'{helpers}\nextern "C" cudaError_t cutegen_launch(CutegenArgs const* a) '
            f"{{\n{body}\n  return cudaSuccess;\n}}\n"
        )
        build = host_toolchain.build(BuildRequest(source=source, header=args_header(spec)))
        assert build.library is not None, build.log
        plan = plan_checks(spec, source)
        arena = HostArena(arena_bytes(plan.cases(spec)))
        with WorkerSession(spec, build.library, arena, timeout_s=20) as session:
            return verify(spec, session, plan=plan)

    return run
