"""A start that lost a protection which the one before it had says so, by the setting's name."""

from dataclasses import replace
from pathlib import Path

import pytest

from headrace.api.app.last_start import keep_for_next_start, lost_since_last_start
from headrace.api.settings import Settings

PROTECTING = {
    "audit_syslog": "syslog.example:6514",
    "directories": "/etc/headrace/directories.toml",
    "oidc_issuers": "/etc/headrace/issuers.toml",
    "quotas": "/etc/headrace/quotas.toml",
    "signer": "/run/headrace/signer.sock",
}


@pytest.mark.parametrize("name", PROTECTING)
def test_each_setting_that_protected_the_last_start_is_told_when_it_is_lost(tmp_path: Path, name: str) -> None:
    before = Settings(data=tmp_path, consent_proof="passkey", **PROTECTING)  # type: ignore[arg-type] # texts, as these settings are
    assert lost_since_last_start(before) == [], "nothing is known of a start before the first"
    keep_for_next_start(before)
    assert lost_since_last_start(before) == []
    [said] = lost_since_last_start(replace(before, **{name: ""}))  # type: ignore[arg-type] # as above
    assert said.startswith(f"HEADRACE_{name.upper()} is not set, and was at the last start (`{PROTECTING[name]}`)")
