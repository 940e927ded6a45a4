"""Specs made from plain functions, and the emulator that judges what the playbook writes."""

from collections.abc import Callable
from typing import Any

import pytest
import torch

from cutegen.agents.models.playbook.model import PlaybookChatModel
from cutegen.execution.emulated import EmulatedExecutor
from cutegen.execution.protocol import EvaluationJob
from cutegen.kernel import args_header
from cutegen.spec import KernelSpec
from cutegen.toolchain.discovery import ToolNotFoundError, find_cutlass, find_gxx
from cutegen.verification.verdict import Verdict

Judge = Callable[[KernelSpec, str], Verdict]


@pytest.fixture(scope="session")
def judge() -> Judge:
    """Compile and verify a source on the emulator."""
    try:
        find_gxx()
        find_cutlass()
    except ToolNotFoundError as error:
        pytest.skip(f"the emulator cannot build here: {error}")
    executor = EmulatedExecutor()
    return lambda spec, source: executor.evaluate(EvaluationJob(spec=spec, source=source))


@pytest.fixture
def model() -> PlaybookChatModel:
    return PlaybookChatModel()


@pytest.fixture
def asked() -> Callable[[KernelSpec], dict[str, Any]]:
    """What every request says besides its own fields."""
    return lambda spec: {"spec": spec, "header": args_header(spec), "arch": "sm_90a"}


@pytest.fixture
def silu() -> KernelSpec:
    return KernelSpec.from_callable(torch.nn.functional.silu, [torch.randn(37, 19)], name="silu")


@pytest.fixture
def product() -> KernelSpec:
    factors = [torch.rand(72, 40), torch.rand(40, 136)]
    return KernelSpec.from_callable(torch.matmul, factors, name="product")
