"""What passkeys prove, and every way to prove nothing with one."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import pytest
from tests.servers.device import USED, Device, encoded

from headrace.auth import (
    BY_PASSWORD,
    MAX_PASSKEYS,
    Assertion,
    Attestation,
    AuthCode,
    Authenticator,
    AuthError,
    MemoryPeopleStore,
    Pepper,
    PersonRecord,
    Principal,
    RelyingParty,
    Role,
    TooManyAttempts,
)
from headrace.auth.passkeys import TRY_LIMIT, Challenge, check_agreed
from headrace.client import models as m

pytestmark = pytest.mark.anyio

HERE, WHAT = "10.0.0.1", '{"action":"confirm_plan","subject":"pl_1"}'
FIVE_MINUTES = timedelta(minutes=5)


def shown(asked: Challenge) -> m.PasskeyChallenge:
    party = asked.party
    return m.PasskeyChallenge(
        challenge=asked.challenge, kept=asked.kept, party=party.id, origin=party.origin, expires=asked.until
    )


@dataclass
class House:
    """An authenticator at https://dtn.example.org, and a clock that tests turn."""

    public_url: str = "https://dtn.example.org"

    def __post_init__(self) -> None:
        self.now = datetime(2026, 11, 25, 20, 30, tzinfo=UTC)
        self.store = store = MemoryPeopleStore()
        self.door = Authenticator(store, store, store, lambda: self.now, Pepper(b"p" * 32), public_url=self.public_url)
        self.passkeys = self.door.passkeys

    async def person(self, name: str, *roles: Role) -> Principal:
        record = PersonRecord(id=f"pn_{name}", name=name, roles=frozenset(roles), state="active", created=self.now)
        await self.store.add_person(record)
        return (await self.door.sessions.begin(record, BY_PASSWORD)).principal

    async def ada(self) -> Principal:
        return await self.person("ada", Role.ADMIN)

    async def add(self, person: Principal, device: Device | None = None) -> Device:
        device = device or Device()
        given = device.create(shown(await self.passkeys.begin_enrolment(person)))
        await self.passkeys.enrol(person, given.name, Attestation(**given.model_dump(exclude={"name"})))
        return device

    async def asked(self, person: Principal, what: str = WHAT) -> m.PasskeyChallenge:
        challenge = await self.passkeys.ask(person, what)
        assert challenge is not None
        return shown(challenge)

    async def prove(self, person: Principal, given: m.PasskeyAnswer, what: str = WHAT) -> None:
        await self.passkeys.prove(person, what, Assertion(**given.model_dump()))


@pytest.fixture
def house() -> House:
    return House()


@contextmanager
def refused(words: str) -> Iterator[None]:
    with pytest.raises(AuthError) as error:
        yield
    assert (error.value.code, words in str(error.value)) == (AuthCode.PASSKEY_REFUSED, True), error.value


async def test_a_passkey_agrees_to_one_thing(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    await house.prove(ada, device.get(await house.asked(ada)))
    [known] = await house.passkeys.of(ada)
    assert (known.id, known.name, known.last_used) == (device.id, "my laptop", house.now)


async def test_the_passkey_of_another_person_proves_nothing(house: House) -> None:
    ada = await house.ada()
    bea = await house.person("bea")
    await house.add(ada)
    theirs = await house.add(bea)
    with refused("not one of yours"):
        await house.prove(ada, theirs.get(await house.asked(ada)))


async def test_a_challenge_for_one_person_is_none_for_another(house: House) -> None:
    ada = await house.ada()
    bea = await house.person("bea")
    mine = await house.add(ada)
    await house.add(bea)
    with refused("something else"):
        await house.prove(ada, mine.get(await house.asked(bea)))


async def test_a_proof_for_one_digest_is_none_for_another(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    with refused("something else"):
        await house.prove(ada, device.get(await house.asked(ada, "another plan")))


async def test_with_nothing_but_the_answer_in_hand_it_agrees_to_one_digest_of_one_person(house: House) -> None:
    # What a signer of its own checks: it has neither the store nor the keys of the service.
    ada = await house.ada()
    device = await house.add(ada)
    [known] = await house.passkeys.of(ada)
    party = house.passkeys.party
    assert party is not None
    given = Assertion(**device.get(await house.asked(ada)).model_dump())
    check_agreed(party, ada.id, WHAT, given, known.public_key)
    for person, what in ((ada.id, "another plan"), ("pn_bea", WHAT)):
        with refused("something else"):
            check_agreed(party, person, what, given, known.public_key)


async def test_a_proof_given_at_another_origin_is_refused(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    for origin in ("https://dtn.example.org.evil.example", "http://dtn.example.org", "https://dtn.example.org:8443"):
        with refused("another address"):
            await house.prove(ada, device.get(await house.asked(ada), origin=origin))


async def test_a_proof_for_another_relying_party_is_refused(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    asked = await house.asked(ada)
    with refused("could not be verified"):
        await house.prove(ada, device.get(asked.model_copy(update={"party": "evil.example"})))


async def test_a_replayed_assertion_is_refused(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    given = device.get(await house.asked(ada))
    await house.prove(ada, given)
    with refused("used already"):
        await house.prove(ada, given)


async def test_a_counter_that_goes_back_is_refused(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada, Device(count=7))
    device.count = 8
    await house.prove(ada, device.get(await house.asked(ada)))
    for count in (8, 7, 0):
        device.count = count
        with refused("counter"):
            await house.prove(ada, device.get(await house.asked(ada)))


async def test_a_proof_is_good_for_five_minutes(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    given = device.get(await house.asked(ada))
    house.now += FIVE_MINUTES
    with refused("five minutes"):
        await house.prove(ada, given)


async def test_a_challenge_that_this_service_never_made_is_refused(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    asked = await house.asked(ada)
    later = str(int(asked.kept.split(".")[1]) + 3600)
    for kept in (".", "x", "nonce.1.\u00e4", asked.kept.replace(asked.kept.split(".")[1], later), "a.1.b"):
        with refused("has not asked"):
            await house.prove(ada, device.get(asked.model_copy(update={"kept": kept})))


LIES: dict[str, Callable[[Device, m.PasskeyChallenge], m.PasskeyAnswer]] = {
    "signed by another key": lambda device, asked: Device(raw_id=device.raw_id).get(asked),
    "nobody touched it": lambda device, asked: replace(device, flags=0).get(asked),
    "its user was not verified": lambda device, asked: replace(device, flags=USED).get(asked),
    "no signature": lambda device, asked: device.get(asked).model_copy(update={"signature": "AAAA"}),
    "data that is cut": lambda device, asked: device.get(asked).model_copy(update={"authenticator_data": "AAAA"}),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
async def test_an_answer_that_the_passkey_did_not_sign_is_refused(
    house: House, lie: Callable[[Device, m.PasskeyChallenge], m.PasskeyAnswer]
) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    asked = await house.asked(ada)
    with refused("could not be verified"):
        await house.prove(ada, lie(device, asked))


@pytest.mark.parametrize("said", ["AAAA", "bnVsbA", "e30", "eyJjaGFsbGVuZ2UiOiJhIn0", "W1tbW1tb"])
async def test_what_a_browser_can_not_have_said_is_refused(house: House, said: str) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    with refused("can't be read"):
        await house.prove(ada, device.get(await house.asked(ada)).model_copy(update={"client_data": said}))


async def test_what_signs_in_agrees_to_nothing_and_the_other_way_round(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    with refused("something else"):
        await house.prove(ada, device.get(shown(house.passkeys.ask_to_sign_in())))
    with pytest.raises(AuthError) as error:
        await house.passkeys.sign_in(Assertion(**device.get(await house.asked(ada)).model_dump()), HERE)
    assert error.value.code is AuthCode.SIGN_IN_REFUSED
    assert "something else" not in str(error.value)


async def test_a_passkey_signs_its_person_in_once(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    given = Assertion(**device.get(shown(house.passkeys.ask_to_sign_in())).model_dump())
    signed_in = (await house.passkeys.sign_in(given, HERE)).principal
    assert (signed_in.id, signed_in.method, signed_in.session) == (ada.id, "passkey", True)
    assert signed_in.factors == {"mfa", "passkey", "pop"}
    with pytest.raises(AuthError, match="name or the password is wrong"):
        await house.passkeys.sign_in(given, HERE)


async def test_the_passkey_of_somebody_who_was_disabled_signs_nobody_in(house: House) -> None:
    ada = await house.ada()
    bea = await house.person("bea")
    device = await house.add(bea)
    await house.door.accounts.disable(ada, bea.id)
    with pytest.raises(AuthError) as error:
        await house.passkeys.sign_in(Assertion(**device.get(shown(house.passkeys.ask_to_sign_in())).model_dump()), HERE)
    assert error.value.code is AuthCode.SIGN_IN_REFUSED


async def test_a_passkey_is_added_once_in_the_session_that_began_it(house: House) -> None:
    ada = await house.ada()
    bea = await house.person("bea")
    given = Device().create(shown(await house.passkeys.begin_enrolment(ada)))
    attestation = Attestation(**given.model_dump(exclude={"name"}))
    with refused("something else"):
        await house.passkeys.enrol(bea, "stolen", attestation)
    await house.passkeys.enrol(ada, "mine", attestation)
    with refused("used already"):
        await house.passkeys.enrol(ada, "twice", attestation)


@pytest.mark.parametrize("flags", [0, USED])
async def test_a_device_that_does_not_verify_its_user_is_no_passkey(house: House, flags: int) -> None:
    ada = await house.ada()
    with refused("could not be verified"):
        await house.add(ada, Device(flags=flags))


async def test_guesses_of_one_session_end(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    for _ in range(TRY_LIMIT.attempts):
        with refused("something else"):
            await house.prove(ada, device.get(await house.asked(ada, "another plan")))
    with pytest.raises(TooManyAttempts):
        await house.prove(ada, device.get(await house.asked(ada)))


@pytest.mark.parametrize(
    ("public_url", "party"),
    [
        ("https://dtn.example.org", ("dtn.example.org", "https://dtn.example.org")),
        ("https://DTN.example.org:443", ("dtn.example.org", "https://dtn.example.org")),
        ("https://dtn.example.org:8443", ("dtn.example.org", "https://dtn.example.org:8443")),
        ("http://127.0.0.1:8470", ("localhost", "http://localhost:8470")),
        ("http://[::1]:8470", ("localhost", "http://localhost:8470")),
        ("https://192.0.2.7", None),
        ("", None),
    ],
)
def test_passkeys_are_for_the_host_name_of_the_public_address(public_url: str, party: tuple[str, str] | None) -> None:
    assert RelyingParty.of(public_url) == (RelyingParty(*party) if party else None)


async def test_where_people_come_by_an_address_there_are_no_passkeys() -> None:
    house = House("https://192.0.2.7")
    ada = await house.ada()
    assert await house.passkeys.ask(ada, WHAT) is None
    with pytest.raises(AuthError, match="HEADRACE_PUBLIC_URL"):
        await house.passkeys.begin_enrolment(ada)


async def test_nobody_has_more_than_twenty_passkeys(house: House) -> None:
    ada = await house.ada()
    begun = shown(await house.passkeys.begin_enrolment(ada))
    for _ in range(MAX_PASSKEYS):
        await house.add(ada)
    with pytest.raises(AuthError, match="remove one first"):
        await house.passkeys.begin_enrolment(ada)
    given = Device().create(begun).model_dump(exclude={"name"})
    with pytest.raises(AuthError, match="remove one first"):
        await house.passkeys.enrol(ada, "x", Attestation(**given))


async def test_a_challenge_of_the_sign_in_that_everybody_gets_adds_no_passkey(house: House) -> None:
    ada = await house.ada()
    asked = shown(house.passkeys.ask_to_sign_in())
    nonce, what = asked.kept.rpartition(".")[0], f"enrol {ada.id} {ada.session_id}"
    own = hashlib.sha256(b"headrace/consent/v1" + hashlib.sha256(what.encode()).digest() + nonce.encode()).digest()
    given = Device().create(asked.model_copy(update={"challenge": encoded(own)}))
    with refused("something else"):
        await house.passkeys.enrol(ada, "stolen", Attestation(**given.model_dump(exclude={"name"})))
    assert await house.passkeys.of(ada) == []


async def test_answers_that_strangers_make_up_shut_nobody_out(house: House) -> None:
    ada = await house.ada()
    device = await house.add(ada)
    for _ in range(TRY_LIMIT.attempts + 1):
        made_up = Device().get(shown(house.passkeys.ask_to_sign_in()))
        with pytest.raises(AuthError):
            await house.passkeys.sign_in(Assertion(**made_up.model_dump()), HERE)
    lies = Device(raw_id=device.raw_id)
    for _ in range(TRY_LIMIT.attempts):
        with pytest.raises(AuthError) as error:
            await house.passkeys.sign_in(
                Assertion(**lies.get(shown(house.passkeys.ask_to_sign_in())).model_dump()), "192.0.2.9"
            )
        assert error.value.code is AuthCode.SIGN_IN_REFUSED
    given = Assertion(**device.get(shown(house.passkeys.ask_to_sign_in())).model_dump())
    with pytest.raises(TooManyAttempts):
        await house.passkeys.sign_in(given, "192.0.2.9")
    assert (await house.passkeys.sign_in(given, HERE)).principal.id == ada.id


async def test_who_comes_from_elsewhere_proves_with_a_passkey_and_signs_in_there(house: House) -> None:
    record = PersonRecord(id="pn_o", name="o", roles=frozenset(), state="active", created=house.now, local=False)
    await house.store.add_person(record)
    person = (await house.door.sessions.begin(record, BY_PASSWORD)).principal
    device = await house.add(person)
    await house.prove(person, device.get(await house.asked(person)))
    with pytest.raises(AuthError) as error:
        await house.passkeys.sign_in(Assertion(**device.get(shown(house.passkeys.ask_to_sign_in())).model_dump()), HERE)
    assert (error.value.code, "elsewhere" in error.value.reason) == (AuthCode.SIGN_IN_REFUSED, True)
