"""Every setting of the service, declared once: name, default, unit, meaning, environment variable.

A setting `plan_queue` is read from `HEADRACE_PLAN_QUEUE`; command-line options of `headrace serve` win over it.
docs/settings.md lists them all (a test compares).
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import Field, dataclass, field, fields, replace
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from pathlib import Path
from typing import Final, TypeVar
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

ANY_HOST: Final = frozenset({"0.0.0.0", "::", "[::]"})  # noqa: S104 - compared with, not bound to
"""Every address of the host, which is nobody's to dial."""
_PREFIX = "HEADRACE_"
_WHOLE = 100
_T = TypeVar("_T")


class SettingError(ValueError):
    """A setting whose value can't be used; the message names its variable, the value and what is expected."""


def _setting(default: _T, unit: str, meaning: str, *, shown: bool = True) -> _T:
    """Declare one setting; `shown` says whether its value may be printed."""
    return field(default=default, repr=shown, metadata={"unit": unit, "meaning": meaning})


@dataclass(frozen=True, slots=True)
class Settings:
    """The service's settings. Integers are positive; an empty text means "not set"."""

    data: Path = _setting(  # noqa: RUF009 - a field, made by one helper
        Path("headrace-data"), "path", "folder for the database, keys and result lists (made 0700)"
    )
    database: str = _setting(
        "", "URL", "PostgreSQL database of the store; empty: a SQLite file in the data folder", shown=False
    )
    """May hold a password."""
    listen: str = _setting("127.0.0.1:8470", "host:port", "where API, console and MCP listen; port 0 picks one")
    metrics_listen: str = _setting(
        "", "host:port", "where monitoring asks for `/metrics`, `/live` and `/ready`, without sign-in; empty: nowhere"
    )
    otlp_traces: str = _setting(
        "",
        "URL",
        "where traces of requests are sent by OTLP over HTTP (docs/operations/monitoring.md); empty: nowhere",
    )
    hub_listen: str = _setting("127.0.0.1:8471", "host:port", "where nodes dial in; port 0 picks one")
    hub_advertise: str = _setting("", "host:port", "address that join tokens tell nodes to dial; empty: the hub's own")
    peer_listen: str = _setting(
        "",
        "host:port",
        "where this process, when it leads, takes what the site's other processes pass on (docs/operations/deploy.md); "
        "port 0 picks one; empty: there is no other process",
    )
    public_url: str = _setting("", "URL", "how browsers reach the service; empty: made from the listening address")
    trusted_proxies: str = _setting(
        "",
        "addresses",
        "reverse proxies that say whom they pass on (`X-Forwarded-For`): addresses or networks, with commas between; "
        "empty: nobody is believed",
    )
    tls_cert: str = _setting("", "path", "certificate chain (PEM); needed for any address but loopback")
    tls_key: str = _setting("", "path", "private key (PEM) of the certificate")
    authority_key: str = _setting(
        "",
        "place",
        "the key that signs plans and tickets: a file (PEM), `credential:NAME` of systemd, or `pkcs11:...`; empty: "
        "made in the data folder",
    )
    signer: str = _setting("", "path", "Unix socket of `headrace signer`, which holds the key; empty: none")
    timezone: str = _setting("UTC", "IANA zone", "the site's zone: for times in sentences and for policy hours")
    node_name: str = _setting("local", "name", "name of the embedded node, made when at least one root is given")
    node_data_listen: str = _setting("127.0.0.1:0", "host:port", "where the embedded node takes data connections")
    engine_log: str = _setting("info", "level", "what the engine logs: a level, or `target=level,...`")

    model_url: str = _setting(
        "",
        "URL",
        "OpenAI-compatible endpoint of a language model that is asked about requests which the grammar asks back "
        "(docs/security/guardrails.md); empty: no model",
    )
    model_name: str = _setting("", "name", "the model that is asked for there")
    model_key: str = _setting("", "path", "file with the key of that endpoint; empty: it needs none")
    model_timeout_s: int = _setting(10, "s", "longest time for one answer of the model; the questions stand after it")
    model_most_characters: int = _setting(1000, "characters", "longest request that is sent to the model")
    model_requests_per_minute: int = _setting(20, "count", "requests to the model in a minute")
    model_requests_per_day: int = _setting(1000, "count", "requests to the model in 24 hours")
    model_tokens_per_minute: int = _setting(60_000, "tokens", "tokens of the model, sent and received, in a minute")
    model_tokens_per_day: int = _setting(1_000_000, "tokens", "tokens of the model, sent and received, in 24 hours")
    model_person_percent: int = _setting(
        25, "%", "part of each of these four limits that one person may take (1 to 100); one request is always in it"
    )

    max_body_bytes: int = _setting(1_048_576, "bytes", "largest request body")
    request_timeout_s: int = _setting(60, "s", "longest time for one request (watching a transfer is exempt)")
    receive_timeout_s: int = _setting(15, "s", "longest time for a request's head to come in, and again for its body")
    max_connections: int = _setting(1000, "count", "connections to `HEADRACE_LISTEN` at the same time")
    max_connections_of_one: int = _setting(250, "count", "of them from one address (IPv6: one /64 network)")
    max_wait_s: int = _setting(30, "s", "longest wait that a caller may ask for in one request")
    max_watchers: int = _setting(256, "count", "callers that may watch transfers at the same time")
    max_watchers_of_one: int = _setting(32, "count", "transfers and plans that one person may watch at the same time")
    max_watchers_of_token: int = _setting(16, "count", "of them with one token; a person's own session always gets one")
    changes_per_minute_of_one: int = _setting(
        600,
        "count",
        "calls that change something or are noted in the audit log, of one person's sessions, and of one token, in a "
        "minute (a person's tokens together: twice as many); more are refused",
    )
    heartbeat_s: int = _setting(15, "s", "time between comments in a quiet watch, and checks of its rights")

    plan_concurrency: int = _setting(4, "count", "plans that are surveyed at the same time")
    plan_queue: int = _setting(64, "count", "plans that may wait for or be in a survey; more are refused")
    plan_concurrency_of_one: int = _setting(2, "count", "of them for one person, so that others have their turn")
    plan_queue_of_one: int = _setting(24, "count", "plans of one person that may wait for or be in a survey")
    survey_max_entries: int = _setting(10_000_000, "count", "most names that one survey may list")

    ticket_renew_s: int = _setting(300, "s", "time between renewals, at which everything is checked again")
    transfer_concurrency: int = _setting(
        16,
        "count",
        "transfers that run at once, and as many more whose deadline a link has promised; others are queued",
    )
    transfer_concurrency_of_one: int = _setting(12, "count", "of them for one person, so that others have their turn")
    transfer_queue: int = _setting(1000, "count", "transfers that may be queued, running, waiting or paused")
    transfer_queue_of_one: int = _setting(
        300, "count", "of them of one person, who never has more than are left; more are refused"
    )
    min_rate_bps: int = _setting(
        100_000, "bit/s", "lowest rate ceiling that may be asked for (a slot is held meanwhile)"
    )
    attempts_without_progress: int = _setting(8, "count", "attempts in a row without a durable byte before giving up")
    backoff_ms: int = _setting(500, "ms", "first wait before another attempt; doubles each time")
    max_backoff_ms: int = _setting(300_000, "ms", "longest wait before another attempt")
    sweep_s: int = _setting(30, "s", "time between looks for transfers and plans that nobody works on")
    away_limit_s: int = _setting(604_800, "s", "time that a transfer waits for a node or past another obstacle")
    pause_limit_s: int = _setting(2_592_000, "s", "longest time of a pause; the transfer is canceled after it")
    retry_valid_s: int = _setting(604_800, "s", "how long after its end a failed transfer may be tried again")

    session_idle_s: int = _setting(28_800, "s", "an interactive session ends after this time without use")
    session_valid_s: int = _setting(604_800, "s", "an interactive session ends after this time in any case")
    consent_proof: str = _setting(
        "password",
        "session, password or passkey",
        "what proves at least that a person is there who confirms, approves, publishes, or gives rights or a token; "
        "with `session`, a program that finds a session's secret can do all of that",
    )
    oidc_issuers: str = _setting("", "path", "TOML file of the OpenID Connect providers at which people sign in")
    directory_poll_s: int = _setting(
        30, "s", "time between looks for people who have left a directory or provider, or their groups"
    )
    directories: str = _setting("", "path", "file that names the site's Active Directory domains; empty: none")
    max_nodes: int = _setting(256, "count", "nodes that may be enrolled")
    outbox_kept_s: int = _setting(604_800, "s", "time for which changes are kept for those who watch from afar")
    quotas: str = _setting("", "path", "TOML file of the site's quotas (docs/operations/quotas.md); empty: none")
    plans_kept_s: int = _setting(
        7_776_000, "s", "time for which plans are kept that nobody started, from when they can't be started any more"
    )
    lists_kept_s: int = _setting(
        31_536_000, "s", "time for which the history and the lists of files of a transfer are kept, from its end"
    )
    transfers_kept_s: int = _setting(
        315_360_000, "s", "time for which a transfer is kept with its plan, consent and receipts, from its end"
    )
    throughput_samples: int = _setting(
        2_000_000,
        "count",
        "samples of throughput that are kept (100 to 150 bytes each); the oldest of the finest go first",
    )
    audit_syslog: str = _setting(
        "", "host:port", "syslog server that gets the audit chain over TLS (docs/operations/audit.md); empty: none"
    )
    audit_syslog_ca: str = _setting("", "path", "whom to trust about it (PEM); empty: the authorities of this system")
    audit_syslog_cert: str = _setting("", "path", "certificate (PEM) that the service shows to it; empty: none")
    audit_syslog_key: str = _setting("", "path", "private key (PEM) of that certificate")
    audit_most_unsent: int = _setting(
        100_000, "count", "audit events that may wait to be sent to the syslog server; when more do, nothing starts"
    )
    audit_head_s: int = _setting(10, "s", "time between exports of the audit chain's signed head")

    def __post_init__(self) -> None:
        """Refuse values that can't be used."""
        for declared in fields(self):
            value = getattr(self, declared.name)
            if isinstance(value, int) and value <= 0:
                message = f"`{environment_name(declared)}` is `{value}`; give a number above 0"
                raise SettingError(message)
        try:
            ZoneInfo(self.timezone)
        except (ZoneInfoNotFoundError, ValueError, OSError) as error:
            message = f"`HEADRACE_TIMEZONE` is `{self.timezone}`; give an IANA zone such as `Europe/Berlin`"
            raise SettingError(message) from error
        _ = self.proxies
        if self.consent_proof not in {"session", "password", "passkey"}:
            message = f"`HEADRACE_CONSENT_PROOF` is `{self.consent_proof}`; give `session`, `password` or `passkey`"
            raise SettingError(message)
        if self.signer and (self.authority_key or self.consent_proof != "passkey"):
            message = (
                "`HEADRACE_SIGNER` names what holds the key and counts passkeys only: leave `HEADRACE_AUTHORITY_KEY` "
                "empty (it is the signer's), and set `HEADRACE_CONSENT_PROOF=passkey`"
            )
            raise SettingError(message)
        if self.otlp_traces and not _is_private(self.otlp_traces):
            # The value is not repeated: it may hold a password.
            message = (
                "`HEADRACE_OTLP_TRACES` can't be used; write `https://host[:port]/v1/traces`, or `http://` with a "
                "loopback address, and put passwords into `OTEL_EXPORTER_OTLP_HEADERS`"
            )
            raise SettingError(message)
        _require_model(self)
        if bool(self.audit_syslog_cert) != bool(self.audit_syslog_key):
            message = "`HEADRACE_AUDIT_SYSLOG_CERT` and `HEADRACE_AUDIT_SYSLOG_KEY` belong together; give both or none"
            raise SettingError(message)
        if not self.audit_syslog and (self.audit_syslog_ca or self.audit_syslog_cert):
            message = (
                "`HEADRACE_AUDIT_SYSLOG_CA` and `_CERT` are for `HEADRACE_AUDIT_SYSLOG`, which is empty; set it, too"
            )
            raise SettingError(message)
        if bool(self.tls_cert) != bool(self.tls_key):
            message = "`HEADRACE_TLS_CERT` and `HEADRACE_TLS_KEY` belong together; give both or none"
            raise SettingError(message)

    @property
    def proxies(self) -> tuple[IPv4Network | IPv6Network, ...]:
        """The reverse proxies that are believed; raises `SettingError`."""
        found = []
        for proxy in filter(None, self.trusted_proxies.split(",")):
            try:
                found.append(ip_network(proxy.strip()))
            except ValueError as error:
                message = f"`HEADRACE_TRUSTED_PROXIES` has `{proxy}`; give addresses or networks such as `10.0.0.0/24`"
                raise SettingError(message) from error
        return tuple(found)

    def hub_told(self, listens: str) -> str:
        """Return the address that nodes are told to dial, of a hub that listens at `listens`.

        Where that is every address of the host, and none is advertised, it is the hub's port at the name of
        `public_url`, if there is one.
        """
        host, _, port = listens.rpartition(":")
        name = urlsplit(self.public_url).netloc.rpartition("@")[2]
        if self.hub_advertise or host not in ANY_HOST or not name:
            return self.hub_advertise or listens
        bare = name if name.endswith("]") else name.rpartition(":")[0] or name
        return f"{bare}:{port}"

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> "Settings":
        """Read every setting that has a variable in `environment`; the others keep their defaults."""
        return cls().with_values(
            {
                declared.name: _parse(declared, text)
                for declared in fields(cls)
                if (text := environment.get(environment_name(declared), ""))
            }
        )

    def with_values(self, values: Mapping[str, str | int | Path]) -> "Settings":
        """Replace settings by name; the caller gives values of the declared types."""
        return replace(self, **values)  # type: ignore[arg-type] # one type for all of them can't be said


def environment_name(declared: "Field[object]") -> str:
    """Return the variable of a setting, for example `HEADRACE_PLAN_QUEUE`."""
    return _PREFIX + declared.name.upper()


def _require_model(settings: Settings) -> None:
    """Refuse a language model that is named in part, or that others could listen to."""
    if bool(settings.model_url) != bool(settings.model_name) or (settings.model_key and not settings.model_url):
        message = (
            "`HEADRACE_MODEL_URL` and `HEADRACE_MODEL_NAME` belong together, and `HEADRACE_MODEL_KEY` to them; "
            "give both or none"
        )
        raise SettingError(message)
    if not 1 <= settings.model_person_percent <= _WHOLE:
        message = f"`HEADRACE_MODEL_PERSON_PERCENT` is `{settings.model_person_percent}`; give 1 to {_WHOLE}"
        raise SettingError(message)
    if settings.model_url and not _is_private(settings.model_url):
        # The value is not repeated: it may hold a password.
        message = (
            "`HEADRACE_MODEL_URL` can't be used; write `https://host[:port]`, or `http://` with a loopback "
            "address, and put the key into the file that `HEADRACE_MODEL_KEY` names"
        )
        raise SettingError(message)


def _is_private(url: str) -> bool:
    """Whether what is sent to a URL can be read by nobody on the way."""
    parts = urlsplit(url)
    host = parts.hostname or ""
    if parts.scheme == "http":
        with suppress(ValueError):
            return ip_address(host).is_loopback
        return host == "localhost"
    return parts.scheme == "https" and bool(host) and parts.username is None


def _parse(declared: "Field[object]", text: str) -> str | int | Path:
    if isinstance(declared.default, int):
        if not text.isascii() or not text.isdigit():
            message = f"`{environment_name(declared)}` is `{text}`; give a whole number ({declared.metadata['unit']})"
            raise SettingError(message)
        return int(text)
    return Path(text) if isinstance(declared.default, Path) else text
