import json
from pathlib import Path

import pytest

from headrace.cli.exits import Exit, exit_of, exit_of_end
from headrace.cli.planning import MAX_ROUNDS, first_of, reworded
from headrace.client import models as m
from headrace.guardrails.language import Context, interpret

LANGUAGE = Path(__file__).parents[2] / "pure" / "language"
ANSWERS = {
    "include": "",
    "source": "krios1:/a", "destination": "archive:/b", "rate_limit_bps": "2 Gb/s", "start": "2026-12-05 02:00 UTC",
    "deadline": "2026-12-05 02:00 UTC", "window": "between 22:00 and 05:00", "repeat": "every weekday at 22:00",
    "modified_after": "modified after 2026-03-04", "action": "copy", "delete_extraneous": "", "delete_source": "",
}  # fmt: skip
"""What a person may answer, by what is asked."""


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
        ("copy a:/x to archve:/y", ("destination", "to archve:/y"), "archive:/y", "copy a:/x to archive:/y"),
        ("copy a:/x to archve:/y", ("destination", "to archve:/y"), "into archive:/y/", "copy a:/x into archive:/y/"),
        (
            "copy a:/x to b:/y --bwlimit 10M",
            ("rate_limit_bps", "--bwlimit 10M"),
            "10 MB/s",
            "copy a:/x to b:/y --bwlimit 10 MB/s",
        ),
        (
            "By the way, tea is up. copy a to b",
            ("action", "By the way, tea is up. copy a to b"),
            "copy a to b",
            "copy a to b",
        ),
        ("use 40% of the link for a:/x", ("rate_limit_bps", "use 40% of the link"), "2 Gb/s", "at 2 Gb/s for a:/x"),
    ],
)
def test_an_answer_takes_the_place_of_the_words_asked_about(
    words: str, question: tuple[str, str | None], answer: str, sentence: str
) -> None:
    slot, about = question
    assert reworded(words, m.Question(slot=slot, message="?", words=about), answer) == sentence


def test_every_unclear_request_for_a_transfer_becomes_clear_by_answering() -> None:
    """With the real language and its corpus: the sentence that answers make is understood, in a few rounds."""
    known = Context.from_json(json.loads((LANGUAGE / "context.json").read_text()))
    texts = [json.loads(line)["text"] for line in (LANGUAGE / "dev.jsonl").read_text().splitlines()]
    asked = 0
    for text in texts:
        words, read = text, interpret(text, known)
        if read.outcome != "ask" or "target" in read.ask:
            continue
        asked += 1
        for _ in range(MAX_ROUNDS):
            if read.outcome != "ask":
                break
            questions = [
                m.Question(slot=q.slot, message=q.message, words=q.words, start=q.start, end=q.end)
                for q in read.questions
            ]
            question = first_of(questions)
            choices = read.questions[questions.index(question)].choices
            # Words for a place that was given already are left out.
            answer = "" if ANSWERS[question.slot] in words else ANSWERS[question.slot]
            words = reworded(words, question, choices[0].value if choices else answer)
            read = interpret(words, known)
        assert read.outcome == "intent", (text, words, read.questions)
    assert asked >= 25


@pytest.mark.parametrize(
    ("code", "status", "exit_code"),
    [
        ("not_signed_in", 401, Exit.NOT_SIGNED_IN),
        ("session_needed", 403, Exit.NOT_SIGNED_IN),
        ("denied_by_policy", 403, Exit.REFUSED),
        ("forbidden", 403, Exit.REFUSED),
        ("deadline_infeasible", 422, Exit.REFUSED),
        ("quota_exceeded", 429, Exit.REFUSED),
        ("class_above_policy", 409, Exit.REFUSED),
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


def test_an_answer_takes_the_place_of_the_words_that_are_meant_and_not_of_the_same_words_in_a_path() -> None:
    question = m.Question(slot="exclude", message="?", words="with", start=30, end=34)
    said = reworded("sync dtn3:/with to archive:/b with *.tmp", question, "without")
    assert said == "sync dtn3:/with to archive:/b without *.tmp"
