"""The command line: answers on standard output, progress on standard error, exit codes."""

import os

os.environ["LANGGRAPH_STRICT_MSGPACK"] = "true"  # read when langgraph is imported

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest
import torch
from click.testing import Result
from filelock import FileLock
from typer.testing import CliRunner

from cutegen.cli import app
from cutegen.cli_evaluate import exit_of_verdict
from cutegen.measurement.timing import Measurement, MeasurementState
from cutegen.result import RunResult, RunStatus
from cutegen.status import Status
from cutegen.verification.verdict import Evidence, Verdict

TESTS = Path(__file__).resolve().parents[1]
SWISH = str(TESTS / "kernelbench" / "custom" / "small_swish.py")
KERNEL = (TESTS / "graphs" / "kernels" / "swish.cu").read_text()
PROGRAM = (sys.executable, "-c", "from cutegen.cli import main; main()")

COMMANDS = ("run", "resume", "suite", "evaluate", "spec", "export", "doctor", "report")

needs_gxx = pytest.mark.skipif(shutil.which("g++") is None, reason="g++ is not installed")
needs_no_gpu = pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU here")


def _path_without_nvcc() -> str:
    """Emulated runs also build with the nvcc they find, which takes long and proves nothing here.

    One in the wheels, or beside g++, is still found.
    """
    folders = [Path(folder) for folder in os.environ["PATH"].split(os.pathsep)]
    kept = (
        folder for folder in folders if (folder / "g++").exists() or not (folder / "nvcc").exists()
    )
    return os.pathsep.join(map(str, kept))


ENVIRONMENT: dict[str, str | None] = {
    "PATH": _path_without_nvcc(),
    "COLUMNS": "200",
    "CUDA_HOME": None,
    "FORCE_COLOR": None,
    "OPENAI_API_KEY": None,
    "OPENAI_BASE_URL": None,
}


def call(*arguments: str | Path, **environment: str | None) -> Result:
    """The program's answer, in this process; anything but an exit is a bug and is raised."""
    result = CliRunner().invoke(app, list(map(str, arguments)), env=ENVIRONMENT | environment)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return result


def call_program(folder: Path, *arguments: str | Path) -> "subprocess.CompletedProcess[str]":
    """The program's answer, in a process of its own that works in ``folder``."""
    unset = {"LANGGRAPH_STRICT_MSGPACK", *ENVIRONMENT}  # people do not set it
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    environment |= {name: value for name, value in ENVIRONMENT.items() if value is not None}
    return subprocess.run(
        [*PROGRAM, *map(str, arguments)],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )


def the_object(stdout: str) -> dict[str, Any]:
    """The one JSON object that standard output consists of."""
    answer = json.loads(stdout)
    assert isinstance(answer, dict)
    assert stdout == stdout.strip() + "\n"
    return answer


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> "subprocess.CompletedProcess[str]":
    """A whole run on the emulator, by the real program. Tests must leave its folder as it is."""
    if shutil.which("g++") is None:
        pytest.skip("g++ is not installed")
    folder = tmp_path_factory.mktemp("finished")
    options = ("--executor", "emulated", "--steps", "0", "--runs-dir", "kept", "--json")
    return call_program(folder, "run", SWISH, *options, "--progress")


@pytest.fixture
def evaluate(tmp_path: Path) -> Callable[..., Result]:
    """Judge a source for the tiny spec on the emulator."""

    def judge(source: str, *options: str, **environment: str | None) -> Result:
        file = tmp_path / "kernel.cu"
        file.write_text(source)
        chosen = ("--spec", SWISH, "--executor", "emulated", *options)
        return call("evaluate", file, *chosen, **environment)

    return judge


def test_run_answers_with_one_object(finished: "subprocess.CompletedProcess[str]") -> None:
    answer = the_object(finished.stdout)
    assert finished.returncode == 0
    assert answer["status"] == "SUCCEEDED"
    assert answer["spec_name"] == "small_swish"
    assert [step["decision"] for step in answer["steps"]] == ["accepted"]
    run_dir, best = Path(answer["run_dir"]), answer["best"]
    assert run_dir.name == answer["run_id"]
    assert run_dir.parent.name == "kept"
    assert best["id"]
    assert "cutegen_launch" in Path(best["source_path"]).read_text()
    assert best["verdict"]["status"] == "PASSED"
    assert best["speedup"] is None
    assert "emulator" in best["speedup_reason"]


@needs_gxx
def test_the_switches_of_an_ablation_are_recorded(tmp_path: Path) -> None:
    switches = ("--profiling", "never", "--repair", "rewrite", "--start", "last")
    where = ("--executor", "emulated", "--runs-dir", tmp_path)
    result = call("run", SWISH, "--steps", "0", *where, *switches, "--json")
    assert result.exit_code == 0
    method = {"profiling": "never", "repair": "rewrite", "start": "last"}
    assert the_object(result.stdout)["method"] == method
    mistyped = call("run", SWISH, *where, "--profiling", "sometimes")
    assert mistyped.exit_code == 2
    assert "immediate" in mistyped.stderr


def test_run_tells_its_progress_on_standard_error(
    finished: "subprocess.CompletedProcess[str]",
) -> None:
    lines = finished.stderr.splitlines()
    assert lines[0].startswith("small_swish · activation · emulated · playbook")
    assert lines[1] == json.loads(finished.stdout)["run_dir"]  # whole, for copying
    for told in ("synthesizer: ", "  built by emulator", "  verified", "  accepted: "):
        assert any(line.startswith(told) for line in lines), told


def test_a_finished_run_is_answered_again_without_work(
    finished: "subprocess.CompletedProcess[str]",
) -> None:
    answer = the_object(finished.stdout)
    again = call("resume", answer["run_dir"], "--json")
    assert again.exit_code == 0
    assert the_object(again.stdout) == answer
    assert again.stderr == ""  # nobody at a terminal watches
    told = call("resume", answer["run_dir"])
    assert told.exit_code == 0
    for word in ("SUCCEEDED", answer["best"]["source_path"], "not measured", "as exact as PyTorch"):
        assert word in told.stdout


def test_a_run_is_found_by_its_name(finished: "subprocess.CompletedProcess[str]") -> None:
    run_dir = Path(the_object(finished.stdout)["run_dir"])
    again = call("resume", run_dir.name, "--runs-dir", run_dir.parent, "--json")
    assert again.exit_code == 0
    assert the_object(again.stdout)["run_id"] == run_dir.name


def test_a_run_that_somebody_else_is_at_work_on(
    finished: "subprocess.CompletedProcess[str]",
) -> None:
    run_dir = json.loads(finished.stdout)["run_dir"]
    with FileLock(Path(run_dir) / "run.lock"):
        refused = call("resume", run_dir, "--json")
    assert refused.exit_code == 2
    assert "another process" in the_object(refused.stdout)["error"]


@needs_gxx
def test_a_run_that_the_model_service_ends_after_a_kernel_is_good(tmp_path: Path) -> None:
    recording = tmp_path / "recording.jsonl"
    reply = f"INTENT: one element per thread\n```cuda\n{KERNEL}```\n"
    recording.write_text(json.dumps({"agent": "synthesizer", "reply": reply}) + "\n")
    options = ("--executor", "emulated", "--model", f"replay:{recording}", "--json")
    stopped = call("run", SWISH, "--runs-dir", tmp_path, "--run-id", "short", *options)
    answer = the_object(stopped.stdout)
    assert (stopped.exit_code, answer["status"], answer["run_id"]) == (0, "STOPPED", "short")
    assert "asks for another" in answer["reason"]
    assert RunResult.load(tmp_path / "short").status is RunStatus.STOPPED


@needs_gxx
def test_a_coding_agent_drives_a_run_by_files(tmp_path: Path) -> None:
    reply, recording = tmp_path / "reply.md", tmp_path / "recorded.jsonl"
    options = ("--executor", "emulated", "--model", "human", "--steps", "0", "--json")
    asked = call("run", SWISH, "--runs-dir", tmp_path, "--run-id", "mine", *options)
    answer = the_object(asked.stdout)
    assert (asked.exit_code, answer["status"]) == (4, "WAITING")
    prompt = Path(answer["question"]["prompt_file"])
    assert prompt.parent == tmp_path / "mine" / "questions"
    assert "cutegen_launch" in prompt.read_text()

    told = call("resume", tmp_path / "mine")
    assert told.exit_code == 4
    assert str(prompt) in told.stdout
    assert "--reply FILE" in told.stdout

    reply.write_text(f"INTENT: one element per thread\r\n```cuda\n{KERNEL}```\n")
    more = ("--reply", reply, "--record", recording, "--json")
    answered = call("resume", tmp_path / "mine", *more)
    assert (answered.exit_code, the_object(answered.stdout)["status"]) == (0, "SUCCEEDED")
    late = call("resume", tmp_path / "mine", *more)
    assert late.exit_code == 2
    assert "waits for no reply" in the_object(late.stdout)["error"]

    again = ("--executor", "emulated", "--model", f"replay:{recording}", "--steps", "0", "--json")
    replayed = call("run", SWISH, "--runs-dir", tmp_path, "--run-id", "again", *again)
    assert the_object(replayed.stdout)["best"]["id"] == the_object(answered.stdout)["best"]["id"]


@pytest.mark.allow_hosts(["127.0.0.1"])
def test_the_doctor_examines_a_model(service: Any) -> None:
    address = f"http://127.0.0.1:{service.port}/v1"
    service.reply("hello")
    result = call("doctor", "--model", f"openai:tiny@{address}", "--json")
    found = {part["part"]: part["health"] for part in the_object(result.stdout)["findings"]}
    assert (found["model"], found["reply format"]) == ("ok", "degraded")
    service.fail(401, "no")
    assert call("doctor", "--model", f"openai:tiny@{address}").exit_code == 3


@needs_gxx
def test_each_agent_its_model_from_the_command_line(tmp_path: Path) -> None:
    reply = f"INTENT: one element per thread\n```cuda\n{KERNEL}```\n"
    recording = tmp_path / "first.jsonl"
    recording.write_text(json.dumps({"agent": "synthesizer", "reply": reply}) + "\n")
    options = ("--executor", "emulated", "--runs-dir", tmp_path, "--steps", "0", "--json")
    models = ("--model", "playbook", "--model", f"synthesizer=replay:{recording}")
    result = call("run", SWISH, *options, *models, "--temperature", "repairer=0.1")
    assert the_object(result.stdout)["model"] == f"playbook, synthesizer=replay:{recording}"
    wrong = call("run", SWISH, *options, "--model", "tuner=playbook")
    assert wrong.exit_code == 2
    assert "is no agent" in the_object(wrong.stdout)["error"]


@needs_gxx
def test_an_operation_that_the_model_cannot_write(tmp_path: Path) -> None:
    running = tmp_path / "running_sum.py"
    running.write_text(Path(SWISH).read_text().replace("x * torch.sigmoid(x)", "x.cumsum(1)"))
    result = call("run", str(running), "--executor", "emulated", "--runs-dir", tmp_path, "--json")
    answer = the_object(result.stdout)
    assert (result.exit_code, answer["status"], answer["best"]) == (1, "UNSUPPORTED", None)
    assert "cumsum" in answer["reason"]


@needs_gxx
def test_a_run_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    result = call("run", SWISH, "--model", "gpt9", "--runs-dir", tmp_path / "runs", "--json")
    assert result.exit_code == 2
    assert the_object(result.stdout)["status"] == "FAILED"
    assert not (tmp_path / "runs").exists()


def test_an_unknown_model_is_the_callers_mistake(tmp_path: Path) -> None:
    options = ("--executor", "emulated", "--runs-dir", tmp_path, "--model", "nobody")
    result = call("run", SWISH, *options, "--json")
    assert result.exit_code == 2
    error = the_object(result.stdout)
    assert error["kind"] == "usage"
    assert "use playbook" in error["error"]


@needs_gxx
def test_a_service_without_a_key_is_the_surroundings_fault(tmp_path: Path) -> None:
    options = ("--executor", "emulated", "--runs-dir", tmp_path, "--model", "openai:any")
    result = call("run", SWISH, *options, "--json")
    assert result.exit_code == 3
    assert "OPENAI_API_KEY" in result.stdout


@needs_no_gpu
def test_cuda_without_a_gpu_is_the_surroundings_fault(tmp_path: Path) -> None:
    result = call("run", SWISH, "--runs-dir", tmp_path, "--executor", "cuda", "--json")
    assert result.exit_code == 3
    error = the_object(result.stdout)
    assert error["kind"] == "environment"
    assert error["error"] in result.stderr


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (("--executor", "tpu"), "emulated"),
        (("--executor", "emulated", "--run-id", "../else"), "run id"),
        (("--steps", "-1"), "--steps"),
        (("--math", "fp7"), "--math"),
    ],
)
def test_options_that_mean_nothing(options: tuple[str, ...], word: str, tmp_path: Path) -> None:
    result = call("run", SWISH, "--runs-dir", tmp_path / "runs", *options)
    assert result.exit_code == 2
    assert result.stdout == ""
    assert word in result.stderr


def test_a_folder_that_is_no_run(tmp_path: Path) -> None:
    result = call("resume", tmp_path, "--json")
    assert result.exit_code == 2
    assert "is no run folder" in the_object(result.stdout)["error"]
    assert call("resume", tmp_path / "absent").exit_code == 2
    assert list(tmp_path.iterdir()) == []


@needs_gxx
def test_a_right_kernel_passes(evaluate: Callable[..., Result]) -> None:
    result = evaluate(KERNEL, "--json")
    answer = the_object(result.stdout)
    assert (result.exit_code, answer["status"], answer["executor"]) == (0, "PASSED", "emulated")
    assert answer["evidence"]["errors"]
    assert answer["measurement"]["state"] == "UNMEASURED"
    told = evaluate(KERNEL)
    assert told.exit_code == 0
    assert told.stdout.startswith("PASSED as exact as PyTorch")
    assert "not measured: " in told.stdout


@needs_gxx
def test_a_wrong_kernel_fails(evaluate: Callable[..., Result]) -> None:
    wrong = KERNEL.replace("(1.0f + expf", "(1.0f - expf")
    assert wrong != KERNEL
    result = evaluate(wrong, "--json")
    answer = the_object(result.stdout)
    assert (result.exit_code, answer["status"]) == (1, "WRONG_VALUES")
    assert answer["measurement"] is None
    (error,) = answer["evidence"]["errors"]
    assert error["error"] > error["bound"]
    assert error["bad_count"] > 0


@needs_gxx
@needs_gxx
def test_an_answer_is_kept_where_it_is_asked_for(
    evaluate: Callable[..., Result], tmp_path: Path
) -> None:
    evaluate("nothing", "--runs-dir", str(tmp_path / "runs"))
    (kept,) = (tmp_path / "runs" / "evaluations").glob("*.json")
    answer = json.loads(kept.read_text())
    assert answer["status"] == "COMPILE_ERROR"
    assert answer["source"] == "nothing"


@needs_gxx
def test_a_model_says_why_a_kernel_failed(evaluate: Callable[..., Result], tmp_path: Path) -> None:
    recording = tmp_path / "opinion.jsonl"
    reply = "CAUSE: the file holds one word\nLINE: 1\nCHANGE: write a kernel"
    recording.write_text(json.dumps({"agent": "diagnostician", "reply": reply}) + "\n")
    result = evaluate("nothing", "--model", f"replay:{recording}", "--json")
    (cause,) = the_object(result.stdout)["causes"]
    assert cause["cause"] == "the file holds one word"


def test_a_source_without_the_entry_point_fails(evaluate: Callable[..., Result]) -> None:
    result = evaluate("__global__ void kernel() {}\n", "--json")
    answer = the_object(result.stdout)
    assert (result.exit_code, answer["status"]) == (1, "COMPILE_ERROR")
    assert "cutegen_launch" in answer["evidence"]["summary"]


def test_no_compiler_is_not_the_kernels_fault(evaluate: Callable[..., Result]) -> None:
    result = evaluate(KERNEL, "--json", PATH="", CXX=None)
    assert result.exit_code == 3
    answer = the_object(result.stdout)
    assert answer["status"] == "ENVIRONMENT"
    assert "install g++" in json.dumps(answer["evidence"])


@pytest.mark.parametrize(
    ("status", "state", "code"),
    [
        (Status.PASSED, MeasurementState.MEASURED, 0),
        (Status.PASSED, MeasurementState.UNMEASURED, 0),
        (Status.PASSED, MeasurementState.REFUSED, 1),
        (Status.CHEAT, None, 1),
        (Status.RESOURCE, None, 3),
        (Status.ENVIRONMENT, None, 3),
    ],
)
def test_the_exit_code_tells_whose_fault_it_is(
    status: Status, state: MeasurementState | None, code: int
) -> None:
    verdict = Verdict(status=status, executor="cuda", evidence=Evidence(summary="seen"))
    measurement = None if state is None else Measurement(state=state, reason="because")
    assert exit_of_verdict(verdict, measurement) == code


def test_spec_prints_the_header() -> None:
    result = call("spec", SWISH)
    assert result.exit_code == 0
    assert "struct CutegenArgs {" in result.stdout
    assert "float const* x;  // input, 256 x 1000" in result.stdout


def test_spec_as_an_object_holds_the_header() -> None:
    result = call("spec", SWISH, "--math", "tf32", "--json")
    answer = the_object(result.stdout)
    assert result.exit_code == 0
    assert answer["header"] == call("spec", SWISH).stdout
    assert (answer["name"], answer["math_mode"]) == ("small_swish", "tf32")
    plain = the_object(call("spec", SWISH, "--json").stdout)
    assert plain["id"] != answer["id"]  # another arithmetic is another task


def test_what_a_spec_prints_is_no_part_of_the_answer(tmp_path: Path) -> None:
    talkative = tmp_path / "talkative.py"
    talkative.write_text("print('hello')\n" + Path(SWISH).read_text())
    result = call("spec", talkative, "--json")
    assert the_object(result.stdout)["name"] == "talkative"


def test_a_file_without_a_model(tmp_path: Path) -> None:
    (tmp_path / "empty.py").write_text("import torch\n")
    done = call_program(tmp_path, "spec", "empty.py", "--json")
    assert done.returncode == 2
    error = the_object(done.stdout)
    assert error["kind"] == "usage"
    assert "defines no class Model" in error["error"]
    assert done.stderr == f"cutegen: {error['error']}\n"
    told = call("run", tmp_path / "empty.py")
    assert told.exit_code == 2
    assert told.stdout == ""
    assert "defines no class Model" in told.stderr


_LOADED = """
import sys
from cutegen.cli import app
families = {name.partition(".")[0] for name in sys.modules}
print(*sorted(families & {"torch", "numpy", "pydantic"}), file=sys.stderr)
try:
    app(sys.argv[1:], standalone_mode=False)
finally:
    families = {name.partition(".")[0] for name in sys.modules}
    unwanted = {"langgraph", "langchain_core", "langchain_openai", "langsmith", "openai"}
    print(*sorted(families & unwanted), file=sys.stderr)
"""


@needs_gxx
def test_judging_a_kernel_loads_no_graph_and_no_model_client(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_text(KERNEL)
    words = ("evaluate", "kernel.cu", "--spec", SWISH, "--executor", "emulated", "--json")
    done = subprocess.run(
        [sys.executable, "-c", _LOADED, *words],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=240,
    )
    assert the_object(done.stdout)["status"] == "PASSED"
    assert done.stderr.splitlines() == ["", ""]  # nor PyTorch, before it is needed


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("run", "absent.py", "--json"), "absent.py"),
        (("evaluate", SWISH, "--json"), "--spec"),
        (("run", SWISH, "--json", "--stepz", "1"), "--steps"),
        (("runz", "--json"), "runs"),
        (("runs", "show", "--json"), "RUN"),
        (("run", SWISH, "--math", "fp7", "--json"), "--math"),
    ],
)
def test_what_typer_refuses_is_told_as_an_object_too(words: tuple[str, ...], said: str) -> None:
    refused = call(*words)
    assert refused.exit_code == 2
    error = the_object(refused.stdout)
    assert error["kind"] == "usage"
    assert said in error["error"]
    assert refused.stderr == f"cutegen: {error['error']}\n"


def test_a_kernel_that_is_no_text(tmp_path: Path) -> None:
    (tmp_path / "kernel.cu").write_bytes(b"\xf3\x00")
    result = call("evaluate", tmp_path / "kernel.cu", "--spec", SWISH, "--json")
    assert result.exit_code == 2
    assert "kernel.cu is no UTF-8 text" in the_object(result.stdout)["error"]


def test_the_program_says_which_version_it_is() -> None:
    result = call("--version")
    assert (result.exit_code, result.stdout) == (0, f"cutegen {version('cutegen')}\n")


def test_help_names_every_command() -> None:
    result = call("--help")
    assert result.exit_code == 0
    for command in (*COMMANDS, "runs"):
        assert f" {command} " in result.stdout


@pytest.mark.parametrize("command", [*COMMANDS, "runs list", "runs show", "runs prune"])
def test_the_help_of_a_command_has_an_example_and_json(command: str) -> None:
    told = call(*command.split(), "--help").stdout
    assert f"cutegen {command} " in told.split("Example")[1]
    assert "--json" in told


def test_a_shell_completes_commands_and_options() -> None:
    words = {"_CUTEGEN_COMPLETE": "complete_bash", "COMP_WORDS": "cutegen ev", "COMP_CWORD": "1"}
    assert CliRunner().invoke(app, [], env=words, prog_name="cutegen").stdout == "evaluate\n"
    words |= {"COMP_WORDS": "cutegen run --allow", "COMP_CWORD": "2"}
    completed = CliRunner().invoke(app, [], env=words, prog_name="cutegen").stdout
    assert completed.split() == ["--allow-simplify"]
