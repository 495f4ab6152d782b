"""A device with passkeys, in software: what a browser and its authenticator do, with every lie that a test wants."""

import hashlib
import json
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from secrets import token_bytes

import cbor2
from cryptography.hazmat.primitives.asymmetric.ec import ECDSA, SECP256R1, EllipticCurvePrivateKey, generate_private_key
from cryptography.hazmat.primitives.hashes import SHA256

from headrace.client import models as m

USED = 0x01
"""Flag: somebody touched it."""
VERIFIED = 0x04
"""Flag: it knows that it was its user."""
_HAS_KEY = 0x40


@dataclass
class Device:
    """One passkey."""

    count: int = 0
    flags: int = USED | VERIFIED
    key: EllipticCurvePrivateKey = field(default_factory=lambda: generate_private_key(SECP256R1()))
    raw_id: bytes = field(default_factory=lambda: token_bytes(16))

    @property
    def id(self) -> str:
        return encoded(self.raw_id)

    def create(self, asked: m.PasskeyChallenge, name: str = "my laptop", *, origin: str = "") -> m.PasskeyRequest:
        """Answer `navigator.credentials.create`."""
        numbers = self.key.public_key().public_numbers()
        cose = {1: 2, 3: -7, -1: 1, -2: numbers.x.to_bytes(32, "big"), -3: numbers.y.to_bytes(32, "big")}
        held = b"\x00" * 16 + len(self.raw_id).to_bytes(2, "big") + self.raw_id + cbor2.dumps(cose)
        data = self._data(asked, _HAS_KEY) + held
        return m.PasskeyRequest(
            name=name,
            id=self.id,
            client_data=encoded(said(asked, "webauthn.create", origin)),
            attestation_object=encoded(cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})),
            kept=asked.kept,
        )

    def get(self, asked: m.PasskeyChallenge, *, origin: str = "") -> m.PasskeyAnswer:
        """Answer `navigator.credentials.get`."""
        data, client_data = self._data(asked), said(asked, "webauthn.get", origin)
        signed = self.key.sign(data + hashlib.sha256(client_data).digest(), ECDSA(SHA256()))
        return m.PasskeyAnswer(
            id=self.id,
            client_data=encoded(client_data),
            authenticator_data=encoded(data),
            signature=encoded(signed),
            kept=asked.kept,
        )

    def _data(self, asked: m.PasskeyChallenge, more: int = 0) -> bytes:
        party = hashlib.sha256(asked.party.encode()).digest()
        return party + bytes([self.flags | more]) + self.count.to_bytes(4, "big")


def said(asked: m.PasskeyChallenge, kind: str, origin: str = "") -> bytes:
    """What a browser says of it."""
    return json.dumps({"type": kind, "challenge": asked.challenge, "origin": origin or asked.origin}).encode()


def encoded(content: bytes) -> str:
    return urlsafe_b64encode(content).rstrip(b"=").decode()
