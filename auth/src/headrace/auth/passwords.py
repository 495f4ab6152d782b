"""Passwords: the rule, and argon2id. Hashing takes tens of milliseconds and 64 MiB: in a thread, few at a time."""

import unicodedata
from typing import Final

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from zxcvbn import zxcvbn

from headrace.auth.errors import AuthCode, AuthError

MIN_PASSWORD: Final = 12
MAX_PASSWORD: Final = 1000
MIN_DISTINCT: Final = 5
MAX_NAME: Final = 64
IDS: Final = "pn_"
"""What the ids of people begin with, and no name."""
JUDGED: Final = 24
"""Characters of a password whose guesses are counted: the time for that grows with their square and more."""
MIN_SCORE: Final = 3
"""zxcvbn's: at least a hundred million guesses."""

_hasher: Final = PasswordHasher()
_NOBODY: Final = "$argon2id$v=19$m=65536,t=3,p=4$aWLDY+1bTEf0GBi3dVf9LA$AFiVqDD4Ux1bYMgcmgpY5fIVEcqZG2YXqMnSL3ULEbc"
"""What is compared when there is no such person: of random bytes that were kept nowhere, at `_hasher`'s cost.

Written down, as making it would cost each process that imports this half a second.
"""
_JAPANESE: Final = frozenset({"HIRAGANA", "KATAKANA", "KATAKANA-HIRAGANA", "IDEOGRAPHIC"})
"""Written together with Chinese characters, as no other scripts are in one name."""
_NAME_MARKS: Final = frozenset(" .-_@+'")


def check_password(password: str, name: str) -> None:
    """Hold a new password to the rule; raises `password_refused` that says all that is wrong.

    12 to 1,000 characters, at least 5 different ones, not the person's own name in it, and not one of the first hundred
    million that a guesser would try. No character classes, no expiry. May take half a second: in a thread.
    """
    wrong = []
    if not MIN_PASSWORD <= len(password) <= MAX_PASSWORD:
        wrong.append(f"must have {MIN_PASSWORD} to {MAX_PASSWORD:,} characters (it has {len(password):,})")
    if len(set(password)) < MIN_DISTINCT:
        wrong.append(f"must have at least {MIN_DISTINCT} different characters")
    if len(name) >= 3 and fold(name) in fold(password):  # noqa: PLR2004
        wrong.append(f"must not contain your name (`{name}`)")
    if not password or zxcvbn(password[:JUDGED], [name, "headrace"])["score"] < MIN_SCORE:
        wrong.append("must not be common or easy to guess")
    if wrong:
        said = f"{', '.join(wrong[:-1])}, and {wrong[-1]}" if len(wrong) > 1 else wrong[0]
        raise AuthError(AuthCode.PASSWORD_REFUSED, f"Your password {said}. Choose another, such as four words.")


def check_new(password: str, former: str) -> None:
    """Refuse the password that somebody has already; raises `password_refused`."""
    if _normal(password) == _normal(former):
        raise AuthError(AuthCode.PASSWORD_REFUSED, "That is your password already; choose another.")


def check_name(name: str) -> str:
    """Hold a person's name to the rule and answer it normalised (NFC); raises `name_refused`.

    1 to 64 letters with the signs that their script puts on them, digits and ` .-_@+'`, of one script, so that no name
    looks like another's, or like an id.
    """
    normal = unicodedata.normalize("NFC", name)
    scripts = {_script(letter) for letter in normal if letter.isalpha() or _is_sign(letter)}
    if (
        not 0 < len(normal) <= MAX_NAME
        or normal != normal.strip()
        or unicodedata.normalize("NFKC", normal) != normal
        or _is_sign(normal[0])
        or not all(letter.isalnum() or letter in _NAME_MARKS or _is_sign(letter) for letter in normal)
        or len(scripts) > 1
    ):
        raise AuthError(
            AuthCode.NAME_REFUSED,
            f"A name must have 1 to {MAX_NAME} letters, digits, spaces and . - _ @ + ', all letters of one script.",
        )
    if fold(normal).startswith(IDS):
        raise AuthError(AuthCode.NAME_REFUSED, f"A name must not begin with `{IDS}`, as the ids of people do.")
    return normal


def _is_sign(letter: str) -> bool:
    """Whether a character is put on the letter before it, such as a vowel in Devanagari."""
    return unicodedata.category(letter) in {"Mn", "Mc"}


def _script(letter: str) -> str:
    """Name a letter's script; signs that fit any script are of one of their own, and so of no name."""
    script = unicodedata.name(letter, "?").split()[0]
    return "CJK" if script in _JAPANESE else script


def fold(name: str) -> str:
    """Put a name in the form in which names are compared: case and width do not tell two people apart."""
    return unicodedata.normalize("NFKC", name).casefold()


def hash_password(password: str) -> str:
    """Hash with argon2id (the library's recommended cost); the result says how it was made."""
    return _hasher.hash(_normal(password))


def password_fits(password: str, stored: str | None) -> bool:
    """Check a password; without a stored hash it takes as long, so that nobody learns who exists."""
    try:
        fits = _hasher.verify(stored if stored is not None else _NOBODY, _normal(password))
    except (VerificationError, InvalidHashError):
        return False
    return fits and stored is not None


def needs_rehash(stored: str) -> bool:
    """Whether the hash was made at a lower cost than today's."""
    return _hasher.check_needs_rehash(stored)


def _normal(password: str) -> str:
    """One spelling for what looks the same (NFC), so that keyboards agree."""
    return unicodedata.normalize("NFC", password)
