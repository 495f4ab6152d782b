import pytest
from tests.conformance import identity_store_conformance as identities
from tests.conformance import passkey_store_conformance as passkeys
from tests.conformance.people_store_conformance import CHECKS, Check

from headrace.auth import MemoryPeopleStore


@pytest.mark.anyio
@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_the_store_in_memory_conforms(check: Check) -> None:
    await check(MemoryPeopleStore())


@pytest.mark.anyio
@pytest.mark.parametrize("check", identities.CHECKS, ids=lambda check: check.__name__)
async def test_the_store_of_identities_in_memory_conforms(check: identities.Check) -> None:
    store = MemoryPeopleStore()
    await check(identities.Stores(store, store))


@pytest.mark.anyio
@pytest.mark.parametrize("check", passkeys.CHECKS, ids=lambda check: check.__name__)
async def test_the_store_of_passkeys_in_memory_conforms(check: passkeys.Check) -> None:
    store = MemoryPeopleStore()
    await check(passkeys.Stores(store, store))
