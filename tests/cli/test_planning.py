import pytest

from headrace.cli.exits import Exit, exit_of, exit_of_end
from headrace.cli.planning import reworded
from headrace.client import models as m


@pytest.mark.parametrize(
    ("words", "question", "answer", "sentence"),
    [
        ("copy a to b at 10 gig", ("rate_limit_bps", "10 gig"), "10 Gb/s", "copy a to b at 10 Gb/s"),
        ("copy krios:/x to b:/", ("source", "krios"), "krios1", "copy krios1:/x to b:/"),
        ("copy a:/x", ("destination", None), "b:/y", "copy a:/x to b:/y"),
        ("copy a:/x", ("destination", None), "to b:/y", "copy a:/x to b:/y"),
        ("copy to b:/y", ("source", None), "a:/x", "copy to b:/y from a:/x"),
        ("a:/x to b:/y", ("action", None), "copy", "copy a:/x to b:/y"),
        ("copy a to b", ("start", None), "tomorrow at 6:00", "copy a to b tomorrow at 6:00"),
    ],
)
def test_an_answer_takes_the_place_of_the_words_asked_about(
    words: str, question: tuple[str, str | None], answer: str, sentence: str
) -> None:
    slot, about = question
    assert reworded(words, m.Question(slot=slot, message="?", words=about), answer) == sentence


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("not_signed_in", 401, Exit.NOT_SIGNED_IN),
        ("session_needed", 403, Exit.NOT_SIGNED_IN),
        ("denied_by_policy", 403, Exit.REFUSED),
        ("forbidden", 403, Exit.REFUSED),
        ("needs_confirmation", 409, Exit.NEEDS_YES),
        ("needs_approval", 409, Exit.NEEDS_YES),
        ("service_unreachable", 503, Exit.UNREACHABLE),
        ("node_away", 503, Exit.UNREACHABLE),
        ("invalid_request", 422, Exit.USAGE),
        ("unknown_plan", 404, Exit.FAILED),
    ],
)
def test_a_problem_has_an_exit_code(code: str, status: int, exit_code: Exit) -> None:
    assert exit_of(m.Problem(title=code, status=status, code=code, detail="d")) == exit_code


@pytest.mark.parametrize(
    ("state", "exit_code"),
    [("complete", Exit.DONE), ("partial", Exit.PARTIAL), ("failed", Exit.FAILED), ("canceled", Exit.FAILED)],
)
def test_an_ended_transfer_has_an_exit_code(state: str, exit_code: Exit) -> None:
    given = {
        "id": "tr_1", "plan": "pl_1", "plan_digest": "0" * 64, "state": state, "requester": "anna", "action": "copy",
        "source": "a:/x", "destination": "b:/x", "created": "2026-11-25T14:30:00Z",
    }  # fmt: skip
    assert exit_of_end(m.Transfer.model_validate(given)) == exit_code
