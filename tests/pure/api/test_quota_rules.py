"""Quotas: how the site's file is read, whom each concerns, and what stands against one more transfer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from headrace.api.policy.quota_rules import (
    Limit,
    Quota,
    Used,
    Whose,
    against,
    limit_of,
    limits_of,
    read_quotas,
    renewal,
)
from headrace.api.settings import SettingError

RENEWS = datetime(2026, 11, 26, tzinfo=UTC)
ADA = Whose("pn_1", "ada", None, {"cryo", "staff"}, "lab:/raw/x", "archive:/raw/x")


def keys(*quotas: Quota, whose: Whose = ADA) -> list[str]:
    return [limit.key for limit in limits_of(quotas, whose)]


def one(of: str, subject: str, **limits: int) -> Quota:
    return Quota.model_validate({"of": of, "subject": subject, **(limits or {"transfers": 1})})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[quota]]\nof = 'person'\nsubject = '*'\nbytes_a_day = 0", "`quota` 1, `bytes_a_day`"),
        ("[[quota]]\nof = 'person'\nsubject = '*'", "give `bytes_a_day`, `files_a_day` or `transfers`"),
        ("[[quota]]\nof = 'room'\nsubject = '*'\ntransfers = 1", "`quota` 1, `of`"),
        ("[[quota]]\nof = 'destination'\nsubject = '*'\ntransfers = 1", "`*` is not `endpoint:/path`"),
        ("[[quota]]\nof = 'person'\nsubject = '*'\nbytes = 1", "`quota` 1, `bytes`"),
        ("[[quota]]\nof = 'agent'\nsubject = 'a'\ntransfers = 1\n" * 2, "the agent `a` has two quotas"),
        ("quota = 3", "quota"),
        ("[[", "is not TOML"),
        (None, "can't be read: No such file"),
    ],
)
def test_a_file_that_can_not_be_used_is_refused_with_what_is_wrong_in_it(
    text: str | None, said: str, tmp_path: Path
) -> None:
    file = tmp_path / "quotas.toml"
    if text is not None:
        file.write_text(text)
    with pytest.raises(SettingError) as error:
        read_quotas(str(file))
    assert said in str(error.value)
    assert "HEADRACE_QUOTAS" in str(error.value)


def test_a_transfer_counts_for_its_person_groups_assistant_and_places() -> None:
    everybody = [one(of, "*") for of in ("person", "group", "agent", "endpoint")]
    assert keys(*everybody) == ["person:pn_1", "group:cryo", "group:staff", "endpoint:lab", "endpoint:archive"]
    helped = Whose("pn_1", "ada", "helper", (), "lab:/a", "lab:/b")
    assert keys(*everybody, whose=helped) == ["person:pn_1", "agent:pn_1/helper", "endpoint:lab"]
    assert keys(one("person", "bob"), one("group", "other"), one("endpoint", "tape")) == []
    assert keys(one("person", "ada"), one("group", "cryo")) == ["person:pn_1", "group:cryo"]


def test_a_transfer_counts_for_the_project_that_it_names_whoever_asks() -> None:
    named = [Whose(person, "", None, (), "lab:/a", "lab:/b", "cryo-em") for person in ("pn_1", "pn_2")]
    quotas = [one("project", "*"), one("project", "cryo-em", transfers=9)]
    for whose in named:
        assert keys(*quotas, whose=whose) == ["project:cryo-em"]
        assert [limit.quota for limit in limits_of(quotas, whose)] == [quotas[1]]
    other = Whose("pn_1", "", None, (), "lab:/a", "lab:/b", "Cryo-EM")
    assert keys(*quotas, whose=other) == ["project:Cryo-EM"], "names of projects are compared as they are"
    assert keys(*quotas) == [], "what names none counts for none"
    found = limit_of(quotas, "project:cryo-em")
    assert found is not None
    refused = against(found, Used(transfers=9), Used(transfers=1), RENEWS)
    assert refused is not None
    assert "the quota of project `cryo-em`" in refused.said


def test_the_quota_of_one_stands_in_the_place_of_that_of_each() -> None:
    own = one("person", "ada", transfers=9)
    assert [limit.quota for limit in limits_of([one("person", "*"), own], ADA)] == [own]
    assert [limit.quota for limit in limits_of([own, one("person", "*")], ADA)] == [own]


def test_whoever_chooses_another_persons_name_elsewhere_has_not_their_quota() -> None:
    quotas = [one("person", "*"), one("person", "Ada", transfers=9)]
    eve = Whose("pn_2", "", None, (), "lab:/a", "lab:/b")
    assert [limit.quota for limit in limits_of(quotas, eve)] == [quotas[0]]
    assert [limit.quota for limit in limits_of(quotas, ADA)] == [quotas[1]], "case does not tell two names apart"
    by_id = one("person", "pn_2", transfers=2)
    assert [limit.quota for limit in limits_of([*quotas, by_id], eve)] == [by_id]
    found = limit_of(quotas, "person:pn_2", "")
    assert found is not None
    assert found.quota is quotas[0]


def test_an_assistant_is_one_persons_and_uses_up_nobody_elses_of_the_same_name() -> None:
    nightly = one("agent", "nightly")
    ada, eve = (Whose(person, "", "nightly", (), "lab:/a", "lab:/b") for person in ("pn_1", "pn_2"))
    for quotas in ([nightly], [one("agent", "*")]):
        assert keys(*quotas, whose=ada) == ["agent:pn_1/nightly"]
        assert keys(*quotas, whose=eve) == ["agent:pn_2/nightly"]
    found = limit_of([nightly, one("agent", "*")], "agent:pn_2/nightly")
    assert found is not None
    assert (found.quota, found.name) == (nightly, "nightly")


@pytest.mark.parametrize(
    ("folder", "counts"),
    [
        ("archive:/", 1),
        ("archive:/raw", 1),
        ("archive:/raw/x", 1),
        ("archive:/ra", 0),
        ("archive:/raw/x/y", 1),
        ("archive:/raw/xy", 0),
        ("lab:/raw", 0),
    ],
)
def test_a_destination_counts_for_its_folder_those_above_and_those_in_it(folder: str, counts: int) -> None:
    assert keys(one("destination", folder)) == [f"destination:{folder}"] * counts


BYTES = one("group", "cryo", bytes_a_day=100)
FILES = one("group", "cryo", files_a_day=5)
AT_ONCE = one("group", "cryo", transfers=2)


@pytest.mark.parametrize(
    ("quota", "used", "wanted", "said"),
    [
        (BYTES, Used(bytes=90), Used(bytes=10), ""),
        (
            BYTES,
            Used(bytes=90),
            Used(bytes=11),
            "10 B of 100 B a day are left of the quota of group",
        ),
        (BYTES, Used(bytes=190), Used(bytes=1), "0 B of 100 B"),
        (BYTES, Used(), Used(bytes=101), "Ask for less at a time"),
        (
            BYTES,
            Used(bytes=100),
            Used(bytes=1),
            "at 2026-11-26 00:00 UTC. Ask for less, or start it then",
        ),
        (FILES, Used(files=3), Used(files=2), ""),
        (FILES, Used(files=3), Used(files=3), "2 of 5 files a day are left"),
        (FILES, Used(files=4), Used(files=3), "1 of 5 files a day is left"),
        (AT_ONCE, Used(transfers=1), Used(transfers=1), ""),
        (AT_ONCE, Used(transfers=1), Used(transfers=2), "1 transfer under the quota of group `cryo` has not ended"),
        (
            AT_ONCE,
            Used(transfers=2),
            Used(transfers=1),
            "2 transfers under the quota of group `cryo` have not ended, and 2 may",
        ),
    ],
)
def test_what_goes_over_a_quota_is_told_what_is_left_and_when_it_renews(
    quota: Quota, used: Used, wanted: Used, said: str
) -> None:
    found = against(Limit(quota, "group:cryo"), used, wanted, RENEWS)
    assert said in (found.said if found else "")
    assert (found is None) == (said == "")


@pytest.mark.parametrize(
    ("quota", "used", "wanted", "after_s"),
    [
        (BYTES, Used(bytes=100), Used(bytes=1), 90),
        (BYTES, Used(), Used(bytes=101), None),
        (FILES, Used(files=5), Used(files=5), 90),
        (FILES, Used(), Used(files=6), None),
        (AT_ONCE, Used(transfers=2), Used(transfers=1), None),
    ],
)
def test_what_goes_over_a_quota_passes_when_it_renews_if_the_whole_of_it_would_do(
    quota: Quota, used: Used, wanted: Used, after_s: int | None
) -> None:
    found = against(Limit(quota, "group:cryo"), used, wanted, RENEWS)
    assert found is not None
    assert found.passes_after_s(RENEWS - timedelta(seconds=89.5)) == after_s
    assert found.passes_after_s(RENEWS + timedelta(seconds=5)) == (after_s and 1)


def test_a_day_ends_at_the_site_s_midnight_also_when_clocks_change() -> None:
    assert renewal("2026-11-25", "UTC") == RENEWS
    assert renewal("2026-03-28", "Europe/Berlin") == datetime(2026, 3, 28, 23, tzinfo=UTC)
    assert renewal("2026-03-29", "Europe/Berlin") == datetime(2026, 3, 29, 22, tzinfo=UTC)


def test_what_counts_under_a_person_is_held_to_the_quota_of_the_name_before_that_of_everybody() -> None:
    quotas = [one("person", "*"), one("person", "ada"), one("agent", "ada", files_a_day=1)]
    found = limit_of(quotas, "person:pn_1", "ada")
    assert found is not None
    assert (found.quota, found.key) == (quotas[1], "person:pn_1")
    everybody = limit_of(quotas, "person:pn_2", "bea")
    assert everybody is not None
    assert everybody.quota is quotas[0]
    assert limit_of(quotas, "group:staff") is None
