"""Forms: however a label is spelled, its value fills one slot; a field that says nothing known is asked about."""

import pytest
from tests.pure.language.made import asked, intent_of

ENDS = {"source": "krios1:/a", "destination": "archive:/a"}
VALUES = {
    "encryption": ("yes", True),
    "verify": ("SHA-256", "sha256"),
    "on_conflict": ("skip", "skip"),
    "rate_limit_bps": ("2 Gb/s", 2_000_000_000),
    "priority": ("high", "high"),
    "exclude": ("*.tmp", ["*.tmp"]),
    "deadline": ("2026-11-27 18:00", "2026-11-27T18:00:00-06:00"),
    "start": ("2026-11-27 18:00", "2026-11-27T18:00:00-06:00"),
    "window": ("22:00-05:00", ["22:00", "05:00"]),
    "preserve": ("timestamps and permissions", ["timestamps", "permissions"]),
    "repeat": ("every day at 02:00", "FREQ=DAILY;BYHOUR=2;BYMINUTE=0"),
}
LABELS = {
    "encryption": ("Encryption", "Encrypt", "Encryption in transit", "encryption required", "TLS"),
    "verify": ("Integrity verification", "Checksum algorithm", "Verification", "Hash type", "Check"),
    "on_conflict": ("If file exists", "On conflict", "Existing files", "Conflict handling"),
    "rate_limit_bps": ("Max rate", "Bandwidth limit", "Requested speed", "Rate", "How fast", "max_rate"),
    "priority": ("Priority", "Requested priority", "Prio", "Priority level"),
    "exclude": ("Exclude", "Files to skip", "Exclude pattern", "Do not copy"),
    "deadline": ("Deadline", "Due date", "Complete by", "Requested deadline"),
    "start": ("Start time", "Not before", "Planned start"),
    "window": ("Time window", "Allowed hours"),
    "preserve": ("Preserve attributes", "Keep", "Metadata"),
    "repeat": ("Frequency", "Schedule", "Recurrence", "How often"),
}
FIELDS = [(slot, label) for slot, labels in LABELS.items() for label in labels]
FORMS = [
    "Action: copy\nSource: krios1:/a\nDestination: archive:/a\n{label}: {value}",
    "{label}: {value}\nOrigin: krios1:/a\nTarget: archive:/a\nRequested operation: copy",
    "[{label}] {value}\n[From] krios1:/a\n[To] archive:/a\n[Task] copy",
    "- Service: copy\n- {label} = {value}\n- Source path = krios1:/a\n- Target endpoint = archive:/a",
    "Job: copy | {label}: {value} | Source: krios1:/a | Destination: archive:/a",
    "Type: copy; Source: krios1:/a; Destination: archive:/a; {label}: {value}",
]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("slot", "label"), FIELDS)
def test_a_field_fills_its_slot_however_its_label_is_spelled_and_wherever_it_stands(
    form: str, slot: str, label: str
) -> None:
    written, value = VALUES[slot]
    assert intent_of(form.format(label=label, value=written)) == {"action": "copy", **ENDS, slot: value}


def test_fields_on_one_line_need_no_mark_between_them() -> None:
    intent = intent_of("from=krios1:/a to=archive:/a mode=copy checksum=md5 priority=low")
    assert intent == {"action": "copy", **ENDS, "verify": "md5", "priority": "low"}


@pytest.mark.parametrize(
    ("form", "intent"),
    [
        ("Job: cancel\nTransfer ID: 7f3a21", {"action": "cancel", "target": {"id": "7f3a21"}}),
        ("Operation: pause\nTransfer: 7f3a21", {"action": "pause", "target": {"id": "7f3a21"}}),
        (
            "Existing transfer: 7f3a21\nRequested change: rate limit 250 Mb/s",
            {"action": "modify", "target": {"id": "7f3a21"}, "changes": {"rate_limit_bps": 250_000_000}},
        ),
    ],
)
def test_a_form_may_be_about_a_transfer_that_exists(form: str, intent: dict[str, object]) -> None:
    assert intent_of(form) == intent


@pytest.mark.parametrize(
    "field", ["Delete source after copy: no", "Keep source: yes", "Remove originals afterwards = No"]
)
def test_a_no_in_a_form_denies_its_own_field(field: str) -> None:
    form = "Action: copy\nSource: krios1:/a\nDestination: archive:/a\n"
    assert intent_of(f"{form}{field}") == {"action": "copy", **ENDS}
    assert intent_of(f"{form}Delete source after copy: yes")["action"] == "move"


@pytest.mark.parametrize(
    "line",
    [
        "Colour: green",
        "Approval required: no",
        "Rate: as agreed",
        "Rate: sha256",
        "Encryption: 2 Gb/s",
        "Checksum: high",
        "Overwrite: perhaps",
        "Delete source: later",
        "Not encrypted: no",
        "Exclude: files over 1 GB",
    ],
)
def test_a_field_whose_label_or_value_is_not_understood_is_asked_about(line: str) -> None:
    asked(f"Action: copy\nSource: krios1:/a\nDestination: archive:/a\n{line}")


@pytest.mark.parametrize("form", ["Priority: high\nVerify: sha256", "[rate] 2 Gb/s [encryption] yes [exclude] *.tmp"])
def test_a_form_of_options_alone_is_asked_what_they_are_of(form: str) -> None:
    assert asked(form) == {"action"}


def test_what_a_shell_does_when_a_command_fails_is_asked_about() -> None:
    asked("cp krios1:/a archive:/a || mv krios1:/a archive:/b")


def test_what_a_shell_does_when_a_command_worked_comes_then() -> None:
    intent = intent_of("cp krios1:/a archive:/a && cp archive:/a prague-tape:/a")
    assert [step["source"] for step in intent["then"]] == ["archive:/a"]
