import base64
import hashlib
import json
import unicodedata
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
import rfc8785
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from hypothesis import given
from hypothesis import strategies as st
from tests.pure.guardrails.made import KEY, OTHER_KEY, sealed

from headrace.guardrails import (
    MAX_BODY_BYTES,
    SealCode,
    SealError,
    canonical,
    digest,
    new_id,
    public_key,
    seal,
    utc_text,
    utc_time,
    verify,
)

texts = st.text(st.characters(exclude_categories=["Cs"]))
values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53) + 1, 2**53 - 1) | texts,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=20,
)
bodies = st.dictionaries(texts.filter(lambda name: name != "type"), values, max_size=6)


def code_of(document: str, kind: str = "plan", keys: tuple[str, ...] = (KEY.public,)) -> SealCode:
    with pytest.raises(SealError) as refused:
        verify(document, kind, keys)
    return SealCode(refused.value.code)


@given(values)
def test_canonical_json_reads_back_as_the_same_value(value: object) -> None:
    assert json.loads(canonical(value)) == value  # type: ignore[arg-type]  # hypothesis values have no narrower type


@given(values)
def test_canonical_json_is_what_another_implementation_of_rfc_8785_writes(value: Any) -> None:  # noqa: ANN401
    assert canonical(value) == rfc8785.dumps(value)


@given(st.dictionaries(texts, values, max_size=6), st.randoms())
def test_canonical_bytes_do_not_depend_on_the_order_of_fields(value: dict[str, Any], random: Any) -> None:  # noqa: ANN401
    shuffled = list(value.items())
    random.shuffle(shuffled)
    assert canonical(dict(shuffled)) == canonical(value)


def test_canonical_json_is_that_of_rfc_8785() -> None:
    value: dict[str, Any] = {"\u20ac": 1, "\r": 2, "\ufb33": 3, "1": [True, None, 'q"\\\u000f\u2028'], "\U0001f600": -7}
    expected = '{"\\r":2,"1":[true,null,"q\\"\\\\\\u000f\u2028"],"\u20ac":1,"\U0001f600":-7,"\ufb33":3}'
    assert canonical(value).decode() == expected


@pytest.mark.parametrize(
    "value", [1.5, {"a": float("nan")}, 2**53, b"bytes", {1: 2}, "\ud800", {"\ud800": 1}, object], ids=repr
)
def test_what_has_no_one_spelling_is_refused(value: Any) -> None:  # noqa: ANN401
    with pytest.raises(SealError) as refused:
        canonical(value)
    assert refused.value.code == SealCode.NOT_CANONICAL


def test_nesting_has_a_limit() -> None:
    value: Any = 1
    for _ in range(40):
        value = [value]
    with pytest.raises(SealError, match="deep"):
        canonical(value)


@given(bodies)
def test_a_sealed_body_is_verified_and_read_back(body: dict[str, Any]) -> None:
    document = seal("plan", body, KEY)
    verified = verify(document.text, "plan", {KEY.public})
    assert verified == document
    assert verified.fields() == {**body, "type": "headrace/plan/v1"}


def test_the_digest_is_what_sha256sum_says_of_the_body() -> None:
    document = sealed()
    body = json.loads(document.text)["body"].encode()
    assert document.digest == digest(body) == hashlib.sha256(body).hexdigest()


def test_the_signature_input_is_the_domain_a_newline_and_the_body() -> None:
    document = sealed()
    outer = json.loads(document.text)
    (signature,) = outer["signatures"]
    raw = base64.urlsafe_b64decode(signature["signature"] + "==")
    key = Ed25519PublicKey.from_public_bytes(base64.urlsafe_b64decode(signature["key"].removeprefix("ed25519:") + "="))
    key.verify(raw, b"headrace/plan/v1\n" + outer["body"].encode())


def test_two_authorities_may_sign_and_either_is_enough() -> None:
    document = seal("ticket", {"id": "tk_1"}, KEY, OTHER_KEY)
    assert verify(document.text, "ticket", {KEY.public}) == verify(document.text, "ticket", {OTHER_KEY.public})


def test_a_signature_by_a_stranger_is_refused() -> None:
    assert code_of(seal("plan", {}, OTHER_KEY).text) == SealCode.UNKNOWN_SIGNER


def test_an_unsigned_document_is_refused() -> None:
    assert code_of(seal("plan", {}).text) == SealCode.UNKNOWN_SIGNER


def test_a_document_of_another_type_is_refused() -> None:
    permit = seal("permit", {"id": "pm_1"}, KEY)
    assert code_of(permit.text) == SealCode.BAD_SIGNATURE


def test_a_body_that_names_another_type_than_it_was_signed_under_is_refused() -> None:
    body = canonical({"type": "headrace/permit/v1"})
    signature = {"alg": "Ed25519", "key": KEY.public, "signature": KEY.sign("plan", body)}
    document = json.dumps({"body": body.decode(), "signatures": [signature]})
    assert code_of(document) == SealCode.WRONG_TYPE


def test_a_body_that_is_not_canonical_is_verified_as_it_is() -> None:
    body = b'{ "type": "headrace/plan/v1",  "a": 1 }'
    signature = {"alg": "Ed25519", "key": KEY.public, "signature": KEY.sign("plan", body)}
    document = json.dumps({"body": body.decode(), "signatures": [signature]})
    assert verify(document, "plan", {KEY.public}).body == body


def test_one_good_signature_does_not_excuse_a_bad_one_of_an_accepted_key() -> None:
    outer = json.loads(seal("plan", {}, KEY, OTHER_KEY).text)
    outer["signatures"][1]["signature"] = outer["signatures"][0]["signature"]
    assert code_of(json.dumps(outer), keys=(KEY.public, OTHER_KEY.public)) == SealCode.BAD_SIGNATURE


@pytest.mark.parametrize(
    "document",
    [
        "",
        "null",
        "[]",
        "{",
        '{"body":"{}"}',
        '{"body":{},"signatures":[]}',
        '{"body":"{}","signatures":{}}',
        '{"body":"{}","signatures":[],"extra":1}',
        '{"body":"{}","body":"{}","signatures":[]}',
        '{"body":"{}","signatures":[1]}',
        '{"body":"{}","signatures":[{"alg":"none","key":"k","signature":""}]}',
        '{"body":"\\ud800","signatures":[]}',
        '{"body":1.5,"signatures":[]}',
        '{"body":"{}","signatures":' + "[" * 100_000,
    ],
    ids=lambda text: text[:40],
)
def test_a_malformed_document_is_refused(document: str) -> None:
    assert code_of(document) == SealCode.MALFORMED_DOCUMENT


def test_a_signature_has_one_spelling() -> None:
    outer = json.loads(sealed().text)
    written = outer["signatures"][0]["signature"]
    for other in (written + "==", written[:-1] + chr(ord(written[-1]) + 1), written + "A", written.replace("-", "+")):
        if other != written:
            outer["signatures"][0]["signature"] = other
            assert code_of(json.dumps(outer)) in {SealCode.MALFORMED_DOCUMENT, SealCode.BAD_SIGNATURE}


def test_bodies_documents_and_signatures_have_limits() -> None:
    with pytest.raises(SealError) as refused:
        seal("plan", {"words": "x" * MAX_BODY_BYTES}, KEY)
    assert refused.value.code == SealCode.BODY_TOO_LARGE
    assert code_of("x" * (3 * MAX_BODY_BYTES)) == SealCode.BODY_TOO_LARGE
    assert code_of(seal("plan", {}, *[KEY] * 17).text) == SealCode.BODY_TOO_LARGE


def test_the_largest_body_still_verifies() -> None:
    room = MAX_BODY_BYTES - len(canonical({"type": "headrace/plan/v1", "words": ""}))
    document = seal("plan", {"words": '"' * (room // 2)}, KEY)
    assert verify(document.text, "plan", {KEY.public}).digest == document.digest


def test_a_body_may_not_bring_a_type_of_its_own() -> None:
    with pytest.raises(SealError) as refused:
        seal("plan", {"type": "headrace/permit/v1"}, KEY)
    assert refused.value.code == SealCode.WRONG_TYPE


@given(st.data())
def test_invariant_2_no_changed_plan_passes_its_seal(data: st.DataObject) -> None:
    document = sealed()
    at = data.draw(st.integers(0, len(document.text) - 1))
    what = data.draw(st.sampled_from(["replace", "delete", "insert", "swap"]))
    other = data.draw(st.characters(exclude_categories=["Cs"]))
    text = document.text
    changed = {
        "replace": text[:at] + other + text[at + 1 :],
        "delete": text[:at] + text[at + 1 :],
        "insert": text[:at] + other + text[at:],
        "swap": text[:at] + text[at : at + 2][::-1] + text[at + 2 :],
    }[what]
    try:
        verified = verify(changed, "plan", {KEY.public})
    except SealError:
        return
    # What still passes spells the same body: other white space around the outer object, never inside what is signed.
    assert (verified.body, verified.digest) == (document.body, document.digest)


@given(st.data())
def test_invariant_2_no_changed_value_of_a_plan_passes_under_its_old_signature(data: st.DataObject) -> None:
    document = sealed()
    outer = json.loads(document.text)
    body = json.loads(outer["body"])
    place = body
    while True:
        name = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if not isinstance(place[name], dict | list) or not place[name]:
            break
        place = place[name]
    before = place[name]
    place[name] = data.draw(st.none() | st.booleans() | texts | st.integers(0, 9).map(str))
    outer["body"] = canonical(body).decode()
    changed = json.dumps(outer)
    if place[name] == before and type(place[name]) is type(before):
        assert verify(changed, "plan", {KEY.public}).digest == document.digest
    else:
        assert code_of(changed) == SealCode.BAD_SIGNATURE


@given(st.datetimes(timezones=st.timezones() | st.just(timezone(timedelta(hours=-6)))))
def test_times_are_written_in_one_form_and_read_back(moment: datetime) -> None:
    try:
        text = utc_text(moment)
    except OverflowError:
        return  # the first and last hours of the calendar have no UTC form
    assert utc_time(text) == moment.astimezone(UTC).replace(microsecond=moment.microsecond // 1000 * 1000)


def test_a_time_is_written_in_utc_with_milliseconds() -> None:
    moment = datetime(2026, 11, 25, 8, 30, 0, 123999, tzinfo=timezone(timedelta(hours=-6)))
    assert utc_text(moment) == "2026-11-25T14:30:00.123Z"
    with pytest.raises(ValueError, match="2026"):
        utc_text(datetime(2026, 11, 25))  # noqa: DTZ001 - that a naive time is refused is the point


@pytest.mark.parametrize("text", ["", "2026-11-25", "2026-11-25T14:30:00Z", "2026-13-25T14:30:00.123Z", "now"])
def test_another_form_of_time_is_refused(text: str) -> None:
    with pytest.raises(SealError) as refused:
        utc_time(text)
    assert refused.value.code == SealCode.MALFORMED_TIME


def test_ids_are_random_and_say_what_they_are() -> None:
    ids = {new_id("tr") for _ in range(100)}
    assert len(ids) == 100
    assert all(len(name) == 35 and name.startswith("tr_") for name in ids)
    with pytest.raises(ValueError, match="Transfer"):
        new_id("Transfer")


@pytest.mark.parametrize(
    "text", ["", "ed25519:", "rsa:" + "A" * 43, "ed25519:" + "A" * 42, "ed25519:" + "A" * 42 + "B", KEY.public + "="]
)
def test_a_malformed_public_key_is_refused(text: str) -> None:
    with pytest.raises(SealError) as refused:
        public_key(text)
    assert refused.value.code == SealCode.MALFORMED_KEY


def test_text_is_sealed_as_it_was_written_without_normalisation() -> None:
    for form in ("NFC", "NFD"):
        words = unicodedata.normalize(form, "Mühlbauer")
        assert seal("plan", {"words": words}, KEY).fields()["words"] == words
