"""Sealed documents: made once as exact bytes, then stored, sent, signed and verified as those bytes.

A body is canonical JSON (RFC 8785) with a field `type`; its digest is the SHA-256 of its bytes. The signature input is
`headrace/<type>/v1`, a newline and the body, so a signature made for one type is never good for another. A document is
`{"body": "<the body>", "signatures": [{"alg", "key", "signature"}]}`. Nothing is ever re-serialised to be verified.
"""

import base64
import binascii
import hashlib
import json
import re
import secrets
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, Protocol, TypeAlias, TypeGuard

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from headrace.guardrails.errors import SealCode, SealError

Json: TypeAlias = "str | int | bool | Sequence[Json] | Mapping[str, Json] | None"
JsonObject: TypeAlias = Mapping[str, Json]

MAX_BODY_BYTES: Final = 1 << 20
MAX_SIGNATURES: Final = 16
# Canonical JSON holds no raw control characters: as a JSON string it doubles at most. The rest is signatures.
MAX_DOCUMENT_BYTES: Final = 2 * MAX_BODY_BYTES + 16 * 1024
MAX_DEPTH: Final = 32

_MAX_INTEGER: Final = (1 << 53) - 1
# Escapes what RFC 8785 escapes, and as it does; three times faster than the package `rfc8785`, which tests compare.
_WRITER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":"))
_KEY_BYTES: Final = 32
_SIGNATURE_BYTES: Final = 64
_TYPE = re.compile(r"[a-z][a-z-]{0,30}")
_PREFIX = re.compile(r"[a-z]{2,4}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


@dataclass(frozen=True, slots=True)
class Document:
    """A sealed document that was made here or has been verified: its text, and its body's exact bytes and digest.

    `text` is what is stored and sent; `digest` is lower-case hex SHA-256 of `body`.
    """

    type: str
    text: str
    body: bytes
    digest: str

    def fields(self) -> JsonObject:
        """Parse the body (a fresh object each time)."""
        return _object(self.body.decode(), "body")


def canonical(value: Json) -> bytes:
    """Write `value` as canonical JSON (RFC 8785), UTF-8.

    Floats are refused (numbers that count go as decimal strings), and so are integers beyond 2^53 - 1, nesting deeper
    than `MAX_DEPTH` and text that is not valid Unicode. Raises `SealError` with code `not_canonical`.
    """
    try:
        return _WRITER.encode(_plain(value, MAX_DEPTH)).encode()
    except ValueError as error:
        raise SealError(SealCode.NOT_CANONICAL, f"this value can't be written as canonical JSON: {error}") from error


def digest(body: bytes) -> str:
    """Lower-case hex SHA-256 of the exact bytes (agrees with `sha256sum`)."""
    return hashlib.sha256(body).hexdigest()


class Signs(Protocol):
    """What signs documents: a `SigningKey`, or what stands before one."""

    @property
    def public(self) -> str:
        """The public half: its id everywhere."""
        ...

    def sign(self, type: str, body: bytes) -> str:  # noqa: A002 - the word of the format
        """Sign a body under its document type; the signature in base64url without padding."""
        ...


def seal(type: str, body: JsonObject, *keys: Signs) -> Document:  # noqa: A002 - the word of the format
    """Make the exact bytes of a document of this type and sign them with every key.

    Adds the field `type`. Raises `SealError`: `not_canonical`, `body_too_large` (over 1 MiB), `wrong_type`.
    """
    if not _TYPE.fullmatch(type) or "type" in body:
        raise SealError(
            SealCode.WRONG_TYPE, f"`{type}` is not a document type, or the body has a field `type` of its own"
        )
    exact = canonical({"type": f"headrace/{type}/v1", **body})
    if len(exact) > MAX_BODY_BYTES:
        raise SealError(
            SealCode.BODY_TOO_LARGE, f"the {type} has {len(exact):,} bytes; at most {MAX_BODY_BYTES:,} can be sealed"
        )
    signatures = [{"alg": "Ed25519", "key": key.public, "signature": key.sign(type, exact)} for key in keys]
    text = canonical({"body": exact.decode(), "signatures": signatures}).decode()
    return Document(type, text, exact, digest(exact))


def verify(document: str, type: str, keys: Collection[str]) -> Document:  # noqa: A002 - the word of the format
    """Check that `document` is of this type and signed by at least one of `keys` (public keys, `ed25519:...`).

    Checks the exact bytes it was given. Raises `SealError`: `malformed_document`, `body_too_large`, `wrong_type`,
    `unknown_signer` (no signature by any of `keys`), `bad_signature` (one names such a key and does not fit).
    """
    if len(document) > MAX_DOCUMENT_BYTES:
        raise SealError(SealCode.BODY_TOO_LARGE, f"the document has more than {MAX_DOCUMENT_BYTES:,} characters")
    outer = _object(document, "document")
    body_text, signatures = outer.get("body"), outer.get("signatures")
    if set(outer) != {"body", "signatures"} or not isinstance(body_text, str) or not _is_list(signatures):
        raise SealError(SealCode.MALFORMED_DOCUMENT, "the document must hold exactly `body` and `signatures`")
    try:
        exact = body_text.encode()
    except UnicodeEncodeError as error:
        raise SealError(SealCode.MALFORMED_DOCUMENT, "the body is not valid Unicode") from error
    if len(exact) > MAX_BODY_BYTES or len(signatures) > MAX_SIGNATURES:
        raise SealError(
            SealCode.BODY_TOO_LARGE, f"at most {MAX_BODY_BYTES:,} bytes and {MAX_SIGNATURES} signatures are read"
        )
    trusted = [entry for entry in map(_signature, signatures) if entry[0] in keys]
    if not trusted:
        raise SealError(SealCode.UNKNOWN_SIGNER, f"the {type} is not signed by a key that is accepted here")
    for key, signature in trusted:
        try:
            public_key(key).verify(signature, signature_input(type, exact))
        except InvalidSignature as error:
            raise SealError(
                SealCode.BAD_SIGNATURE, f"the {type} was altered or its signature belongs to another"
            ) from error
    if _object(body_text, "body").get("type") != f"headrace/{type}/v1":
        raise SealError(SealCode.WRONG_TYPE, f"the document is not a {type} of version 1")
    return Document(type, document, exact, digest(exact))


def signature_input(type: str, body: bytes) -> bytes:  # noqa: A002 - the word of the format
    """Bytes that are signed: the domain prefix, a newline and the body."""
    return f"headrace/{type}/v1\n".encode("ascii") + body


def public_key(text: str) -> Ed25519PublicKey:
    """Parse `ed25519:<base64url of 32 bytes, no pad>`; raises `SealError` with code `malformed_key`."""
    scheme, _, encoded = text.partition(":")
    raw = b"" if scheme != "ed25519" else _unpadded(encoded)
    if raw is None or len(raw) != _KEY_BYTES:
        raise SealError(SealCode.MALFORMED_KEY, "a public key is written `ed25519:` and 43 characters of base64url")
    return Ed25519PublicKey.from_public_bytes(raw)


def encode(raw: bytes) -> str:
    """Base64url without padding."""
    return base64.urlsafe_b64encode(raw).rstrip(b"=").decode("ascii")


def new_id(prefix: str) -> str:
    """Make a random id with a type prefix, such as `tr_` and 32 hex digits (128 bits)."""
    if not _PREFIX.fullmatch(prefix):
        raise ValueError(prefix)
    return f"{prefix}_{secrets.token_hex(16)}"


def utc_text(moment: datetime) -> str:
    """Write an aware time as `2026-11-25T14:30:00.123Z`, rounded down; a naive time raises `ValueError`."""
    if moment.tzinfo is None:
        raise ValueError(moment)
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def utc_time(text: str) -> datetime:
    """Parse exactly the form that `utc_text` writes; raises `SealError` with code `malformed_time`."""
    try:
        if _TIME.fullmatch(text):
            return datetime.fromisoformat(text)
    except ValueError:
        pass  # a field out of range, said below like every other mistake
    raise SealError(SealCode.MALFORMED_TIME, "a time is written like `2026-11-25T14:30:00.123Z`")


def _plain(value: Json, depth: int) -> Json:
    """Copy of `value` in the types that `json` writes, fields in order.

    Raises `ValueError` or `SealError` for what the format leaves out.
    """
    if value is None or isinstance(value, str | bool):
        return value
    if isinstance(value, int):
        if abs(value) > _MAX_INTEGER:
            message = f"{value} is beyond 2^53 - 1"
            raise ValueError(message)
        return value
    if depth == 0:
        raise SealError(SealCode.NOT_CANONICAL, f"a sealed document is nested at most {MAX_DEPTH} deep")
    if isinstance(value, Mapping):
        return {key: _plain(value[key], depth - 1) for key in sorted(value, key=_utf_16)}
    if isinstance(value, Sequence) and not isinstance(value, bytes | bytearray):
        return [_plain(item, depth - 1) for item in value]
    raise SealError(SealCode.NOT_CANONICAL, f"`{type(value).__name__}` has no place in a sealed document")


def _utf_16(name: str) -> bytes:
    """Return what RFC 8785 orders fields by: UTF-16 code units."""
    if not isinstance(name, str):
        raise SealError(SealCode.NOT_CANONICAL, f"`{type(name).__name__}` is not a name of a field")
    return name.encode("utf-16-be")


def _object(text: str, what: str) -> JsonObject:
    """Parse a JSON object strictly: no field twice, no floats, no constants such as NaN."""
    try:
        value: object = json.loads(text, object_pairs_hook=_unique, parse_float=_no_float, parse_constant=_no_float)
    except (ValueError, RecursionError) as error:
        raise SealError(SealCode.MALFORMED_DOCUMENT, f"the {what} is not the JSON that Headrace writes") from error
    if not _is_object(value):
        raise SealError(SealCode.MALFORMED_DOCUMENT, f"the {what} is not a JSON object")
    return value


def _unique(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        raise SealError(SealCode.MALFORMED_DOCUMENT, "a field of the document stands twice")
    return fields


def _no_float(text: str) -> int:
    raise SealError(SealCode.MALFORMED_DOCUMENT, f"`{text[:40]}` in the document is not an integer")


def _is_object(value: object) -> TypeGuard[JsonObject]:
    return isinstance(value, dict)


def _is_list(value: object) -> TypeGuard[list[Json]]:
    return isinstance(value, list)


def _signature(entry: Json) -> tuple[str, bytes]:
    """Key and raw signature of one entry, or `malformed_document`."""
    if isinstance(entry, Mapping) and set(entry) == {"alg", "key", "signature"} and entry["alg"] == "Ed25519":
        key, encoded = entry["key"], entry["signature"]
        raw = _unpadded(encoded) if isinstance(encoded, str) else None
        if isinstance(key, str) and raw is not None and len(raw) == _SIGNATURE_BYTES:
            return key, raw
    raise SealError(
        SealCode.MALFORMED_DOCUMENT, "a signature must hold `alg` (Ed25519), `key` and `signature`, and nothing else"
    )


def _unpadded(text: str) -> bytes | None:
    """Bytes of base64url without padding; `None` unless `text` is the one spelling of them."""
    try:
        raw = base64.b64decode(text.encode("ascii") + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (ValueError, binascii.Error):
        return None
    return raw if encode(raw) == text else None
