"""Records of the emulator, and what other things a candidate may put in their place."""

from cutegen.execution.reports import Report, parse_reports
from cutegen.status import Status


def test_records_and_the_lines_they_name() -> None:
    race_record = "fault\x1fRACE\x1fsoftmax\x1fat line 7 and line 9\x1fline 7: a\x1fline 11: b"
    text = f"{race_record}\x1enote\x1fDIVERGENCE\x1fk\x1fodd"
    race, note = parse_reports(text)
    assert race == Report(
        True, Status.RACE, "softmax", "at line 7 and line 9", ("line 7: a", "line 11: b")
    )
    assert race.lines == [7, 9, 11]
    assert (note.fatal, note.details, note.lines) == (False, (), [])


def test_what_is_no_record_is_left_out() -> None:
    assert parse_reports("") == ()
    assert parse_reports("fault\x1fNOT_A_STATUS\x1fk\x1ftext\x1efault\x1fRACE\x1enonsense") == ()
