import re
from dataclasses import fields
from pathlib import Path

import pytest
from tests.servers.private import private

from headrace.api.people.directory_file import read_directories
from headrace.api.people.secret_file import read_secret
from headrace.api.settings import SettingError, Settings, environment_name
from headrace.auth import IssuerError, read_issuers

REPOSITORY = Path(__file__).parents[2]
PAGE = (REPOSITORY / "docs" / "settings.md").read_text(encoding="utf-8")


def test_invariant_8_every_setting_is_documented_as_it_is_declared() -> None:
    rows = re.findall(r"^\| `(HEADRACE_\w+)` \| (.*?) \| (.*?) \| (.*?) \|$", PAGE, re.MULTILINE)
    documented = {name: (default.strip("`").replace("_", ""), unit, meaning) for name, default, unit, meaning in rows}
    declared = {
        environment_name(one): (str(one.default).replace("_", ""), one.metadata["unit"], one.metadata["meaning"])
        for one in fields(Settings)
    }
    assert documented == declared


def test_every_variable_that_the_code_reads_is_documented() -> None:
    packages = ("api", "auth", "cli", "client", "engine/crates", "guardrails", "mcp-server")
    sources = [
        path
        for package in packages
        for path in (REPOSITORY / package).rglob("*")
        if path.suffix in {".py", ".rs"} and "target" not in path.parts and "tests" not in path.parts
    ]
    read = {name for path in sources for name in re.findall(r'"(HEADRACE_[A-Z_]+[A-Z])"', path.read_text("utf-8"))}
    read = {name for name in read if not name.startswith(("HEADRACE_TEST_", "HEADRACE_POWER_"))}
    pages = PAGE + (REPOSITORY / "docs" / "cli.md").read_text(encoding="utf-8")
    assert {"HEADRACE_NODE_STATE", "HEADRACE_TOKEN"} <= read
    assert [name for name in sorted(read) if f"`{name}`" not in pages] == []


def test_every_setting_is_read_somewhere() -> None:
    sources = (path for path in (REPOSITORY / "api/src").rglob("*.py") if path.name != "settings.py")
    program = "".join(path.read_text(encoding="utf-8") for path in sources)
    assert [one.name for one in fields(Settings) if not re.search(rf"\.{one.name}\b", program)] == []


def test_the_environment_wins_over_defaults() -> None:
    settings = Settings.from_environment({"HEADRACE_PLAN_QUEUE": "7", "HEADRACE_LISTEN": "127.0.0.1:9"})
    assert (settings.plan_queue, settings.listen, settings.max_nodes) == (7, "127.0.0.1:9", 256)


@pytest.mark.parametrize(
    ("listens", "told", "settings"),
    [
        ("127.0.0.1:5", "127.0.0.1:5", {"public_url": "https://headrace.example"}),
        ("0.0.0.0:5", "headrace.example:5", {"public_url": "https://headrace.example:8470"}),
        ("[::]:5", "headrace.example:5", {"public_url": "https://headrace.example"}),
        ("0.0.0.0:5", "[2001:db8::1]:5", {"public_url": "https://[2001:db8::1]"}),
        ("0.0.0.0:5", "dtn1.example:9", {"public_url": "https://headrace.example", "hub_advertise": "dtn1.example:9"}),
        ("0.0.0.0:5", "0.0.0.0:5", {}),
    ],
)
def test_nodes_are_told_an_address_that_they_can_dial(listens: str, told: str, settings: dict[str, str]) -> None:
    assert Settings().with_values(settings).hub_told(listens) == told


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HEADRACE_PLAN_QUEUE", "many"),
        ("HEADRACE_PLAN_QUEUE", "0"),
        ("HEADRACE_PLAN_QUEUE", "-1"),
        ("HEADRACE_TIMEZONE", "Middle/Earth"),
        ("HEADRACE_TLS_CERT", "/only/one/of/two"),
        ("HEADRACE_OTLP_TRACES", "http://traces.example.org:4318/v1/traces"),
        ("HEADRACE_OTLP_TRACES", "https://name:secret@traces.example.org/v1/traces"),
        ("HEADRACE_OTLP_TRACES", "traces.example.org:4318"),
        ("HEADRACE_OTLP_TRACES", "http://127.0.0.1.example.org/v1/traces"),
        ("HEADRACE_TRUSTED_PROXIES", "*"),
        ("HEADRACE_TRUSTED_PROXIES", "10.0.0.0/8, proxy.example.org"),
    ],
)
def test_a_value_that_cannot_be_used_is_refused_by_its_variable(name: str, value: str) -> None:
    with pytest.raises(SettingError, match=name):
        Settings.from_environment({name: value})


DIRECTORY = {
    "domain": '"corp.test"', "netbios": '"CORP"', "servers": '["ldaps://dc1.corp.test"]', "ca": '"ca.pem"',
    "account": '"svc@corp.test"', "secret_file": '"secret"',
}  # fmt: skip


def written(folder: Path, *tables: dict[str, str]) -> str:
    private(folder / "secret", "of the account\n")
    text = "\n".join(
        "[[directory]]\n" + "\n".join(f"{key} = {value}" for key, value in table.items()) for table in tables
    )
    file = folder / "directories.toml"
    file.write_text(text, encoding="utf-8")
    return str(file)


def test_a_directory_is_read_from_its_file_and_its_secret_from_another(tmp_path: Path) -> None:
    [corp] = read_directories(written(tmp_path, DIRECTORY))
    assert (corp.issuer, corp.base, corp.secret) == ("ad:corp.test", "DC=corp,DC=test", "of the account")
    assert corp.ca == str(tmp_path / "ca.pem")
    assert read_directories("") == ()


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"servers": '["ldaps://dc1", "http://dc2"]'}, "`http://dc2` is not `ldaps://host"),
        ({"servers": "[]"}, "`directory` 1, `servers`"),
        ({"server": '"ldaps://dc1"'}, "`directory` 1, `server`"),
        ({"attempts": "2"}, "attempts"),
        ({"timeout_s": '"5"'}, "timeout_s"),
        ({"secret_file": '"none"'}, "none"),
    ],
)
def test_a_directory_that_cannot_be_meant_is_refused_by_its_key(
    tmp_path: Path, change: dict[str, str], said: str
) -> None:
    with pytest.raises(SettingError, match="HEADRACE_DIRECTORIES") as refused:
        read_directories(written(tmp_path, DIRECTORY | change))
    assert said in str(refused.value)


@pytest.mark.parametrize("mode", [0o644, 0o660, 0o601])
def test_a_secret_that_others_may_read_or_change_is_refused_by_its_file(tmp_path: Path, mode: int) -> None:
    file = written(tmp_path, DIRECTORY)
    issuers = tmp_path / "issuers.toml"
    issuers.write_text(
        '[[issuer]]\nid = "corp"\nname = "Corp"\nurl = "https://login.example"\nclient_id = "headrace"\n'
        'client_secret_file = "secret"\n'
    )
    (tmp_path / "secret").chmod(0o640)
    assert (len(read_directories(file)), len(read_issuers(issuers, read_secret))) == (1, 1)
    (tmp_path / "secret").chmod(mode)
    with pytest.raises(SettingError, match="secret` must be a plain file"):
        read_directories(file)
    with pytest.raises(IssuerError, match="secret` must be a plain file"):
        read_issuers(issuers, read_secret)


def test_a_secret_that_is_missing_or_empty_is_named_by_its_key_with_how_to_give_it(tmp_path: Path) -> None:
    file = written(tmp_path, DIRECTORY)
    issuers = tmp_path / "issuers.toml"
    issuers.write_text(
        '[[issuer]]\nid = "corp"\nname = "Corp"\nurl = "https://login.example"\nclient_id = "headrace"\n'
        'client_secret_file = "secret"\n'
    )
    for break_it in (lambda: (tmp_path / "secret").write_text("\n"), (tmp_path / "secret").unlink):
        break_it()
        with pytest.raises(SettingError) as refused:
            read_directories(file)
        for part in (
            "HEADRACE_DIRECTORIES",
            "`secret_file` of the directory `corp.test`",
            "svc@corp.test",
            "chmod 600",
        ):
            assert part in str(refused.value)
        with pytest.raises(IssuerError) as at_provider:
            read_issuers(issuers, read_secret)
        for part in ("issuers.toml", "`client_secret_file`", "Write the client's secret into a file", "chmod 600"):
            assert part in str(at_provider.value)


def test_a_name_of_two_directories_is_refused(tmp_path: Path) -> None:
    other = DIRECTORY | {"domain": '"other.test"', "netbios": '"OTHER"', "suffixes": '["Corp.Test"]'}
    with pytest.raises(SettingError, match=r"`corp\.test` is a name of two"):
        read_directories(written(tmp_path, DIRECTORY, other))
