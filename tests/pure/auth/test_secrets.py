import re
import unicodedata
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from headrace.auth import AuthError, Pepper, Role, Scope, passwords, scopes_of
from headrace.auth.passwords import check_name, check_password, fold, hash_password, needs_rehash, password_fits
from headrace.auth.secret_forms import (
    invitation_person,
    make_invitation,
    make_session,
    make_token,
    session_person,
    token_id,
)
from headrace.auth.throttle import Limit, Throttle

PEPPER = Pepper(b"p" * 32)
NOW = datetime(2026, 11, 25, tzinfo=UTC)


def test_a_token_says_what_it_is_and_carries_its_id() -> None:
    made = make_token()
    assert re.fullmatch(r"hrt_[0-9a-f]{16}_[a-z2-7]{52}[0-9a-f]{8}", made.text)
    assert token_id(made.text) == made.id
    assert made.text not in repr(made)


def test_secrets_of_each_kind_are_told_apart_and_never_repeat() -> None:
    kinds = (make_token, lambda: make_session("pn_1"), lambda: make_invitation("pn_2"))
    made = [make().text for make in kinds for _ in range(50)]
    assert len(set(made)) == 150
    assert [session_person(text) for text in made] == [None] * 50 + ["pn_1"] * 50 + [None] * 50
    assert [invitation_person(text) for text in made] == [None] * 100 + ["pn_2"] * 50
    assert [token_id(text) is not None for text in made] == [True] * 50 + [False] * 100


@given(st.data())
def test_a_mistyped_token_is_noticed_before_anything_is_looked_up(data: st.DataObject) -> None:
    text = make_token().text
    at = data.draw(st.integers(0, len(text) - 1))
    other = data.draw(st.characters().filter(lambda character: character != text[at]))
    assert token_id(text[:at] + other + text[at + 1 :]) is None


@given(st.text())
def test_any_other_text_is_no_secret(text: str) -> None:
    assert token_id(text) is None
    assert session_person(text) is None
    assert invitation_person(text) is None


def test_what_is_stored_is_a_keyed_hash_that_fits_only_its_secret() -> None:
    text = make_token().text
    stored = PEPPER.hash(text)
    assert PEPPER.fits(text, stored)
    assert not PEPPER.fits(text + "x", stored)
    assert not Pepper(b"q" * 32).fits(text, stored)
    assert text not in stored
    with pytest.raises(ValueError, match="31"):
        Pepper(b"p" * 31)


def test_a_password_is_stored_as_argon2id_and_checked_in_any_normal_form() -> None:
    stored = hash_password("crème brûlée forever")
    assert stored.startswith("$argon2id$")
    assert password_fits(unicodedata.normalize("NFD", "crème brûlée forever"), stored)
    assert not password_fits("creme brulee forever", stored)
    assert not needs_rehash(stored)
    assert needs_rehash(stored.replace("t=3", "t=2"))


def test_without_a_stored_hash_no_password_fits_and_it_takes_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not needs_rehash(passwords._NOBODY)  # noqa: SLF001 - nobody else asks for it
    monkeypatch.setattr(passwords, "_NOBODY", hash_password("nobody has this password"))
    assert not password_fits("nobody has this password", None)
    assert not password_fits("x", "not a hash")


COMMON = (
    "password1234", "Password1234!", "P@ssw0rdP@ssw0rd", "qwertyuiop12", "123456789012", "iloveyou2026",
    "letmeinletmein", "abcdefghijklm", "Administrator1", "headraceheadrace", "november2026!", "trustno1trustno1",
    "1q2w3e4r5t6y", "password" * 10,
)  # fmt: skip


@pytest.mark.parametrize(
    ("password", "message"),
    [
        ("short", "must have 12 to 1,000"),
        ("x" * 1001, "12 to 1,000"),
        ("aaaaaaaaaaaaaaaa", "must have at least 5 different"),
        ("i am ADA and proud", r"must not contain your name \(`Ada`\)"),
        ("i am ada and proud", "your name"),
        *((common, "must not be common") for common in COMMON),
    ],
)
def test_a_password_that_breaks_the_rule_is_refused_and_told_why(password: str, message: str) -> None:
    with pytest.raises(AuthError, match=message) as refused:
        check_password(password, "Ada")
    assert refused.value.code == "password_refused"


def test_all_that_is_wrong_with_a_password_is_said_at_once() -> None:
    with pytest.raises(AuthError) as refused:
        check_password("ada", "Ada")
    assert str(refused.value) == (
        "Your password must have 12 to 1,000 characters (it has 3), must have at least 5 different characters, "
        "must not contain your name (`Ada`), and must not be common or easy to guess. "
        "Choose another, such as four words."
    )
    with pytest.raises(AuthError, match=r"characters \(it has 0\), must have at least 5 .*, and must not be common"):
        check_password("", "Ada")


@pytest.mark.parametrize(
    "password",
    ["correct horse battery", "пароль из слов", "gK7#pq2Lz!xv", "correct horse " * 70, "(+{5+|1!4@8({[<369!1|05$7"],
)
def test_any_long_password_that_is_not_common_will_do(password: str) -> None:
    check_password(password, "Ada")
    check_password(password, "x1")


@pytest.mark.parametrize(
    "name",
    [
        "Ada",
        "ada@lab.org",
        "Grace O'Hopper",
        "Mühlbauer",
        "山田 太郎",
        "山田たろう",
        "ナカムラー",
        "हिन्दी",
        "தமிழ்",
        "ไพลิน",
        "Иван",
        "a",
        "r2-d2",
    ],
)
def test_a_name_in_any_one_script_will_do(name: str) -> None:
    assert check_name(name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ada",
        "ada ",
        "a\nb",
        "a\u200bb",
        "\u0430da",
        "ada\u202e",
        "<b>",
        "x" * 65,
        "\uff41da",
        "a\u0335da",
        "\u093eada",
        "हि\u0301",
        "あda",
        "pn_0123",
        "PN_ada",
    ],
)
def test_a_name_that_could_pass_for_another_is_refused(name: str) -> None:
    with pytest.raises(AuthError) as refused:
        check_name(name)
    assert refused.value.code == "name_refused"


@given(st.text())
def test_names_are_compared_in_one_form(name: str) -> None:
    assert fold(unicodedata.normalize("NFD", name)) == fold(unicodedata.normalize("NFC", name))


LIMIT = Limit(3, timedelta(minutes=15))


def test_a_key_is_throttled_at_its_limit_and_told_how_long() -> None:
    throttle = Throttle()
    for second in range(3):
        assert throttle.attempt({"a": LIMIT}, NOW + timedelta(seconds=second)) is None
    assert throttle.attempt({"a": LIMIT}, NOW + timedelta(minutes=5)) == timedelta(minutes=10)
    assert throttle.attempt({"b": LIMIT}, NOW + timedelta(minutes=5)) is None
    assert throttle.attempt({"a": LIMIT}, NOW + timedelta(minutes=15)) is None


def test_an_attempt_that_is_throttled_counts_against_nothing() -> None:
    throttle = Throttle()
    for _ in range(3):
        throttle.attempt({"a": LIMIT}, NOW)
    for _ in range(5):
        assert throttle.attempt({"a": LIMIT, "b": LIMIT}, NOW) is not None
    assert throttle.attempt({"b": LIMIT}, NOW) is None


def test_a_success_starts_its_key_again() -> None:
    throttle = Throttle()
    for _ in range(3):
        throttle.attempt({"a": LIMIT}, NOW)
    throttle.forget("a")
    assert throttle.attempt({"a": LIMIT}, NOW) is None


@settings(max_examples=30)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 2000)), max_size=60))
def test_no_window_ever_holds_more_attempts_than_its_limit(attempts: list[tuple[int, int]]) -> None:
    throttle = Throttle()
    let_in: dict[int, list[int]] = {}
    for key, second in sorted(attempts, key=lambda attempt: attempt[1]):
        if throttle.attempt({str(key): LIMIT}, NOW + timedelta(seconds=second)) is None:
            let_in.setdefault(key, []).append(second)
    for seconds in let_in.values():
        assert all(later - earlier >= 900 for earlier, later in zip(seconds, seconds[3:], strict=False))


def test_invariant_6_only_so_many_keys_are_remembered() -> None:
    throttle = Throttle(max_keys=10)
    for number in range(1000):
        throttle.attempt({str(number): LIMIT}, NOW)
    assert len(throttle) == 10


def test_every_role_gives_scopes_and_only_approvers_may_approve() -> None:
    assert all(scopes_of([role]) for role in Role)
    assert [role for role in Role if Scope.TRANSFER_APPROVE in scopes_of([role])] == [Role.APPROVER]
    assert [role for role in Role if Scope.ADMIN in scopes_of([role])] == [Role.ADMIN]
    assert scopes_of([Role.VIEWER]) == {Scope.TRANSFER_READ, Scope.TRANSFER_READ_ALL}
    assert scopes_of([]) == frozenset()
    assert scopes_of(Role) == frozenset(Scope)
