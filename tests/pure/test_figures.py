"""Numbers that a page says are those of the code: the sentence, made of the constants, stands in the page."""

from datetime import timedelta
from pathlib import Path
from typing import Final

import pytest

from headrace.api import clock_doubt
from headrace.api.audit import elsewhere, syslog
from headrace.api.settings import Settings
from headrace.auth import Lifetimes, password_sign_in, passwords
from headrace.guardrails.intents import limits
from headrace.guardrails.plan import planning
from headrace.guardrails.policy import decide, examples, facts, policy_set
from headrace.guardrails.seal import documents
from headrace.mcp_server import tools

ROOT: Final = Path(__file__).parents[2]
SITE: Final = Settings()
HOUR: Final = timedelta(hours=1)
UNITS: Final = {timedelta(minutes=1): "minute", HOUR: "hour", timedelta(days=1): "day"}


def unit(time: timedelta | float) -> str:
    """Say a time (or seconds) that is one of a unit as a page does: "minute"; any other stands in none."""
    time = time if isinstance(time, timedelta) else timedelta(seconds=time)
    return UNITS.get(time, str(time))


SKEW_S: Final = limits.MAX_CLOCK_SKEW_MS // 1000
PLAN_HOURS: Final = planning.PLAN_LIFETIME // HOUR
TRIES: Final = password_sign_in.PAIR_LIMIT
TRIES_MIN: Final = TRIES.window // timedelta(minutes=1)
KNOWN: Final = password_sign_in.KNOWN_LIMIT.attempts

SENTENCES: Final[dict[str, tuple[str, ...]]] = {
    "ARCHITECTURE.md": (f"clock skew over {SKEW_S} s",),
    "docs/errors.md": (
        f"a node's clock is more than {SKEW_S} s away",
        f"a node's clock is over {SKEW_S} s away",
        f"an obstacle lasted {SITE.away_limit_s // 86_400} days",
    ),
    "docs/errors-engine.md": (
        f"`HEADRACE_AWAY_LIMIT_S` ({SITE.away_limit_s // 86_400} days)",
        f"`HEADRACE_ATTEMPTS_WITHOUT_PROGRESS` ({SITE.attempts_without_progress})",
        f"A plan can be started for {PLAN_HOURS} hours;",
        f"(at most {planning.MAX_AHEAD.days} days ahead), until {PLAN_HOURS} hours after that.",
        f"differ by more than {SKEW_S} s",
    ),
    "docs/errors-guardrails.md": (
        f"a name over {limits.MAX_COMPONENT_BYTES} bytes, a path over {limits.MAX_PATH_BYTES:,} bytes",
        f"or deeper than {limits.MAX_DEPTH} folders",
        f"a pattern is empty, over {limits.MAX_GLOB_BYTES:,} bytes,",
        f"more than {limits.MAX_GLOBS} patterns to include, or to exclude",
        f"more than {decide.MAX_UNAPPROVED_DELETES:,} deletes, or more than {decide.FEW_DELETES} that are more than",
        f"more than {decide.MAX_UNAPPROVED_OVERWRITES:,} overwrites need an approval",
        f"deletes more than {decide.MAX_UNAPPROVED_MOVED:,} source files needs an approval",
        f"the plan's {PLAN_HOURS} hours (after its start",
        f"a body over {documents.MAX_BODY_BYTES >> 20} MiB, or more than {documents.MAX_SIGNATURES} signatures",
        f"nesting deeper than {documents.MAX_DEPTH}",
        f"over {TRIES.attempts} attempts in {TRIES_MIN} minutes for a name from an address",
        f"({KNOWN} where that person signed in before;",
        f"{password_sign_in.NETWORK_LIMIT.attempts} for an address,",
        f"{password_sign_in.PERSON_LIMIT.attempts} for a name)",
        f"{KNOWN} wrong tries there shut one person out for {TRIES_MIN} minutes",
        f"under {passwords.MIN_PASSWORD} characters, fewer than {passwords.MIN_DISTINCT} different ones",
        f"(by its first {passwords.JUDGED} characters)",
    ),
    "docs/policy.md": (
        f"default budget {facts.DEFAULT_PERSON_BUDGET_BYTES // facts.TIB} TiB",
        f"default budget {facts.DEFAULT_AGENT_BUDGET_BYTES // facts.TIB} TiB",
        f"{facts.DEFAULT_PLAN_BUDGET_BYTES // facts.TIB} TiB, {facts.DEFAULT_PLAN_BUDGET_FILES:,} files",
        f"up to {policy_set.MAX_REASON} characters",
        f"A text has at most {policy_set.MAX_TEXT:,} characters,",
        f"{policy_set.MAX_RULES:,} rules and {examples.MAX_EXAMPLES} examples;",
        f"nested at most {policy_set.MAX_NESTING} deep, and a rule has at most {policy_set.MAX_PARTS} operators",
    ),
    "docs/operations/audit.md": (
        f"has left it open for {elsewhere.CONFIRM_S} s and has then answered its end",
        f"does not answer within {syslog.PATIENCE_S:.0f} s:",
        f"that makes a connection every {elsewhere.CONFIRM_S} s, and else one a {unit(elsewhere.HEAD_S)}.",
        f"and every {unit(elsewhere.HEAD_S)} though nothing happens",
    ),
    "docs/operations/retention.md": (
        f"it is over a {unit(clock_doubt.DOUBTED_AHEAD)} after the newest time that the service knows",
        f"noted at each start and every {unit(clock_doubt.KEEP_S)};",
        f"with the same time (within {SKEW_S} s)",
        f"or when the service has run for a {unit(clock_doubt.TRUSTED_AFTER)} and no node contradicts it.",
    ),
    "docs/mcp.md": (f"within about {tools.PLAN_WAIT_S:.0f} seconds",),
}


@pytest.mark.parametrize(("page", "sentence"), [(page, one) for page, all_ in SENTENCES.items() for one in all_])
def test_a_page_says_the_numbers_of_the_code(page: str, sentence: str) -> None:
    assert sentence in " ".join((ROOT / page).read_text(encoding="utf-8").split())


def test_half_is_what_the_rule_about_deletes_calls_half() -> None:
    assert decide.MAX_UNAPPROVED_SHARE_PERCENT == 50


def test_a_session_lives_as_long_without_the_service_as_with_its_settings() -> None:
    own = Lifetimes()
    assert (own.idle, own.session) == (timedelta(seconds=SITE.session_idle_s), timedelta(seconds=SITE.session_valid_s))
