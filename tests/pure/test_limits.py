"""What is limited in the API, the rails, the words, the console and the nodes has the same number in each.

The client's models, guardrails, auth, the engine and the console do not know each other: each says its limits itself.
"""

import re
from collections.abc import Mapping
from math import prod
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic import BaseModel

from headrace.auth import passwords
from headrace.client import models as m
from headrace.guardrails.intents import limits
from headrace.guardrails.policy import policy_set
from headrace.guardrails.seal import documents

ROOT: Final = Path(__file__).parents[2]
SIZE: Final = {"exclusiveMinimum": 0, "maximum": limits.MAX_COUNT}
RATE: Final = {"exclusiveMinimum": 0, "maximum": limits.MAX_RATE_BPS}
GLOBS: Final = {"maxItems": limits.MAX_GLOBS, "items": {"maxLength": limits.MAX_GLOB_BYTES, "type": "string"}}
WORDS: Final = {"maxLength": limits.MAX_CHARACTERS}
REASON: Final = {"maxLength": m.MAX_REASON}

FIELDS: Final[tuple[tuple[type[BaseModel], str, Mapping[str, object]], ...]] = (
    *((model, size, SIZE) for model in (m.TransferIntent, m.Changes) for size in ("min_size_bytes", "max_size_bytes")),
    *((model, globs, GLOBS) for model in (m.TransferIntent, m.Changes) for globs in ("include", "exclude")),
    (m.Changes, "include_add", GLOBS),
    (m.Changes, "exclude_add", GLOBS),
    (m.TransferIntent, "rate_limit_bps", RATE),
    (m.Changes, "rate_limit_bps", RATE),
    (m.ControlRequest, "rate_bps", RATE),
    (m.PlanRequest, "words", WORDS),
    (m.InterpretRequest, "text", WORDS),
    (m.PolicyText, "text", {"maxLength": policy_set.MAX_TEXT}),
    (m.InvitationRequest, "name", {"maxLength": passwords.MAX_NAME}),
    (m.AcceptInvitation, "name", {"maxLength": passwords.MAX_NAME}),
    (m.AcceptInvitation, "password", {"maxLength": passwords.MAX_PASSWORD}),
    (m.PasswordChange, "new_password", {"maxLength": passwords.MAX_PASSWORD}),
    (m.SignIn, "password", {"maxLength": passwords.MAX_PASSWORD}),
    *((model, "reason", REASON) for model in (m.ControlRequest, m.HaltRequest, m.Approval)),
)

CORE: Final = "engine/crates/headrace-core/src"
RUST: Final = {
    f"{CORE}/sealed.rs": {
        "MAX_BODY_BYTES": documents.MAX_BODY_BYTES,
        "MAX_DOCUMENT_BYTES": documents.MAX_DOCUMENT_BYTES,
        "MAX_SIGNATURES": documents.MAX_SIGNATURES,
        "MAX_CLOCK_SKEW_MS": limits.MAX_CLOCK_SKEW_MS,
    },
    f"{CORE}/name.rs": {
        "MAX_COMPONENT_BYTES": limits.MAX_COMPONENT_BYTES,
        "MAX_PATH_BYTES": limits.MAX_PATH_BYTES,
        "MAX_DEPTH": limits.MAX_DEPTH,
    },
    f"{CORE}/filter.rs": {"MAX_PATTERN_BYTES": limits.MAX_GLOB_BYTES},
    "engine/crates/headrace-node/src/program/cp.rs": {"MAX_RATE_BPS": limits.MAX_RATE_BPS},
}

NAME: Final = 120
"""Characters of the API's `Name`."""
CONSOLE: Final = {
    "plan/WordsBar.tsx": [limits.MAX_CHARACTERS],
    "plan/ApproverActions.tsx": [m.MAX_REASON],
    "versions/Draft.tsx": [m.MAX_REASON],
    "transfers/Reasoned.tsx": [m.MAX_REASON],
    "halts/HaltSomething.tsx": [NAME, m.MAX_REASON],
    "people/Invite.tsx": [passwords.MAX_NAME],
    "people/MakeToken.tsx": [NAME, NAME],
    "people/Passkeys.tsx": [passwords.MAX_NAME],
    "nodes/Join.tsx": [NAME],
    "policies/Guide.tsx": [m.MAX_VALUE],
}


@pytest.mark.parametrize(("model", "field", "limit"), FIELDS)
def test_the_api_takes_what_the_rules_behind_it_take(
    model: type[BaseModel], field: str, limit: Mapping[str, object]
) -> None:
    found: dict[str, Any] = model.model_json_schema()["properties"][field]
    given = next((one for one in found.get("anyOf", []) if one.get("type") != "null"), found)
    assert given.items() >= limit.items()


@pytest.mark.parametrize("file", RUST)
def test_the_nodes_take_what_the_service_takes(file: str) -> None:
    constants = dict(re.findall(r"const (MAX_\w+): \w+ = ([^;]+);", (ROOT / file).read_text(encoding="utf-8")))
    assert {name: reckoned(constants[name], constants) for name in RUST[file]} == RUST[file]


def reckoned(source: str, constants: dict[str, str]) -> int:
    """Reckon `2 * MAX_BODY_BYTES + 16 * 1024`."""
    if shifted := re.fullmatch(r"(\d+) << (\d+)", source):
        return int(shifted[1]) << int(shifted[2])
    return sum(
        prod(reckoned(constants[one], constants) if one in constants else int(one.replace("_", "")) for one in factors)
        for factors in (term.split(" * ") for term in source.split(" + "))
    )


def test_the_console_takes_what_the_api_takes() -> None:
    source = ROOT / "web/src"
    said = {str(page.relative_to(source)): page.read_text(encoding="utf-8") for page in source.rglob("*.tsx")}
    found = {page: [int(limit) for limit in re.findall(r"maxLength=\{(\d+)\}", text)] for page, text in said.items()}
    assert {page: taken for page, taken in found.items() if taken} == CONSOLE
    assert m.TokenRequest.model_json_schema()["properties"]["name"]["maxLength"] == NAME
