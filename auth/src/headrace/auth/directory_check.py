"""Tries a configuration of a directory, and says in words what is wrong with it."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Final

from ldap3 import Connection

from headrace.auth.directory import LEAST_ATTEMPTS, DirectoryAway, DirectoryConfig, DirectoryRefused, TypedName, escaped
from headrace.auth.directory_ldap import LdapDirectory, one_of, text_of
from headrace.auth.findings import Finding

MAX_SKEW: Final = timedelta(seconds=60)
_WORDS: Final = (
    ("certificate is not valid for", "its certificate is for another host name"),
    ("CERTIFICATE_VERIFY_FAILED", "its certificate is not by the authority in `ca`, or is out of date"),
    ("refuses", "`account` or the password in `secret_file` is wrong, or the account may not sign in"),
    ("could not search in", "the account can read no entry at `base`"),
    ("invalid server address", "nobody knows a host of this name"),
    ("Connection refused", "nothing listens there"),
    ("timed out", "it does not answer in time"),
    ("startTLS", "it does not take StartTLS"),
    ("wrong version number", "it does not speak TLS on this port"),
)


def check_directory(
    config: DirectoryConfig, clock: Callable[[], datetime], name: TypedName | None = None
) -> Iterator[Finding]:
    """Ask every server of a domain everything that a sign-in asks; with `name`, show who that is. Blocks."""
    answered = None
    for server in config.servers:
        try:
            directory = LdapDirectory(replace(config, servers=(server,)))
        except OSError as error:
            yield Finding(good=False, said=f"`ca`: `{config.ca}` can't be used (a file in PEM): {error}")
            return
        try:
            with directory.as_service() as connection:
                tls = connection.socket.version()
                yield Finding(good=True, said=f"{server}: signed in as {config.account} over {tls}")
                yield _clock(directory, connection, clock())
                yield _lockout(directory, connection)
            answered = directory
        except DirectoryAway as error:
            yield Finding(good=False, said=_in_words(str(error)))
        finally:
            directory.close()
    if answered is not None and name is not None:
        yield from _person(answered, name)


def _clock(directory: LdapDirectory, connection: Connection, now: datetime) -> Finding:
    skew = abs(directory.time(connection) - now)
    said = f"its clock and this one are {int(skew.total_seconds())} s apart"
    if skew > MAX_SKEW:
        return Finding(
            good=False,
            said=f"{said}: accounts end by its clock, sessions and tickets by this one; set the wrong one right",
        )
    return Finding(good=True, said=said)


def _lockout(directory: LdapDirectory, connection: Connection) -> Finding:
    config = directory.config
    root = ",".join(f"DC={part}" for part in config.domain.split("."))
    [(_, rule)] = directory.search(connection, "(objectClass=*)", ("lockoutThreshold",), of=root)
    if "lockoutThreshold" not in rule:
        said = (
            f"{config.account} can't read after how many wrong passwords the domain locks accounts (lockoutThreshold "
            f"of {root}): let it, or compare that with `attempts`, which is {config.attempts}, yourself"
        )
        return Finding(good=False, said=said)
    threshold = int(one_of(rule, "lockoutThreshold"))
    if 0 < threshold <= config.attempts:
        helps = (
            f"set it below {threshold}, or raise the domain's limit"
            if threshold > LEAST_ATTEMPTS
            else f"`attempts` can't be below {LEAST_ATTEMPTS}, so only raising the domain's limit above that helps"
        )
        said = (
            f"the domain locks accounts after {threshold} wrong passwords, and `attempts` is {config.attempts}: "
            f"strangers could lock people's accounts; {helps}"
        )
        return Finding(good=False, said=said)
    locks = f"locks accounts after {threshold} wrong passwords" if threshold else "locks no accounts"
    return Finding(good=True, said=f"the domain {locks}; at most {config.attempts} of one account reach it")


def _person(directory: LdapDirectory, name: TypedName) -> Iterator[Finding]:
    try:
        account = directory.find_now(name)
    except DirectoryRefused as error:
        yield Finding(good=False, said=f"`{name.user}`: {error.reason} below {directory.config.base}")
        return
    except DirectoryAway as error:
        yield Finding(good=False, said=_in_words(str(error)))
        return
    state = f", and may not sign in: {account.refusal}" if account.refusal else ""
    yield Finding(good=True, said=f"`{name.user}` is {account.name} (subject {account.subject}){state}")
    for sid, group in _named(directory, sorted(account.groups)):
        yield Finding(good=True, said=f"group {sid}  {group}")


def _named(directory: LdapDirectory, sids: Sequence[str]) -> Iterator[tuple[str, str]]:
    """Name groups as people do."""
    with directory.as_service() as connection:
        for sid in sids:
            found = directory.search(connection, f"(objectSid={escaped(sid)})", ("sAMAccountName",))
            yield sid, text_of(found[0][1], "sAMAccountName") if found else "(of another domain)"


def _in_words(error: str) -> str:
    return next((f"{words} ({error})" for sign, words in _WORDS if sign in error), error)
