"""From `endpoint:/path` to a place below a root, and looking into folders."""

import asyncio
import difflib
import re
from collections import Counter
from datetime import UTC, datetime, timedelta

from headrace.api.caller import Caller
from headrace.api.core import Core
from headrace.api.errors import Code, ServiceError
from headrace.api.policy.versions import Policies
from headrace.api.problems import KNOWN
from headrace.api.signing.signer import Signer
from headrace.api.sites.endpoints import Endpoints, Known
from headrace.api.sites.nodes import Nodes
from headrace.api.store import Tx
from headrace.auth import Principal
from headrace.client import models as m
from headrace.engine import EngineError, Listing, ListingEntry
from headrace.guardrails import Caller as Asker
from headrace.guardrails import (
    Credential,
    Moment,
    ResolvedEndpoint,
    escape_component,
    may_browse,
    names_withheld,
    path_text,
    read_path,
    shown,
    unescape_component,
    why,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_COUNT_PAGE = 1000
_MAX_COUNT_PAGES = 100
"""A folder whose names are withheld is counted up to 100,000 names."""
_BROWSES_OF_ONE = 8
"""Folders that are listed at the same time for one person; each has its audit event, which others' writes wait for."""
_NEAR_LIMIT_S = 5.0
_NEAR_PAGE = 1000
_UNREADABLE = "folder_unreadable"
_NOTHING_THERE, _NO_FOLDER = "2", "20"
"""ENOENT and ENOTDIR, as a node's system numbers them in what it says."""

_WHOLE_NAME = 4096
"""More characters than a name has, with all that is written out in it."""
_OPEN = re.compile(r"(?:%[0-9A-F]{2}|\\u\{[0-9A-F]+\}|[*?\[\]{}\\])+")
"""What a pattern leaves open of a name as listings show it: what they write out, and what means more in patterns."""


class Locations:
    """Resolves and lists places."""

    def __init__(self, core: Core, nodes: Nodes, endpoints: Endpoints, policies: Policies, signer: Signer) -> None:
        """Look at the endpoints of one site."""
        self._core = core
        self._nodes = nodes
        self._endpoints = endpoints
        self._policies = policies
        self._signer = signer
        self._browsing = Counter[str]()

    async def resolve(self, tx: Tx, location: str) -> ResolvedEndpoint:
        """Resolve `endpoint:/path`; raises `unknown_endpoint`, `invalid_request`, or a rail about the path."""
        name, colon, path = location.partition(":")
        if not colon or not name:
            raise ServiceError(
                Code.INVALID_REQUEST,
                f"`{shown(location)}` is not a location; write `endpoint:/path`",
                fields=("location",),
            )
        return at(await self._endpoints.find(tx, name), path)

    def moment(self, caller: Caller) -> Moment:
        """Return the time and door of a call, for policies."""
        return Moment(
            now=self._core.clock(),
            zone=self._core.settings.timezone,
            door=caller.door.value,
            session=caller.principal.session,
            credential=credential_of(caller.principal),
            factors=caller.principal.factors,
        )

    async def browse(self, caller: Caller, endpoint: str, path: str, *, after: str | None, limit: int) -> m.FolderPage:
        """List one page of a folder, if policy lets the caller look there; raises `too_many_browses`."""
        person = caller.principal.id
        if self._browsing[person] >= _BROWSES_OF_ONE:
            raise ServiceError(
                Code.TOO_MANY_BROWSES,
                f"{_BROWSES_OF_ONE} folders are being listed for this person, the most for one; "
                "list again when one of them is there",
            )
        self._browsing[person] += 1
        try:
            return await self._browse(caller, endpoint, path, after=after, limit=limit)
        except _NotThere as error:
            if error.nothing:
                error.args = (error.detail + await self.near(caller, error.folder),)
            raise
        finally:
            self._browsing[person] -= 1
            if not self._browsing[person]:
                del self._browsing[person]

    async def require_folder(self, caller: Caller, folder: ResolvedEndpoint, permit: str) -> None:
        """Refuse a place where no folder is. Policy has been asked before, and gave the permit."""
        try:
            await self._core.hub.browse(permit=permit, path=folder.path, after=None, limit=1)
        except EngineError as error:
            if error.code != _UNREADABLE:
                raise
            missing = _not_there(folder, error)
            # Who may write there need not be able to list it.
            if missing is None:
                return
            if missing.nothing:
                missing.args = (missing.detail + await self.near(caller, folder),)
            raise missing from error

    async def near(self, caller: Caller, place: ResolvedEndpoint) -> str:
        """Name what is beside a place where nothing is and is written nearly so, if the caller may list it there."""
        *folder, name = place.path or ("",)
        parent = "/" + "/".join(folder)
        try:
            async with asyncio.timeout(_NEAR_LIMIT_S):
                page = await self._browse(caller, place.endpoint, parent, after=None, limit=_NEAR_PAGE)
        except (*KNOWN, TimeoutError):
            return ". Correct the path"
        beside = f"{place.endpoint}:{as_typed(parent).rstrip('/')}"
        literal = as_typed(name)
        if any(_listed(one.name) == literal and _typed(one.name) is None for one in page.items):
            return (
                ". Listings show a name so that lies there, and write with % or \\u what no path can hold. Take it "
                f"from the folder `{shown(beside)}/` with the pattern `{_OPEN.sub('*', literal)}` (`--include`, or "
                "`only ...`)"
            )
        # What stands for such characters can't be typed, so it would be no correction.
        others = [typed for one in page.items if (typed := _typed(one.name)) is not None]
        near = ", ".join(f"`{shown(beside)}/{shown(one)}`" for one in difflib.get_close_matches(literal, others))
        return f"; near it: {near}. Correct the path" if near else ". Correct the path"

    async def _browse(self, caller: Caller, endpoint: str, path: str, *, after: str | None, limit: int) -> m.FolderPage:
        async with self._core.database.read() as tx:
            folder = at(await self._endpoints.find(tx, endpoint), path)
            await self._nodes.require_usable(tx, folder.node)
        asker = asker_of(caller.principal)
        decision = may_browse(self._policies.active, asker, folder, self.moment(caller))
        denied = decision.outcome != "allowed"
        async with self._core.database.write() as tx:
            kind = m.AuditKind.BROWSE_DENIED if denied else m.AuditKind.BROWSED
            detail = {"policy_version": decision.policy_version, "rules": " ".join(rule.id for rule in decision.rules)}
            await self._core.audit.append(tx, kind, caller=caller, subject=folder.text, detail=detail)
        if denied:
            raise ServiceError(
                Code.DENIED_BY_POLICY, f"`{shown(folder.text)}` can't be listed for you. {why(decision)}"
            )
        permit = (await self._signer.permit(asker, folder)).text
        if names_withheld(asker, folder):
            try:
                count = await self._count(permit, folder)
            except EngineError as error:
                # What a node says of an error may name files.
                raise ServiceError(error.code, f"`{shown(folder.endpoint)}` can't be looked at there") from error
            return m.FolderPage(
                endpoint=folder.endpoint, path=path_text(folder.path), items=[], count=count, names_withheld=True
            )
        try:
            listing = await self._core.hub.browse(permit=permit, path=folder.path, after=after, limit=limit)
        except EngineError as error:
            missing = _not_there(folder, error)
            if missing is None:
                raise
            raise missing from error
        entries = [_entry(entry) for entry in listing.entries]
        return m.FolderPage(
            endpoint=folder.endpoint,
            path=path_text(folder.path),
            items=entries,
            count=len(entries),
            next=listing.next_after,
        )

    async def _count(self, permit: str, folder: ResolvedEndpoint) -> int:
        count, after = 0, None
        for _ in range(_MAX_COUNT_PAGES):
            page: Listing = await self._core.hub.browse(permit=permit, path=folder.path, after=after, limit=_COUNT_PAGE)
            count, after = count + len(page.entries), page.next_after
            if after is None:
                break
        return count


class _NotThere(ServiceError):  # noqa: N818 - says what is the case
    """No folder is at a place that somebody wants to look into."""

    def __init__(self, folder: ResolvedEndpoint, *, nothing: bool) -> None:
        """`nothing`: whether nothing is there; otherwise a file is, or one is in the place of a folder above it."""
        place = f"`{shown(f'{folder.endpoint}:{as_typed(path_text(folder.path))}')}`"
        detail = (
            f"there is nothing at {place}"
            if nothing
            else f"{place} is not a folder: it, or a name before it in the path, is a file. Browse the folder above it"
        )
        super().__init__(Code.UNKNOWN_FOLDER, detail)
        self.folder = folder
        self.nothing = nothing


def _not_there(folder: ResolvedEndpoint, error: EngineError) -> _NotThere | None:
    """Return what is to be said where a node can't list a place because no folder is there."""
    number = re.search(r"\(os error (\d+)\)", str(error)) if error.code == _UNREADABLE else None
    if not folder.path or number is None or number[1] not in {_NOTHING_THERE, _NO_FOLDER}:
        return None
    return _NotThere(folder, nothing=number[1] == _NOTHING_THERE)


def as_typed(path: str) -> str:
    """Write a path of escaped names as people type it; a name that nobody can type stays as listings show it."""
    return "/".join(one if (typed := _typed(one)) is None else typed for one in path.split("/"))


def _typed(name: str) -> str | None:
    """Return an escaped name as people type it; nothing where it holds what no path may."""
    try:
        typed = unescape_component(name).decode()
    except ValueError:
        return None
    return typed if _listed(typed) == typed and escape_component(typed.encode()).replace("%25", "%") == typed else None


def _listed(name: str) -> str:
    """Write a name as listings show it, whole."""
    return shown(name, _WHOLE_NAME)


def at(known: Known, path: str) -> ResolvedEndpoint:
    """Return the place at `path` (as somebody wrote it) of an endpoint; raises the rails about paths."""
    return ResolvedEndpoint(
        endpoint=known.id,
        node=known.node_key,
        root=known.root,
        path=read_path(path or "/"),
        into=path.endswith("/"),
        access=known.access,
        labels=known.labels,
        folder_labels=known.folder_labels,
    )


def asker_of(principal: Principal) -> Asker:
    """Return the policy's view of a principal."""
    roles = frozenset(map(str, principal.roles))
    return Asker(person=principal.id, roles=roles, groups=principal.groups, agent=principal.agent)


def credential_of(principal: Principal) -> Credential:
    """Return what a call came with, in the words of policies; an assistant's token is one however it was made."""
    if principal.agent is not None:
        return "assistant-token"
    if principal.session:
        return "session"
    return "token" if principal.kind == "person" else "service-token"


def _entry(entry: ListingEntry) -> m.Entry:
    modified = _EPOCH + timedelta(microseconds=entry.mtime_ns // 1000)
    return m.Entry(name=entry.name, kind=entry.kind, size_bytes=entry.size, modified=modified)
