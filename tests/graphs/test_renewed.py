"""Fingerprints of runs that were recorded by older rules."""

from pathlib import Path

from cutegen.graphs.renewed import renewed
from cutegen.history import Decision, Step, StepKind
from cutegen.kernel import Candidate
from cutegen.store import Ledger, Store
from cutegen.structure import VERSION, Fingerprint, fingerprint

SOURCE = (Path(__file__).parent / "kernels" / "swish.cu").read_text()
OLD = Fingerprint(features={"mma": "SM80_16x8x16_F32F16F16F32_TN"})


def recorded(found: Fingerprint) -> Step:
    return Step(
        index=0,
        kind=StepKind.SYNTHESIS,
        agent="somebody",
        intent="",
        candidate="c",
        decision=Decision.ACCEPTED,
        fingerprint=found,
    )


def test_an_older_fingerprint_is_read_anew_from_the_source(tmp_path: Path) -> None:
    store, ledger = Store(tmp_path / "objects"), Ledger(tmp_path / "ledger.sqlite")
    assert OLD.version < VERSION
    assert renewed(recorded(OLD), ledger, store).fingerprint is None
    ledger.record_candidate(
        Candidate(id="c", source=store.put(SOURCE), parent="", author="", intent="")
    )
    today = fingerprint(SOURCE)
    assert renewed(recorded(OLD), ledger, store).fingerprint == today
    built = today.model_copy(update={"contradicted": ("something",)})
    assert renewed(recorded(built), ledger, store).fingerprint == built
