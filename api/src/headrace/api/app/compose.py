"""The composition root: makes every part of a service and joins them."""

import json
import logging
import os
from dataclasses import dataclass
from datetime import timedelta
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from headrace.api.access.change_feed import ChangeFeed
from headrace.api.access.change_limit import ChangeLimit
from headrace.api.access.health import Health
from headrace.api.access.metrics import Metrics
from headrace.api.access.people_health import PeopleHealth
from headrace.api.access.use_cases import UseCases
from headrace.api.app.hub_events import HubEvents
from headrace.api.app.key_notes import KeyNotes
from headrace.api.app.listening import Address
from headrace.api.app.pepper import pepper_keys
from headrace.api.audit.chain import Audit
from headrace.api.audit.elsewhere import SEND_S, Elsewhere
from headrace.api.audit.heads import HeadsFile
from headrace.api.audit.strangers import LOOK_S, Strangers
from headrace.api.audit.syslog import Receiver, SyslogLine
from headrace.api.authority_key import authority_key, follow_signer, hold_to_its_key, key_chain
from headrace.api.clock import Clock
from headrace.api.clock_doubt import KEEP_S, ClockDoubt
from headrace.api.core import Core
from headrace.api.data_folder import HEADS, OwnFolder
from headrace.api.events.broker import Broker
from headrace.api.events.outbox import Outbox
from headrace.api.events.reactions import Reactions
from headrace.api.jobs.local import LocalJobs
from headrace.api.people.accounts import LEAVERS, People
from headrace.api.people.directory_file import read_directories
from headrace.api.people.passkeys import PersonPasskeys
from headrace.api.people.proofs import Proofs
from headrace.api.people.secret_file import read_secret
from headrace.api.people.sql_identities import SqlIdentityStore
from headrace.api.people.sql_passkeys import SqlPasskeyStore
from headrace.api.people.sql_store import SqlPeopleStore
from headrace.api.planning.consent import Consent
from headrace.api.planning.intake import Intake
from headrace.api.planning.locations import Locations
from headrace.api.planning.losses import Losses
from headrace.api.planning.model_endpoint import model_endpoint
from headrace.api.planning.model_reading import ModelReading
from headrace.api.planning.pipeline import Pipeline
from headrace.api.planning.plan_queries import Plans
from headrace.api.planning.policy_questions import PolicyQuestions
from headrace.api.planning.redaction import Redaction
from headrace.api.planning.words import Words
from headrace.api.policy.qos import QosVersions
from headrace.api.policy.quota_rules import read_quotas
from headrace.api.policy.quotas import Quotas
from headrace.api.policy.versions import Policies
from headrace.api.settings import SettingError, Settings
from headrace.api.signing.authority import Authority
from headrace.api.signing.signer import Signer
from headrace.api.signing.signer_line import Line, SignerProcess
from headrace.api.sites.endpoints import Endpoints
from headrace.api.sites.halts import Halts
from headrace.api.sites.nodes import Nodes
from headrace.api.sites.trashes import Trashes
from headrace.api.store import Database
from headrace.api.store_trouble import log_trouble
from headrace.api.transfers.cleanup import Cleanup
from headrace.api.transfers.control import Control
from headrace.api.transfers.history import History
from headrace.api.transfers.outlook import Outlook
from headrace.api.transfers.parts import Parts
from headrace.api.transfers.promises import Promises
from headrace.api.transfers.queries import Transfers
from headrace.api.transfers.receipts import Receipts
from headrace.api.transfers.retention import Retention
from headrace.api.transfers.scheduler import Scheduler
from headrace.api.transfers.shares import Shares
from headrace.api.transfers.submit import Submissions
from headrace.api.transfers.throughput import Throughput
from headrace.api.underway import Underway
from headrace.auth import (
    LOOK_ISSUERS_S,
    Authenticator,
    Directory,
    DirectoryConfig,
    Issuer,
    IssuerError,
    Lifetimes,
    Pepper,
    read_issuers,
)
from headrace.auth.directory_ldap import LdapDirectory
from headrace.engine import Hub
from headrace.guardrails import seal

if TYPE_CHECKING:
    from headrace.api.tracing import Traces

_log = logging.getLogger(__name__)

_HOUR_S = 3600
_DAY_S = 24 * _HOUR_S


@dataclass(frozen=True, slots=True)
class Whole:
    """All parts of one service that its life cycle needs."""

    core: Core
    use_cases: UseCases
    hub_events: HubEvents
    key_notes: KeyNotes


def compose(settings: Settings, clocks: tuple[Clock, Clock], database: Database, hub: Hub, public_url: str) -> Whole:
    """Join the parts of a service; the data folder exists and the store is migrated.

    `clocks`: what tells the time, and what measures waits.
    """
    clock, steady = clocks
    pepper = Pepper(*pepper_keys(settings.data))
    key = _authority(settings, clock)
    folder = OwnFolder(settings.data)
    heads = HeadsFile(settings.data / HEADS, key, key.chain.keys, folder.require)
    audit = Audit(database, clock, heads, _elsewhere(settings, database, heads, clocks))
    broker = Broker(settings.max_watchers, settings.max_watchers_of_one, settings.max_watchers_of_token)
    outbox = Outbox(database, broker, clock)
    jobs = LocalJobs(database, clock)
    strangers, doubt = Strangers(database, audit, steady), ClockDoubt(clock, steady, folder)
    ways = broker, Reactions(), outbox, jobs, hub, Underway()
    core = Core(database, audit, strangers, clock, steady, doubt, settings, *ways, folder)
    nodes = Nodes(core, key.public)
    doubt.votes = nodes.clock_votes
    hub.announce(successions=key.chain.documents, hub_succession=_hub_succession(hub, key))
    endpoints = Endpoints(core, nodes)
    redaction = Redaction(endpoints)
    qos = QosVersions(core)
    policies = Policies(core, qos.class_names)
    shares, outlook = Shares(core, qos, lambda key: nodes.attached(key) is not None), Outlook(core, qos)
    signer = Signer(core, key, policies, endpoints, halts := Halts(core, nodes, endpoints))
    receipts, cleanup = Receipts(core, signer), Cleanup(core, nodes)
    quotas = Quotas(core, read_quotas(settings.quotas))
    throughput = Throughput(core, settings.throughput_samples)
    promises = Promises(core, history := History(core), qos, outlook)
    parts = Parts(core, nodes, signer, history, receipts, throughput, quotas, shares, outlook, promises)
    scheduler = Scheduler(parts, cleanup)
    core.reactions.listen(scheduler.recheck)
    transfers = Transfers(parts, scheduler, redaction, halts)
    plans = Plans(core, policies, redaction)
    locations = Locations(core, nodes, endpoints, policies, signer)
    pipeline = Pipeline(core, nodes, locations, policies, signer, quotas, qos)
    words = Words(core, endpoints, model := _model(settings, steady))
    lifetimes = Lifetimes(
        idle=timedelta(seconds=settings.session_idle_s), session=timedelta(seconds=settings.session_valid_s)
    )
    identities = SqlIdentityStore(database, audit, core.reactions)
    authenticator = Authenticator(
        SqlPeopleStore(database, audit),
        identities,
        SqlPasskeyStore(database, audit),
        clock,
        pepper,
        lifetimes,
        steady=steady,
        issuers=_issuers(settings),
        public_url=public_url,
        directories=_directories(settings),
        unnoted=partial(log_trouble, _log, "that a session or token was used could not be noted"),
    )
    proofs = Proofs(core, authenticator, public_url, signer.statement)
    people_health = PeopleHealth(core, authenticator.issuer_watch, identities)
    health = Health(nodes, endpoints, halts, signer, qos, people_health, core)
    use_cases = UseCases(
        audit=audit,
        change_limit=ChangeLimit(core),
        changes=ChangeFeed(core),
        consent=Consent(core, plans, proofs, signer),
        endpoints=endpoints,
        scheduler=scheduler,
        halts=halts,
        health=health,
        metrics=Metrics(core, nodes, scheduler, promises, policies, health, halts),
        nodes=nodes,
        passkeys=PersonPasskeys(authenticator, proofs),
        people=People(core, authenticator, proofs, public_url),
        locations=locations,
        losses=Losses(core, plans, redaction),
        intake=Intake(core, pipeline, plans, words),
        plans=plans,
        proofs=proofs,
        policies=policies,
        policy_questions=PolicyQuestions(core, policies, locations, endpoints),
        qos=qos,
        quotas=quotas,
        receipts=receipts,
        shares=shares,
        outlook=outlook,
        promises=promises,
        control=Control(parts, scheduler, transfers),
        submissions=Submissions(parts, scheduler, plans, transfers),
        cleanup=cleanup,
        transfers=transfers,
        trashes=Trashes(core, nodes),
        traces=_traces(settings, audit),
        model=model,
    )
    key_notes = KeyNotes(database, audit, clock, key.chain, hub)
    jobs.every("note which keys have ended", _HOUR_S, key_notes.write)
    jobs.every("export the audit head", settings.audit_head_s, audit.export_head)
    if audit.elsewhere is not None:
        jobs.every("send the audit chain", SEND_S, audit.elsewhere.send)
    jobs.every("count strangers", LOOK_S, strangers.tell)
    _remove_what_is_old(core, quotas)
    # Each question of a look has a limit; how many there are is how many people there are.
    for issuer, look in use_cases.people.looks_for_leavers():
        jobs.every(f"{LEAVERS}{issuer}", settings.directory_poll_s, look, limit_s=None)
    for issuer, look in use_cases.people.looks_at_issuers():
        jobs.every(f"look whether people can sign in at {issuer}", LOOK_ISSUERS_S, look, limit_s=None)
    return Whole(core, use_cases, HubEvents(core, use_cases), key_notes)


def _remove_what_is_old(core: Core, quotas: Quotas) -> None:
    """Do it again and again, and never by a clock that may be ahead."""
    doubt, kept_s = core.doubt, core.settings.outbox_kept_s
    core.jobs.every("note the time", KEEP_S, doubt.keep)
    core.jobs.every("remove old changes", _HOUR_S, doubt.unless(partial(core.outbox.remove_old, kept_s)))
    core.jobs.every("forget old uses of quotas", _HOUR_S, doubt.unless(quotas.remove_old))
    core.jobs.every("remove what is kept no longer", _DAY_S, Retention(core).sweep)


def read_files(settings: Settings) -> None:
    """Read every file that settings name, before anything is changed; raises `SettingError` that says which is wrong.

    They are read once more when the parts are made.
    """
    read_quotas(settings.quotas)
    _issuers(settings)
    for directory in _directories(settings):
        directory.close()
    _line(settings)
    model_endpoint(settings)
    if settings.otlp_traces:
        _require_tracing()


def _authority(settings: Settings, clock: Clock) -> Authority:
    """Return what signs: in this process, or in one of its own."""
    if not settings.signer:
        key = authority_key(settings, os.environ)
        return Authority(key, clock, key_chain(settings.data))
    line = Line(Path(settings.signer))
    follow_signer(settings.data, line.public, line.successions)
    hold_to_its_key(settings.data, line.public, settings.signer, "HEADRACE_SIGNER")
    return SignerProcess(line, clock, key_chain(settings.data))


def _elsewhere(
    settings: Settings, database: Database, heads: HeadsFile, clocks: tuple[Clock, Clock]
) -> Elsewhere | None:
    """Return the other host that gets the audit chain; raises `SettingError`."""
    line = _line(settings)
    return Elsewhere(database, heads, *clocks, line, settings.audit_most_unsent) if line else None


def _model(settings: Settings, steady: Clock) -> ModelReading | None:
    """Return what asks the site's language model, if it has one; raises `SettingError`."""
    model = model_endpoint(settings)
    return ModelReading(model, settings, steady) if model else None


def _traces(settings: Settings, audit: Audit) -> "Traces | None":
    """Let traces be made of what the audit chain notes, where they are on; only then is loaded what that needs."""
    if not settings.otlp_traces:
        return None
    from headrace.api.tracing import Traces  # noqa: PLC0415 - as said

    traces = Traces(settings.otlp_traces)
    audit.observer = traces.note
    return traces


def _require_tracing() -> None:
    if find_spec("opentelemetry.sdk") is None or find_spec("opentelemetry.exporter.otlp.proto.http") is None:
        message = (
            "`HEADRACE_OTLP_TRACES` is set, and what sends traces is not installed: pip install 'headrace-api[traces]'"
        )
        raise SettingError(message)


def _line(settings: Settings) -> SyslogLine | None:
    if not settings.audit_syslog:
        return None
    at = Address.parse(settings.audit_syslog, "HEADRACE_AUDIT_SYSLOG")
    receiver = Receiver(
        at.host, at.port, settings.audit_syslog_ca, settings.audit_syslog_cert, settings.audit_syslog_key
    )
    try:
        return SyslogLine(receiver)
    except OSError as error:
        message = f"`HEADRACE_AUDIT_SYSLOG_CA`, `_CERT` or `_KEY` can't be used: {error}"
        raise SettingError(message) from error


def _hub_succession(hub: Hub, key: Authority) -> str:
    """Seal which key comes after the hub's own: with the key that signs now, whichever did when that began."""
    return seal("hub-succession", json.loads(hub.succession), key).text if hub.succession else ""


def _issuers(settings: Settings) -> tuple[Issuer, ...]:
    if not settings.oidc_issuers:
        return ()
    try:
        return read_issuers(Path(settings.oidc_issuers), read_secret)
    except IssuerError as error:
        message = f"`HEADRACE_OIDC_ISSUERS`: {error}"
        raise SettingError(message) from error


def _directories(settings: Settings) -> list[Directory]:
    """Return the site's directories, whom nobody has asked anything yet; raises `SettingError`."""
    return [_directory(config, settings.directories) for config in read_directories(settings.directories)]


def _directory(config: DirectoryConfig, file: str) -> Directory:
    try:
        return LdapDirectory(config)
    except OSError as error:
        message = f"`HEADRACE_DIRECTORIES`: `{file}`: `ca` of `{config.domain}`, `{config.ca}`, can't be used: {error}"
        raise SettingError(message) from error
