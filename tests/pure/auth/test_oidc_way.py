"""The way to a provider: a certificate for its host name by an authority that the site knows, and answers in time."""

import asyncio
import ssl
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from pathlib import Path

import pytest
from tests.pure.auth.documents import Documents, OwnClock, claims, issuer_at, served, signed
from tests.pure.auth.test_oidc_check import GOOD, said_of
from tests.servers.directory import Authority

from headrace.auth import Issuer, oidc_provider
from headrace.auth.oidc_provider import Discovered, Provider, ProviderFailed

pytestmark = pytest.mark.anyio


@pytest.fixture(scope="module")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of an authority, with a certificate for 127.0.0.1 by it."""
    folder = tmp_path_factory.mktemp("tls")
    Authority.make().certify(folder, "127.0.0.1", "login.corp.test")
    return folder


@pytest.fixture(scope="module")
def secured(authority: Path) -> Iterator[Documents]:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(authority / "dc.pem", authority / "dc.key")
    with served(context) as found:
        found.changed = GOOD
        yield found


def declared(secured: Documents, ca: Path | None, host: str = "127.0.0.1") -> Issuer:
    url = secured.url.replace("127.0.0.1", host)
    return replace(issuer_at(url), ca_file=str(ca) if ca else None, client_secret="of the client")  # noqa: S106


@asynccontextmanager
async def dripping() -> AsyncIterator[str]:
    """Serve what begins to answer at once and never ends: a byte now and then."""
    ended = asyncio.Event()

    async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n{")
        with suppress(OSError):
            while not ended.is_set():
                writer.write(b" ")
                await writer.drain()
                with suppress(TimeoutError):
                    await asyncio.wait_for(ended.wait(), 0.05)
        writer.close()

    server = await asyncio.start_server(drip, "127.0.0.1", 0)
    async with server:
        try:
            yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        finally:
            ended.set()


async def test_a_provider_whose_answers_never_end_holds_nobody_up_for_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(oidc_provider, "TIMEOUT_S", 0.5)
    async with dripping() as url, asyncio.timeout(20):
        provider = Provider(issuer_at(url), OwnClock())
        with pytest.raises(ProviderFailed, match=r"no answer within 0\.5 s"):
            await provider.discovered()
        # What is known of it already helps nobody whose code has to be exchanged there.
        found = Discovered(
            authorization_endpoint=url, token_endpoint=f"{url}/token", jwks_uri=f"{url}/keys", says_issuer=False
        )
        provider._discovered._known = (OwnClock()(), found)  # noqa: SLF001 - as if it had answered before
        with pytest.raises(ProviderFailed, match=r"no answer within 0\.5 s"):
            await provider.exchange(0.5, grant_type="authorization_code", code="x", code_verifier="v" * 43)
        await provider.close()


async def why_not(issuer: Issuer) -> str:
    provider = Provider(issuer, OwnClock())
    try:
        with pytest.raises(ProviderFailed) as failed:
            await provider.exchange(grant_type="authorization_code", code="x", code_verifier="v" * 43)
        return str(failed.value)
    finally:
        await provider.close()


async def test_a_provider_whose_authority_the_site_names_is_believed(secured: Documents, authority: Path) -> None:
    provider = Provider(declared(secured, authority / "ca.pem"), OwnClock())
    assert (await provider.verified(signed(claims(secured)))).claims["sub"] == "pia"
    await provider.close()


async def test_a_provider_without_the_sites_certificate_gets_no_code_and_no_secret(
    secured: Documents, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(Authority.make().pem)
    for ca in (other, None):
        assert "CERTIFICATE_VERIFY_FAILED" in await why_not(declared(secured, ca))
    assert secured.posted == []


async def test_a_provider_of_another_host_name_gets_no_code_and_no_secret(secured: Documents, authority: Path) -> None:
    said = await why_not(declared(secured, authority / "ca.pem", "localhost"))
    assert "certificate is not valid for 'localhost'" in said
    assert secured.posted == []


async def test_the_check_says_in_words_what_is_wrong_with_a_certificate(
    secured: Documents, authority: Path, tmp_path: Path
) -> None:
    other = tmp_path / "other.pem"
    other.write_bytes(Authority.make().pem)
    [unknown] = (await said_of(secured, ca_file=str(other)))[1]
    assert unknown.startswith("its certificate is not by an authority that this host or `ca_file` knows")
    here = str(authority / "ca.pem")
    [another] = (await said_of(secured, url=secured.url.replace("127.0.0.1", "localhost"), ca_file=here))[1]
    assert another.startswith("its certificate is for another host name")
    assert (await said_of(secured, ca_file=here))[1] == []
