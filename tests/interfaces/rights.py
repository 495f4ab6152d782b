"""Read `who_may.toml`, the table of who may ask for what at all, and render it as docs/security/access.md."""

import tomllib
from dataclasses import dataclass
from pathlib import Path

from headrace.auth.principal import SERVICE_ROLES, Role

TABLE = Path(__file__).parent / "who_may.toml"
PAGE = Path(__file__).parents[2] / "docs" / "security" / "access.md"
KINDS = ("session", "token", "agent", "service")
HEAD = """\
# Who may ask for what

Every route, tool, resource and prompt, and which roles may use it: in a person's own session, with a token of that
person (a pipeline), with a token that names an assistant, and with a token of a service account. A token holds what was
asked for when it was made and what its owner's roles give, whichever is less; the columns say what it can hold at most.
This is what is checked before anything else. What comes after it depends on whose plan or transfer it is, on policy,
and on what an assistant's token was made for.

Whoever brings no credential, or one that is unknown, ended, revoked or malformed, hears `not_signed_in` (401)
everywhere but at what is open to all. Calls of people, rights, tokens, policy, labels and nodes ask for a proof on top
(`HEADRACE_CONSENT_PROOF`).

<!-- HEADRACE_WRITE_GOLDEN=1 pytest tests/pure/api/test_access_page.py writes this from tests/interfaces/who_may.toml,
which is written by hand. tests/interfaces/test_who_may.py makes every one of these calls. -->
"""


@dataclass(frozen=True)
class Rights:
    """The roles that may, for each kind of caller."""

    of: dict[str, frozenset[Role]]
    note: str = ""

    def said(self, kind: str) -> str:
        """Say in words which roles of a kind may."""
        roles = self.of[kind]
        if roles == possible(kind):
            return "every role"
        return ", ".join(role for role in Role if role in roles) or "nobody"


@dataclass(frozen=True)
class Table:
    """`open` needs no credential, `any_secret` only that there is one."""

    open: dict[str, str]
    any_secret: dict[str, str]
    routes: dict[str, Rights]
    tools: dict[str, Rights]
    resources: dict[str, Rights]
    prompts: dict[str, Rights]


def possible(kind: str) -> frozenset[Role]:
    """Return the roles that a caller of a kind can have."""
    return SERVICE_ROLES if kind == "service" else frozenset(Role)


def read() -> Table:
    """Read the table."""
    found = tomllib.loads(TABLE.read_text(encoding="utf-8"))
    rows = {name: _rights(found[name]) for name in ("routes", "tools", "resources", "prompts")}
    return Table(found["open"], found["any_secret"], **rows)


def _rights(rows: dict[str, dict[str, str]]) -> dict[str, Rights]:
    assert all(set(row) <= {*KINDS, "note"} for row in rows.values())
    return {
        name: Rights({kind: _roles(kind, row.get(kind, "nobody")) for kind in KINDS}, row.get("note", ""))
        for name, row in rows.items()
    }


def _roles(kind: str, said: str) -> frozenset[Role]:
    if said == "every role":
        return possible(kind)
    roles = frozenset(map(Role, said.split(", "))) if said != "nobody" else frozenset[Role]()
    assert roles <= possible(kind), said
    return roles


def rendered(table: Table) -> str:
    """Return the page."""
    parts = [HEAD]
    tables = (
        ("Routes of the API", "route", table.routes),
        ("Tools for assistants", "tool", table.tools),
        ("Resources for assistants", "resource", table.resources),
        ("Prompts for assistants", "prompt", table.prompts),
    )
    for title, what, rows in tables:
        parts.append(f"\n## {title}\n\n| {what} | session | token | assistant's token | service account |\n")
        parts.append("| --- | --- | --- | --- | --- |\n")
        parts += [
            f"| `{name}`{rights.note and f' ({rights.note})'} | {' | '.join(rights.said(kind) for kind in KINDS)} |\n"
            for name, rights in rows.items()
        ]
    parts.append("\n## Open to all\n\n| route | why |\n| --- | --- |\n")
    parts += [f"| `{name}` | {why} |\n" for name, why in (table.open | table.any_secret).items()]
    return "".join(parts)
