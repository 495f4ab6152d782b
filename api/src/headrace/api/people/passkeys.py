"""People's passkeys as the interfaces see them. The rules are `auth`'s."""

from headrace.api.caller import Caller, acting
from headrace.api.people.proofs import Proofs, challenge_view
from headrace.auth import Attestation, Authenticator, PasskeyRecord, by_passkey
from headrace.client import models as m


class PersonPasskeys:
    """The passkeys of people of one service."""

    def __init__(self, authenticator: Authenticator, proofs: Proofs) -> None:
        """Keep them with `authenticator`; a proof comes before each new one, and before one goes."""
        self._passkeys = authenticator.passkeys
        self._sessions = authenticator.sessions
        self._proofs = proofs

    async def list(self, caller: Caller, person: str | None) -> list[m.Passkey]:
        """List one's own passkeys, or a person's."""
        return [_passkey(one) for one in await self._passkeys.of(caller.principal, person)]

    async def begin(self, caller: Caller, proof: m.Proven) -> m.PasskeyChallenge:
        """Begin to add a passkey; the proof comes before it."""
        check = self._passkeys.check_enrolment(caller.principal)
        await self._proofs.about_passkeys(caller, "begin_passkey", caller.principal.id, proof, check)
        return challenge_view(await self._passkeys.begin_enrolment(caller.principal))

    async def add(self, caller: Caller, request: m.PasskeyRequest) -> m.Passkey:
        """Add a passkey."""
        given = Attestation(**request.model_dump(exclude={"name"}))
        with acting(caller):
            return _passkey(await self._passkeys.enrol(caller.principal, request.name, given))

    async def remove(self, caller: Caller, passkey: str, person: str | None, proof: m.Proven) -> None:
        """Remove one of one's own passkeys, or of a person's, with the caller's own proof."""
        check = self._passkeys.check_removing(caller.principal, passkey, person)
        await self._proofs.about_passkeys(caller, "remove_passkey", passkey, proof, check)
        with acting(caller):
            await self._passkeys.remove(caller.principal, passkey, person)

    async def use(self, caller: Caller, proof: m.Proven) -> None:
        """Use a passkey in the caller's session, which has its factors from then on."""
        await self._proofs.by_passkey(caller, "use_passkey", caller.principal.session_id or "", proof)
        if proof.passkey is not None:
            with acting(caller):
                await self._sessions.strengthen(caller.principal, by_passkey(proof.passkey.id))


def _passkey(one: PasskeyRecord) -> m.Passkey:
    return m.Passkey(id=one.id, name=one.name, created=one.created, last_used=one.last_used)
