"""What a diagnosis says of a transfer that failed."""

from headrace.api.transfers.diagnosis import after_failed_files, after_failure
from headrace.client import models as m


def test_the_diagnosis_of_a_failed_transfer_says_first_how_it_ended_and_advises_no_more_speed() -> None:
    before = m.Diagnosis(
        transfer="tr_1", limit=m.Limit.CEILING, said="its rate ceiling holds it back", remedy=["raise it"]
    )
    after = after_failure(before, "no_space")
    assert after.said == "it failed (`no_space`; its error says more). Before that, its rate ceiling holds it back"
    assert (after.limit, after.remedy) == (m.Limit.NOT_RUNNING, [])
    given_up = after_failure(before, "no_progress", "no_space").said
    assert given_up.startswith("it failed (`no_progress`, its last attempt by `no_space`; its error says more)")


def test_the_diagnosis_of_a_transfer_that_ended_in_part_says_first_by_which_codes_files_failed() -> None:
    before = m.Diagnosis(
        transfer="tr_1", limit=m.Limit.CEILING, said="its rate ceiling holds it back", remedy=["raise it"]
    )
    after = after_failed_files(before, "tr_1", {"source_vanished": 1, "no_space": 3})
    assert after.said == (
        "4 files did not arrive: 3 `no_space`, 1 `source_vanished`; `headrace failed tr_1` lists them. "
        "Of its speed: its rate ceiling holds it back"
    )
    assert after.limit is m.Limit.CEILING
    assert after.remedy == ["Free space or quota at the destination, then retry the failed files.", "raise it"]
    unmeasured = after_failed_files(None, "tr_1", {f"code_{number}": 1 for number in range(9)})
    assert unmeasured.said == (
        "9 files did not arrive: 1 `code_0`, 1 `code_1`, 1 `code_2`, 1 `code_3`, and others; "
        "`headrace failed tr_1` lists them"
    )
