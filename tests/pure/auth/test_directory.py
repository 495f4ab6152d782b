"""What can be told about a directory without one: names, filters, sub-codes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from ldap3.operation.search import parse_filter
from tests.servers.directory import config_of

from headrace.auth import DirectoryRefused
from headrace.auth.directory import SUB_CODES, Refusal, TypedName, escaped, name_filter
from headrace.auth.directory_ldap import _check_bind, sid_text

CORP = config_of("ldaps://127.0.0.1:1", ca="/nowhere")


@pytest.mark.parametrize(
    ("text", "user", "domain"),
    [
        ("alice@corp.test", "alice", "corp.test"),
        ("ALICE@Corp.Test", "ALICE", "Corp.Test"),
        ("CORP\\alice", "alice", "CORP"),
        ("a@b@site.test", "a@b", "site.test"),
        ("CORP\\alice@site.test", "alice@site.test", "CORP"),
    ],
)
def test_a_name_of_a_directory_has_two_parts(text: str, user: str, domain: str) -> None:
    name = TypedName.read(text)
    assert name is not None
    assert (name.user, name.domain) == (user, domain)
    assert name.fits(CORP)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "alice",
        "@corp.test",
        "alice@",
        "CORP\\",
        "\\alice",
        "alice@corp.test\n",
        "al\0ice@corp.test",
        "a" * 321 + "@corp.test",
    ],
)
def test_what_has_not_two_parts_of_one_line_is_no_name_of_a_directory(text: str) -> None:
    assert TypedName.read(text) is None


@pytest.mark.parametrize(
    "text", ["alice@other.test", "OTHER\\alice", "SITE.TEST\\alice", "alice@CORP", "alice@sub.corp.test"]
)
def test_a_password_goes_to_no_domain_that_the_name_does_not_say(text: str) -> None:
    name = TypedName.read(text)
    assert name is not None
    assert not name.fits(CORP)


@given(st.text() | st.binary())
def test_nothing_in_a_value_is_read_as_a_filter(value: str | bytes) -> None:
    try:
        raw = value.encode() if isinstance(value, str) else value
    except UnicodeEncodeError:
        return
    written = escaped(value)
    assert not set(written) & set("()*&|!=<>~\0")
    bare = bytes.fromhex("".join(one[1:] if one.startswith("\\") else one.encode().hex() for one in _pieces(written)))
    assert bare == raw


def _pieces(written: str) -> list[str]:
    found, rest = [], written
    while rest:
        size = 3 if rest.startswith("\\") else 1
        found.append(rest[:size])
        rest = rest[size:]
    return found


@given(st.text(min_size=1, alphabet=st.characters(codec="utf-8")), st.booleans())
def test_every_name_makes_a_filter_of_the_same_shape(user: str, mail_like: bool) -> None:  # noqa: FBT001 - drawn
    plain, odd = (_parsed(TypedName(one, "corp.test", mail_like)) for one in ("alice", user))

    def shape(part: object) -> object:
        return part.tag, [shape(one) for one in part.elements or ()]  # type: ignore[attr-defined] # ldap3 has no types

    assert shape(odd) == shape(plain)


def _parsed(name: TypedName) -> object:
    """Read the filter as ldap3 does before it sends it."""
    return parse_filter(
        name_filter(name, CORP), None, auto_escape=False, auto_encode=False, validator=None, check_names=False
    )


@pytest.mark.parametrize(("code", "reason"), SUB_CODES.items())
def test_a_sub_code_says_why_a_bind_was_refused(code: str, reason: Refusal) -> None:
    message = f"80090308: LdapErr: DSID-0C09041C, comment: AcceptSecurityContext error, data {code}, v4563"
    with pytest.raises(DirectoryRefused) as refused:
        _check_bind({"result": 49, "description": "invalidCredentials", "message": message})
    assert refused.value.reason is reason


@pytest.mark.parametrize("message", ["", "data", "data zzz", "data 7d0"])
def test_a_refusal_without_a_known_sub_code_is_a_refusal(message: str) -> None:
    with pytest.raises(DirectoryRefused) as refused:
        _check_bind({"result": 49, "description": "invalidCredentials", "message": message})
    assert refused.value.reason is Refusal.OTHER


def test_a_sid_is_written_as_windows_writes_it() -> None:
    raw = bytes.fromhex("010500000000000515000000496e81426a530989 1b020ae0 50040000".replace(" ", ""))
    assert sid_text(raw) == "S-1-5-21-1115778633-2299089770-3758752283-1104"


def test_a_secret_is_shown_nowhere() -> None:
    config = config_of("ldaps://127.0.0.1:1", ca="/nowhere", secret="hunter2")  # noqa: S106 - looked for
    assert "hunter2" not in repr(config)
