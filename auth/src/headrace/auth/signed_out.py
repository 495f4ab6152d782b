"""What a store keeps of those who have signed out at a provider, for sign-ins there that are under way meanwhile."""

import hashlib
import json
from datetime import timedelta
from typing import Final

SIGNED_OUT_KEPT: Final = timedelta(minutes=20)
"""For longer than a sign-in may be under way: a provider says once that somebody has signed out."""


def signed_out_keys(issuer: str, *, sid: str | None, subject: str | None) -> tuple[str, ...]:
    """Return under which names it is kept, beside used nonces, that a session or a subject of an issuer signed out."""
    named = {"sid": sid, "sub": subject}
    return tuple(
        f"signed out {hashlib.sha256(json.dumps([issuer, kind, value]).encode()).hexdigest()}"
        for kind, value in named.items()
        if value is not None
    )
