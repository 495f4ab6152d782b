"""A question about an amount, a time or a place says what to write instead."""

import json

import pytest
from tests.pure.language.made import CONTEXT, HERE, ROUTE, read

from headrace.guardrails.language import Context


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("no faster than 10 gig", "write b for bits or B for bytes, such as 5 Gb/s"),
        ("no faster than 600 mb/s", "write b for bits or B for bytes, such as 5 Gb/s"),
        ("no faster than 50%", "write one in bits or bytes a second, such as 2 Gb/s"),
        ("at most 0 Mb/s", "give a number above zero, or leave it out"),
        ("only files larger than 10 Gb", "write it with B, such as 10 GB"),
        ("start on 2020-01-01 at 10:00", "name a time ahead"),
        ("only files modified after 2100-01-01", "name a"),
        ("as fast as possible", "leave this out"),
        ("at full speed, high priority", "leave this out"),
        ("without tmp files", "a pattern, such as *.tmp"),
        ("only files from last week", "newer than 7 days"),
    ],
)
def test_what_is_unclear_about_an_amount_or_a_time_is_asked_with_how_to_write_it(words: str, told: str) -> None:
    said = [question.message for question in read(f"{ROUTE}, {words}").questions]
    assert any(told in message for message in said), said


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ("copy krios1:raw/a to archive:/b", "it must start with /, such as /data/run42"),
        ("copy krios1/raw to archive:/b", "write `krios1:/raw`"),
        ("copy the report from krios1:/docs to archive:/docs", "write where it is, as `krios1:/report`"),
        ("copy krios1:/raw/../etc to archive:/b", "write the folder that you mean"),
        ("copy //host/share to archive:/b", "write `endpoint:/path`"),
        ("copy https://user@nowhere.example/a to archive:/b", "write it without"),
        ("copy https://nowhere.example/a to archive:/b", "`headrace endpoints` lists them"),
    ],
)
def test_a_place_that_can_not_be_meant_is_answered_with_how_to_write_one(words: str, told: str) -> None:
    answer = read(words)
    said = [question.message for question in answer.questions] + [refusal.message for refusal in answer.refusals]
    assert any(told in message for message in said), said


@pytest.mark.parametrize(
    ("words", "told", "not_told"),
    [
        (
            "please do my homework",
            "say what to do: copy, sync or move; for transfers that there are, use `headrace",
            "",
        ),
        ("compress archive:/photos", "`compress` is not understood; Headrace copies, syncs and moves files, and", ""),
        (
            "compress archive:/photos and mail it to bob",
            "Headrace copies, syncs and moves files, and",
            "say to or from",
        ),
        ("list archive:/photos", "`headrace browse ENDPOINT:/PATH`", ""),
        ("what is on archive", "`headrace browse ENDPOINT:/PATH`", ""),
        ("undo the last transfer", "nothing undoes a transfer: to have files back where they were, copy", "say pause"),
        ("roll back the last transfer", "`headrace losses PLAN` lists", "say pause"),
        ("restart the last transfer", "say pause", "undoes"),
        ("delete archive:/photos", "`headrace sync SOURCE DESTINATION --delete`", "say copy or move"),
        (f"{ROUTE} at 20 Gbs", "write Gb/s for bits or GB/s for bytes", "such as 5 Gb/s"),
        (f"{ROUTE} using 4 streams", "`--streams 4`", "file or folder"),
        (f"{ROUTE} with 8 parallel connections", "`--streams 4`", "file or folder"),
    ],
)
def test_what_can_not_be_done_in_words_is_answered_with_what_can(words: str, told: str, not_told: str) -> None:
    said = [question.message for question in read(words).questions]
    assert any(told in message for message in said), said
    assert not not_told or not any(not_told in message for message in said), said


NO_PLAN = Context.from_json(
    {name: known for name, known in json.loads((HERE / "context.json").read_text("utf-8")).items() if name != "plans"}
)


@pytest.mark.parametrize("context", [CONTEXT, NO_PLAN])
@pytest.mark.parametrize(
    ("words", "first"),
    [
        ("undo the last transfer", "nothing undoes a transfer"),
        ("delete archive:/photos", "nothing deletes on its own"),
        ("compress archive:/photos", "`compress` is not understood; Headrace copies, syncs and moves files"),
        ("compress archive:/photos and mail it to bob", "`compress` is not understood; Headrace copies, syncs"),
    ],
)
def test_what_can_not_be_done_is_said_before_what_only_follows_from_it(
    words: str, first: str, context: Context
) -> None:
    said = [question.message for question in read(words, context).questions]
    assert said[0].startswith(first), said


@pytest.mark.parametrize("words", ["browse archive:/photos", "show me the files in archive:/photos"])
def test_who_wants_to_look_into_a_folder_is_told_the_command_first(words: str) -> None:
    assert "`headrace browse ENDPOINT:/PATH`" in read(words).questions[0].message


@pytest.mark.parametrize("words", ["undo the last transfer", "cancel the last transfer"])
def test_words_that_can_mean_several_transfers_are_asked_for_an_id_and_not_for_other_words(words: str) -> None:
    [said] = [question.message for question in read(words).questions if question.slot == "target"]
    assert said == "`the last transfer` can mean several transfers: name one by its id"
