"""What a diagnosis says of a transfer that failed."""

from headrace.api.transfers.diagnosis import after_failure
from headrace.client import models as m


def test_the_diagnosis_of_a_failed_transfer_says_first_how_it_ended_and_advises_no_more_speed() -> None:
    before = m.Diagnosis(
        transfer="tr_1", limit=m.Limit.CEILING, said="its rate ceiling holds it back", remedy=["raise it"]
    )
    after = after_failure(before, "no_space")
    assert after.said == "it failed (`no_space`; its error says more). Before that, its rate ceiling holds it back"
    assert (after.limit, after.remedy) == (m.Limit.NOT_RUNNING, [])
