"""KernelSpec.from_kernelbench on the files of tests/kernelbench and on awkward ones."""

import logging
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

import pytest
import torch

from cutegen.spec import DType, KernelClass, KernelSpec, MathMode, ScalarArg, SpecError

KERNELBENCH = Path(__file__).parents[1] / "kernelbench"
FILES = sorted(KERNELBENCH.glob("*/*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_every_file_becomes_a_spec_that_round_trips(path: Path) -> None:
    spec = KernelSpec.from_kernelbench(path)
    again = KernelSpec.model_validate_json(spec.model_dump_json())
    assert again == spec
    assert again.id == spec.id
    assert spec.name == path.stem
    assert spec.math_mode is MathMode.FP32
    assert len(spec.checks) >= 3
    assert len({case.tensors for case in (spec.timed, *spec.checks)}) == len(spec.checks) + 1
    for case in spec.checks:
        assert max(tensor.numel for tensor in case.tensors) <= 2**18
        assert [len(t.shape) for t in case.tensors] == [len(t.shape) for t in spec.timed.tensors]
    uneven = [
        case
        for case in spec.checks
        if any(extent & (extent - 1) for extent in case.of("output")[0].shape)
    ]  # some extent is no power of two, and so no multiple of every tile
    assert len(uneven) >= 2


@pytest.mark.parametrize(
    ("file", "kernel_class", "ops"),
    [
        ("level1/1_Square_matrix_multiplication_.py", KernelClass.MATMUL, ["matmul"]),
        ("level1/25_Swish.py", KernelClass.ACTIVATION, ["sigmoid", "mul"]),
        ("level1/23_Softmax.py", KernelClass.REDUCTION, ["softmax"]),
        ("custom/mish_by_hand.py", KernelClass.ACTIVATION, ["exp", "log1p", "tanh", "mul"]),
    ],
)
def test_the_trace_decides_the_class(file: str, kernel_class: KernelClass, ops: list[str]) -> None:
    spec = KernelSpec.from_kernelbench(KERNELBENCH / file)
    assert spec.kernel_class is kernel_class
    assert [traced.op.split(".")[1] for traced in spec.trace] == ops
    assert spec.results == (spec.trace[-1].name,)


def test_gigabytes_of_input_cost_neither_time_nor_memory() -> None:
    start, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    spec = KernelSpec.from_kernelbench(KERNELBENCH / "level1/25_Swish.py")
    assert spec.timed.nbytes == 2 * 4096 * 393216 * 4
    assert time.monotonic() - start < 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 500_000  # kB


def test_matmul_checks_give_every_dimension_its_own_extent() -> None:
    spec = KernelSpec.from_kernelbench(KERNELBENCH / "level1/1_Square_matrix_multiplication_.py")
    assert [tensor.name for tensor in spec.timed.tensors] == ["A", "B", "out"]
    for case in spec.checks:
        a, b, out = (tensor.shape for tensor in case.tensors)
        assert out == (a[0], b[1])
        assert len({a[0], a[1], b[1]}) == 3
        assert max(*a, *b) <= 160


def test_parameters_follow_the_inputs_and_keep_their_shapes() -> None:
    spec = KernelSpec.from_kernelbench(KERNELBENCH / "custom/bias_scale.py")
    assert [(tensor.name, tensor.role) for tensor in spec.timed.tensors] == [
        ("x", "input"),
        ("scale", "parameter"),
        ("bias", "parameter"),
        ("out", "output"),
    ]
    assert spec.trace[0].args == ({"ref": "x"}, {"ref": "bias"})
    assert all(case.of("parameter") == spec.timed.of("parameter") for case in spec.checks)


def test_the_id_is_the_same_in_another_process() -> None:
    path = KERNELBENCH / "custom/bias_scale.py"
    code = (
        "import sys; from cutegen.spec import KernelSpec; "
        "print(KernelSpec.from_kernelbench(sys.argv[1]).id)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(path)],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert done.stdout.strip() == KernelSpec.from_kernelbench(path).id


def test_the_file_leaves_nothing_behind(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, modules = list(sys.path), set(sys.modules)
    state = torch.random.get_rng_state()
    _spec_of(
        tmp_path,
        "import sys, torch, dataclasses\n"
        "sys.path.insert(0, '/nowhere')\n"
        "torch.set_default_dtype(torch.float64)\n"
        "print('hello')\n"
        "@dataclasses.dataclass\n"
        "class Settings:\n"
        "    slope: 'float' = 2.0\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x):\n"
        "        print('forward')\n"
        "        return x * Settings().slope\n"
        "def get_inputs():\n"
        "    return [torch.rand(64, 64, dtype=torch.float32)]\n",
    )
    assert sys.path == path
    assert not [name for name in set(sys.modules) - modules if name.startswith("cutegen_reference")]
    assert torch.get_default_dtype() is torch.float32
    assert torch.equal(torch.random.get_rng_state(), state)
    assert capsys.readouterr().out == ""


def test_init_inputs_may_be_absent_positional_or_with_keywords(tmp_path: Path) -> None:
    model = (
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def __init__(self, a=1.0, b=2.0):\n"
        "        super().__init__()\n"
        "        self.a, self.b = a, b\n"
        "    def forward(self, x):\n"
        "        return x * self.a + self.b\n"
        "def get_inputs():\n"
        "    return [torch.rand(64, 64)]\n"
    )

    def constants(tail: str) -> list[object]:
        return [traced.args[1] for traced in _spec_of(tmp_path, model + tail).trace]

    assert constants("") == [1.0, 2.0]
    assert constants("def get_init_inputs(): return [3.0]\n") == [3.0, 2.0]
    assert constants("def get_init_inputs(): return [[3.0], {'b': 4.0}]\n") == [3.0, 4.0]


def test_scalar_arguments_are_fields_and_references(tmp_path: Path) -> None:
    spec = _spec_of(
        tmp_path,
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, A, s: float, n: int, flag: bool):\n"
        "        return torch.pow(A * s, n) if flag else A\n"
        "def get_inputs():\n"
        "    return [torch.rand(64, 64), 3.14, 3, True]\n",
    )
    assert [type(argument) for argument in spec.arguments[1:]] == [ScalarArg] * 3
    assert [scalar.c_type for scalar in spec.scalars] == ["double", "int64_t", "bool"]
    assert spec.trace[0].args == ({"ref": "A"}, {"ref": "s"})
    assert spec.trace[1].args == ({"ref": "mul"}, {"ref": "n"})


def test_inputs_that_need_data_to_be_made_are_made(tmp_path: Path) -> None:
    spec = _spec_of(
        tmp_path,
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def forward(self, x, s): return x * s\n"
        "def get_inputs():\n"
        "    return [torch.rand(64, 64), 1 + torch.rand(1).item()]\n",
    )
    assert spec.scalars[0].c_type == "double"


def test_names_that_cpp_cannot_have_are_renamed(tmp_path: Path) -> None:
    spec = _spec_of(
        tmp_path,
        "import torch\n"
        "class Model(torch.nn.Module):\n"
        "    def __init__(self):\n"
        "        super().__init__()\n"
        "        self.net = torch.nn.Sequential(torch.nn.Linear(8, 8))\n"
        "        self.x_shape = torch.nn.Parameter(torch.ones(8))\n"
        "    def forward(self, x, out, stream, double):\n"
        "        return self.net(x) + out * stream + double * self.x_shape\n"
        "def get_inputs():\n"
        "    return [torch.rand(64, 8) for _ in range(4)]\n",
    )
    names = [tensor.name for tensor in spec.timed.tensors]
    assert names == [
        *["x", "out_", "stream_", "double_"],
        *["x_shape_", "net_0_weight", "net_0_bias", "out"],
    ]


_GOOD = (
    "import torch\n"
    "class Model(torch.nn.Module):\n"
    "    def forward(self, x): return x * 2\n"
    "def get_inputs(): return [torch.rand(8, 8)]\n"
)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import torch\ndef get_inputs(): return []\n", "defines no class Model"),
        (_GOOD.replace("Model", "Net"), "it defines Net: rename"),
        (_GOOD.replace("get_inputs", "inputs"), "defines no function get_inputs"),
        ("x = 1\nimport no_such_package\n", "line 2: ModuleNotFoundError: No module named"),
        ("def f(:\n", "line 1: SyntaxError"),
        ("raise SystemExit('bye')\n", "line 1: SystemExit: bye"),
        (_GOOD.replace("[torch.rand(8, 8)]", "[torch.rand(8, 8) / zero]"), "NameError"),
        (_GOOD.replace("[torch.rand(8, 8)]", "torch.rand(8, 8)"), "must return a list"),
        (_GOOD.replace("[torch.rand(8, 8)]", "[]"), r"takes 1 arguments \(x\), but there are 0"),
        (_GOOD.replace("[torch.rand(8, 8)]", "['a']"), "input x is a str"),
        (_GOOD.replace("[torch.rand(8, 8)]", "[[torch.rand(8, 8)]]"), "input x is a list"),
        (_GOOD.replace("[torch.rand(8, 8)]", "[None]"), "input x is a NoneType"),
        (_GOOD.replace("[torch.rand(8, 8)]", "[2.0]"), "no tensor argument"),
        (_GOOD.replace("rand(8, 8)", "rand(8, 8, dtype=torch.complex64)"), "complex64; supported"),
        (_GOOD.replace("rand(8, 8)", "rand(8, 8).to(torch.float8_e4m3fn)"), "float8_e4m3fn"),
        (_GOOD.replace("rand(8, 8)", "rand(8, 4).T"), "not contiguous"),
        (_GOOD.replace("rand(8, 8)", "rand(8, 0)"), "no elements"),
        (_GOOD.replace("self, x", "self, *x"), r"takes \*args"),
        (_GOOD.replace("self, x", "self, x, *, y"), "keyword-only"),
        (_GOOD.replace("x * 2", "{'y': x}"), "returns dict"),
        (_GOOD.replace("x * 2", "None"), "returns NoneType"),
        (_GOOD.replace("x * 2", "x @ x[:3]"), "RuntimeError on its own inputs"),
        (_GOOD + "def get_init_inputs(): return 3\n", "get_init_inputs must return"),
        (_GOOD + "def get_init_inputs(): return [3]\n", "Model cannot be built"),
    ],
)
def test_bad_files_are_refused_with_the_reason(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(SpecError, match=message):
        _spec_of(tmp_path, text)


def test_a_missing_file_and_a_wrong_math_mode_are_refused(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="cannot read"):
        KernelSpec.from_kernelbench(tmp_path / "none.py")
    with pytest.raises(SpecError, match="none of fp32"):
        KernelSpec.from_kernelbench(KERNELBENCH / "custom/small_swish.py", math_mode="fp7")


def test_other_dtypes_reach_the_spec(tmp_path: Path) -> None:
    spec = _spec_of(tmp_path, _GOOD.replace("rand(8, 8)", "rand(8, 8, dtype=torch.bfloat16)"))
    assert spec.timed.of("output")[0].dtype is DType.BFLOAT16


def _spec_of(folder: Path, text: str) -> KernelSpec:
    path = folder / "reference.py"
    path.write_text(text, encoding="utf-8")
    return KernelSpec.from_kernelbench(path)


def test_shapes_that_do_not_fit_are_tried_in_silence() -> None:
    told: list[logging.LogRecord] = []
    log = logging.getLogger("torch._subclasses.fake_tensor")
    listener = logging.Handler()
    listener.emit = told.append  # type: ignore[method-assign]
    log.addHandler(listener)
    try:
        KernelSpec.from_kernelbench(KERNELBENCH / "custom" / "swiglu.py")
    finally:
        log.removeHandler(listener)
    assert told == []
