"""The files of deploy/container: understood as their specifications say, and their commands run as they would there."""

import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import distribution
from pathlib import Path
from typing import Any, Final

import pytest
from tests.servers.container import FOLDER, Container, Image, composed, container, images
from tests.servers.nginx import new_certificate
from tests.servers.postgres import Postgres, postgres_running

from headrace.api.settings import Settings, environment_name

PASSWORD: Final = "a long password of the database"  # noqa: S105 - of a server that lives for one test
REPOSITORY: Final = Path(__file__).parents[2]
CONTAINERFILE: Final = (FOLDER / "Containerfile").read_text(encoding="utf-8")
PAGE: Final = (REPOSITORY / "docs" / "operations" / "containers.md").read_text(encoding="utf-8")
NODE: Final = REPOSITORY / os.environ.get("NODE_PROGRAM", "engine/target/release/headrace-node")
READY_S: Final = 60


@pytest.fixture(scope="module")
def stages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Image]:
    return images(CONTAINERFILE, tmp_path_factory.mktemp("images"))


@pytest.fixture(scope="module")
def site() -> dict[str, Any]:
    """The compose file on a host that people call `localhost`."""
    return composed((FOLDER / "compose.yaml").read_text(encoding="utf-8"), {"HEADRACE_HOST": "localhost"})


def test_every_container_reads_its_root_only_and_can_do_nothing_that_an_account_could_not(
    site: dict[str, Any], stages: dict[str, Image]
) -> None:
    for name, service in site["services"].items():
        kept = {key: service.get(key) for key in ("read_only", "cap_drop", "security_opt", "privileged", "cap_add")}
        assert kept == {
            "read_only": True, "cap_drop": ["ALL"], "security_opt": ["no-new-privileges:true"],
            "privileged": None, "cap_add": None,
        }, name  # fmt: skip
        user = service.get("user") or stages[name].account
        assert int(user.partition(":")[0]) > 0, name


def test_no_secret_stands_in_the_environment_or_in_an_image(site: dict[str, Any], stages: dict[str, Image]) -> None:
    said = {**stages["service"].environment, **stages["node"].environment}
    for service in site["services"].values():
        said |= service.get("environment", {})
        for secret in service.get("secrets", []):
            assert site["secrets"][secret]["file"] == f"secrets/{secret}"
    secret = {name: value for name, value in said.items() if re.search("PASS|KEY|SECRET|TOKEN", name)}
    assert {value for value in secret.values() if not value.startswith("/run/secrets/")} == set()
    assert "@" in said["HEADRACE_DATABASE"]
    assert ":" not in said["HEADRACE_DATABASE"].partition("@")[0].partition("//")[2]


def test_every_setting_of_the_files_is_a_setting(site: dict[str, Any], stages: dict[str, Image]) -> None:
    declared = {environment_name(one) for one in fields(Settings)}
    said = {**stages["service"].environment, **site["services"]["service"]["environment"]}
    assert {name for name in said if name.startswith("HEADRACE_")} <= declared
    shown = subprocess.run([NODE, "run", "--help"], check=True, capture_output=True, text=True, timeout=30).stdout
    assert [name for name in stages["node"].environment if f"[env: {name}=" not in shown] == []


def test_volumes_hold_all_that_lasts(site: dict[str, Any], stages: dict[str, Image]) -> None:
    places = {"service": "HEADRACE_DATA", "node": "HEADRACE_NODE_STATE"}
    for name, setting in places.items():
        place = stages[name].environment[setting]
        assert stages[name].all("VOLUME") == [place]
        mounted = dict(volume.split(":")[:2][::-1] for volume in site["services"][name]["volumes"])
        assert mounted[place] in site["volumes"]


def test_the_images_are_made_of_nothing_but_what_a_release_has(stages: dict[str, Image]) -> None:
    copied = [said for image in stages.values() for said in image.all("COPY")]
    sources = {word for said in copied if "--from=" not in said for word in said.split()[:-1] if word[:2] != "--"}
    assert sources == {"requirements.txt", "*.whl", "headrace-node"}
    assert [image.all("ADD") for image in stages.values()] == [[], [], []]
    installs = [said for said in stages["build"].all("RUN") if "pip install" in said]
    assert all("--require-hashes" in said or "--no-index" in said for said in installs)


def test_what_the_images_copy_is_what_make_wheels_writes(stages: dict[str, Image]) -> None:
    """Of `make` without doing it: the folder that is the build context holds what is copied from it."""
    planned = subprocess.run(
        ["make", "--dry-run", "wheels"], check=True, capture_output=True, text=True, timeout=30, cwd=REPOSITORY
    ).stdout
    written = {
        "headrace-node": r"^cp engine/target/\S+/headrace-node dist/",
        "requirements.txt": r"^\S+/uv pip compile pyproject\.toml .* -o dist/requirements\.txt$",
        "*.whl": r"^for member in (.*); do \S+/uv build .*--wheel --out-dir dist \$member; done$",
    }
    found = {name: re.search(line, planned, re.MULTILINE) for name, line in written.items()}
    assert [name for name, line in found.items() if line is None] == []
    wheels = found["*.whl"]
    assert wheels is not None
    assert "maturin build" in planned
    assert {*wheels[1].split(), "engine"} == {file.parent.name for file in REPOSITORY.glob("*/pyproject.toml")}
    builds = re.findall(r"--target (\S+) -t \S+ (\S+)$", CONTAINERFILE, re.MULTILINE)
    assert builds == [("service", "dist"), ("node", "dist")]
    assert [target for target, _ in builds] == [stage for stage in stages if stage != "build"]


def test_what_is_copied_and_started_is_what_the_stage_before_has_installed(stages: dict[str, Image]) -> None:
    [copied] = [said for said in stages["service"].all("COPY") if "--from=" in said]
    stage, taken, put = re.fullmatch(r"--from=(\w+) (\S+) (\S+)", copied).groups()  # type: ignore[union-attr] # or fails
    made = stages[stage].all("RUN")
    assert f"python3 -m venv {taken}" in made
    assert taken == put, "programs of a virtual environment name the folder that it was made in"
    assert {said.split(" install ")[0] for said in made if "pip install" in said} == {f"{taken}/bin/pip"}
    [started] = stages["service"].words("ENTRYPOINT")
    [script] = [one for one in distribution("headrace-cli").entry_points if one.group == "console_scripts"]
    assert started == f"{put}/bin/{script.name}"
    assert stages["service"].words("HEALTHCHECK")[0] == f"{put}/bin/python"
    [node] = stages["node"].words("ENTRYPOINT")
    assert stages["node"].all("COPY") == [f"--chmod=0755 headrace-node {node}"]


def test_the_account_of_an_image_is_made_in_it_and_owns_what_lasts(stages: dict[str, Image]) -> None:
    for name in ("service", "node"):
        image, account = stages[name], stages[name].account
        [place] = image.all("VOLUME")
        assert [said for said in image.all("RUN") if f"useradd --uid {account} --user-group" in said]
        owned = f"install --directory --mode 0700 --owner {account} --group {account} {place}"
        assert owned in image.all("RUN")
        instructions = [instruction for instruction, _ in image.said]
        assert "RUN" not in instructions[instructions.index("USER") :], "nothing is installed as the account"
        assert account in PAGE, "the page says who must be able to read and write what comes from the host"


def test_each_port_is_one_that_is_listened_to_published_and_said(
    site: dict[str, Any], stages: dict[str, Image]
) -> None:
    service, node = site["services"]["service"], site["services"]["node"]
    said = {**stages["service"].environment, **service["environment"]}
    listens = [said[name].rpartition(":")[2] for name in ("HEADRACE_LISTEN", "HEADRACE_HUB_LISTEN")]
    [joins] = re.findall(r"--data-listen 0\.0\.0\.0:(\d+) --data-advertise \S+:(\d+)", PAGE)
    for name, started, ports in (("service", service, listens), ("node", node, joins[:1])):
        assert stages[name].all("EXPOSE") == [" ".join(ports)]
        assert started["ports"] == [f"{port}:{port}" for port in ports]
    assert [said[name].rpartition(":")[2] for name in ("HEADRACE_PUBLIC_URL", "HEADRACE_HUB_ADVERTISE")] == listens
    assert joins[0] == joins[1]
    [check] = stages["service"].all("HEALTHCHECK")
    [(asked, limit_s)] = re.findall(r"http://(\S+)/ready', timeout=(\d+)", check)
    assert asked == said["HEADRACE_METRICS_LISTEN"]
    assert int(limit_s) < int(re.findall(r"--timeout=(\d+)s", check)[0]), "who asks says why it ended"


def test_the_page_joins_a_node_with_words_that_the_node_knows(site: dict[str, Any], stages: dict[str, Image]) -> None:
    [said] = re.findall(r"^    docker compose run --rm --service-ports node (join .*)$", PAGE, re.MULTILINE)
    command, *words = said.split()
    known = subprocess.run([NODE, command, "--help"], check=True, capture_output=True, text=True, timeout=30).stdout
    assert [word for word in words if word.startswith("--") and f"{word} " not in known] == []
    exported = site["services"]["node"]["volumes"][1].split(":")[1]
    assert f"--root archive={exported}:write" in said
    assert stages["node"].words("CMD") == ["run"]


@pytest.fixture(scope="module")
def database() -> Iterator[Postgres]:
    """PostgreSQL as the compose file starts it: one role, whose password it asks for."""
    with postgres_running() as server:
        server.tell(f"CREATE ROLE headrace LOGIN PASSWORD '{PASSWORD}'")
        server.tell("CREATE DATABASE headrace OWNER headrace TEMPLATE template0 ENCODING 'UTF8' LOCALE 'C'")
        rules = server.folder / "data" / "pg_hba.conf"
        rules.write_text(f"local all headrace scram-sha-256\n{rules.read_text()}")
        server.tell("SELECT pg_reload_conf()")
        server.folder.chmod(0o711)
        yield server


@pytest.fixture
def running(stages: dict[str, Image], site: dict[str, Any], database: Postgres, tmp_path: Path) -> Iterator[Container]:
    image, service = stages["service"], site["services"]["service"]
    secrets = tmp_path / "secrets"
    secrets.mkdir(mode=0o711)
    certificate = new_certificate(tmp_path)
    certificate.chain.rename(secrets / "tls_cert")
    certificate.key.rename(secrets / "tls_key")
    (secrets / "pgpass").write_text(f"*:*:headrace:headrace:{PASSWORD}\n")
    assert sorted(service["secrets"]) == sorted(file.name for file in secrets.iterdir())
    for file in secrets.iterdir():
        file.chmod(0o600)
        shutil.chown(file, int(image.account), int(image.account))
    (tmp_path / "data").mkdir(mode=0o700)
    shutil.chown(tmp_path / "data", int(image.account), int(image.account))
    volumes = {"data": tmp_path / "data", "socket": database.folder}
    binds = {"/run/secrets": secrets}
    binds |= {there: volumes[name] for name, there in (volume.split(":") for volume in service["volumes"])}
    command = image.words("ENTRYPOINT") + image.words("CMD")
    with container(image, service["environment"], binds, command, tmp_path / "log") as started:
        yield started


def wait_until(one: Container, log: Path, *, fit: bool) -> None:
    """Wait until the image's health check says so; whether writes succeed is known ten seconds late."""
    limit = time.monotonic() + READY_S
    while (one.beside(*one.image.words("HEALTHCHECK")).returncode == 0) is not fit:
        assert one.popen.poll() is None, log.read_text()
        assert time.monotonic() < limit, log.read_text()


@pytest.mark.timeout(180)
@pytest.mark.skipif(os.geteuid() != 0, reason="another account is entered")
def test_the_service_runs_as_the_files_say_and_its_health_check_tells_when_the_database_is_gone(
    running: Container, database: Postgres, tmp_path: Path
) -> None:
    wait_until(running, tmp_path / "log", fit=True)
    ask = (
        "import os, ssl; from urllib.request import urlopen; trusted = ssl.create_default_context(cafile='{}');"
        "print(urlopen(os.environ['HEADRACE_PUBLIC_URL'] + '/api/v1/health', context=trusted).read())"
    )
    answer = running.beside("/opt/headrace/bin/python", "-c", ask.format("/run/secrets/tls_cert"))
    assert '"status":"ok"' in answer.stdout, answer.stderr
    written = running.beside("/usr/bin/touch", "/opt/x", "/usr/x", "/var/lib/x", "/run/secrets/pgpass")
    assert written.stderr.count("Read-only file system") == 3, written.stderr
    assert (tmp_path / "data" / "bootstrap-link").stat().st_uid == int(running.image.account)
    database.stop()
    try:
        wait_until(running, tmp_path / "log", fit=False)
    finally:
        database.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="another account is entered")
def test_a_node_that_has_not_joined_says_so_as_its_image_starts_it(stages: dict[str, Image], tmp_path: Path) -> None:
    image = stages["node"]
    state = tmp_path / "state"
    state.mkdir(mode=0o700)
    shutil.chown(state, int(image.account), int(image.account))
    [place] = image.all("VOLUME")
    [program] = image.words("ENTRYPOINT")
    command = [str(NODE.resolve()), *image.words("CMD")]
    assert program == "/usr/local/bin/headrace-node"
    with container(image, {}, {place: state}, command, tmp_path / "log") as started:
        assert started.popen.wait(READY_S) != 0
    assert "join" in (tmp_path / "log").read_text()
