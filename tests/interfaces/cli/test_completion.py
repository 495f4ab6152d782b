"""What the shell completes of a real service's names, and that it keeps quiet where there are none to be had."""

import shutil
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import typer
from demo.stage import HEADRACE, surroundings
from tests.interfaces.cli.test_terminal import transfer
from tests.interfaces.client.scripted import answer, scripted_service
from tests.servers.headrace import Person, Service, serving

from headrace.cli.completion import rejoined
from headrace.cli.plugins import installed

AT = "2026-11-28T03:00:00Z"
NAMED = {
    "TRANSFER", "[TRANSFER]", "PLAN", "PLAN|TRANSFER", "DIGEST", "RECEIPT", "ENDPOINT", "ENDPOINT:/PATH",
    "ENDPOINT[:/PATH]", "PLACE", "PERSON", "NODE", "HALT", "CLASS", "ACCOUNT",
}  # fmt: skip
"""What stands in the help for something that the service knows by name."""


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    with serving(tmp_path_factory.mktemp("headrace")) as service:
        yield service


@pytest.fixture(scope="module")
def anna(service: Service) -> Person:
    return service.person("anna", "requester")


@pytest.fixture(scope="module")
def two(service: Service, anna: Person) -> list[str]:
    """Two transfers of anna's, the newest first."""
    (service.source / "a.dat").write_bytes(b"content")
    made = [anna.run("copy", "src:/", f"dst:/{name}", "--yes", "--json").document["id"] for name in ("one", "two")]
    return made[::-1]


def tab(person: Person, line: str, shell: str = "fish", **more: str) -> list[str]:
    """Return what is offered where the line ends; nothing may be said besides."""
    words = line.split(" ")
    asked = {
        "_HEADRACE_COMPLETE": f"complete_{shell}",
        "_TYPER_COMPLETE_ARGS": line,
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "COMP_WORDS": "\n".join(words),
        "COMP_CWORD": str(len(words) - 1),
        "HEADRACE_COMPLETION_S": "60",
    }
    done = person.run(**{**asked, **more})
    assert (done.code, done.err) == (0, ""), done
    return [offered for offered in done.out.split("\n") if offered]


def names(offered: list[str]) -> list[str]:
    return [one.partition("\t")[0] for one in offered]


@pytest.mark.parametrize("command", ["status", "watch", "pause", "diagnose", "again", "qos deadline", "halt transfer"])
def test_ids_of_transfers_are_offered_newest_first_with_where_they_go(
    anna: Person, two: list[str], command: str
) -> None:
    assert tab(anna, f"headrace {command} ") == [
        f"{two[0]}\tcomplete: src:/ -> dst:/two",
        f"{two[1]}\tcomplete: src:/ -> dst:/one",
    ]
    assert names(tab(anna, f"headrace {command} {two[1][:12]}")) == [two[1]]


def test_ids_of_plans_and_receipts_are_offered(anna: Person, two: list[str]) -> None:
    plans = [one["id"] for one in anna.run("plans", "--json").items]
    for command in ("drop", "confirm", "approve", "losses", "submit"):
        assert tab(anna, f"headrace {command} ")[0] == f"{plans[0]}\tcomplete: src:/ -> dst:/two"
    assert names(tab(anna, "headrace plan ")) == ["copy", "sync", "move", *plans]
    assert names(tab(anna, "headrace why ")) == [*plans, *two]
    receipts = [anna.run("status", one, "--json").document["receipt"] for one in two]
    assert names(tab(anna, "headrace receipts get ")) == receipts


@pytest.mark.parametrize("line", ["copy ", "sync src:/x ", "probe ", "browse ", "plan copy ", "ask copy ",
                                  "again tr_1 --from ", "policy who copy --to "])  # fmt: skip
def test_a_place_begins_with_an_endpoint(anna: Person, line: str) -> None:
    assert tab(anna, f"headrace {line}") == ["dst:\tdelete, online", "src:\tread, online"]


def test_the_only_endpoint_that_fits_is_offered_as_two_so_that_no_space_is_put_behind_it(anna: Person) -> None:
    for shell in ("bash", "fish"):
        assert names(tab(anna, "headrace copy s", shell)) == ["src:", "src:/"]


def test_bash_which_cuts_words_at_colons_completes_the_destination_as_well(anna: Person) -> None:
    cut = {"COMP_WORDS": "headrace\ncopy\nsrc\n:\n/a\nd", "COMP_CWORD": "5"}
    assert tab(anna, "", "bash", **cut) == ["dst:", "dst:/"]
    behind = {"COMP_WORDS": "headrace\ncopy\nsrc\n:\n", "COMP_CWORD": "3"}
    assert tab(anna, "", "bash", **behind) == [], "bash would put it behind the colon"
    option = {"COMP_WORDS": "headrace\nstatus\n--endpoint\n=\nd", "COMP_CWORD": "4"}
    assert tab(anna, "", "bash", **option) == ["dst"]


def test_bash_itself_gets_what_is_offered(anna: Person, two: list[str], tmp_path: Path) -> None:
    script = tmp_path / "completion.bash"
    asked = surroundings() | {"_HEADRACE_COMPLETE": "source_bash"}
    made = subprocess.run([HEADRACE], check=True, capture_output=True, text=True, env=asked)
    script.write_text(made.stdout)
    typed = (
        f"source {script}; COMP_WORDS=(headrace status ''); COMP_CWORD=2; _headrace_completion {HEADRACE}; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        [shutil.which("bash") or "bash", "--norc", "-c", typed], check=True, capture_output=True, text=True, timeout=60,
        env=surroundings() | anna.environment | {"HEADRACE_COMPLETION_S": "60"},
    )  # fmt: skip
    assert (done.stdout.split(), done.stderr) == (two, "")


def test_names_are_offered_where_options_and_commands_take_them(service: Service, anna: Person, two: list[str]) -> None:
    admin = service.admin
    assert names(tab(anna, "headrace status --endpoint ")) == ["dst", "src"]
    assert names(tab(admin, "headrace status --person a")) == ["admin", "anna"]
    assert names(tab(anna, "headrace plans --person ")) == ["anna"], "who may not list people is offered whom they see"
    assert names(tab(admin, "headrace people set a")) == ["admin", "anna"]
    assert names(tab(anna, f"headrace qos class {two[0]} ")) == ["background", "bulk", "priority"]
    [node] = names(tab(admin, "headrace nodes drain "))
    assert names(tab(admin, "headrace doctor --node ")) == names(tab(admin, "headrace halt node ")) == [node]
    assert names(tab(admin, "headrace halt endpoint s")) == ["src"]
    halt = admin.run("halt", "person", "anna", "--reason", "a look; $(id)", "--json").document["id"]
    assert tab(admin, "headrace release ") == [f"{halt}\tperson anna: a look? ??id?"]
    assert admin.run("release", halt).code == 0


def test_help_is_one_line_however_narrow_the_terminal_is(anna: Person, two: list[str]) -> None:
    assert names(tab(anna, "headrace status ", COLUMNS="20")) == two


def test_zsh_gets_what_it_evaluates_as_words_and_their_help(anna: Person, two: list[str]) -> None:
    [first, *_] = tab(anna, "headrace status ", "zsh")
    assert first.startswith(f'_arguments \'*: :(("{two[0]}":"complete\\\\: src\\\\:/ -> dst\\\\:/two"')


def test_whoever_is_not_signed_in_is_offered_nothing_and_asked_nothing(service: Service, tmp_path: Path) -> None:
    stranger = Person("nobody", service.url, tmp_path)
    assert tab(stranger, "headrace status ") == []
    (tmp_path / "session.json").write_text("no session")
    assert tab(stranger, "headrace status ") == []
    assert tab(stranger, "headrace status ", HEADRACE_TOKEN="hrt_wrong") == []  # noqa: S106 - no secret


def test_a_service_that_is_away_or_silent_holds_nobody_up(tmp_path: Path) -> None:
    anna = Person("anna", "", tmp_path)
    signed_in = {"HEADRACE_TOKEN": "hrt_1", "HEADRACE_COMPLETION_S": ""}
    assert tab(replace(anna, service="http://127.0.0.1:1"), "headrace copy ", **signed_in) == []
    with socket.create_server(("127.0.0.1", 0)) as silent:
        # It takes the connection and never answers; the client itself would wait for an answer for 30 s, three times.
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        assert tab(replace(anna, service=url), "headrace copy ", **signed_in) == []


def test_the_service_that_is_named_on_the_line_is_the_one_that_is_asked(service: Service, anna: Person) -> None:
    elsewhere = replace(anna, service="http://127.0.0.1:1")
    assert names(tab(elsewhere, f"headrace --service {service.url} copy ")) == ["dst:", "src:"]


def test_what_a_shell_would_carry_out_is_never_offered_to_it(tmp_path: Path) -> None:
    bad = "\\$(touch x)`id`\"';&|<\n\t*?[b]{c}!#"
    people: list[dict[str, object]] = [
        {"id": "pn_1", "name": name, "roles": [], "state": "active", "created": AT}
        for name in ("eve$(id)", "a`b", "-x", "it's", "two words", "Jörg.M@x", 'q"', "a\\b", "n\nm")
    ]
    running = {**transfer("running"), "id": "tr_1", "source": f"a:/{bad}", "destination": "b:/"}
    whoever = Person("anna", "", tmp_path)
    with scripted_service() as script:
        asking = replace(whoever, service=script.url)
        offered = {}
        for shell in ("bash", "zsh", "fish"):
            script.answers[:] = [answer({"items": people})]
            offered[shell] = tab(asking, "headrace people set ", shell, HEADRACE_TOKEN="hrt_1")  # noqa: S106
        assert offered["bash"] == [r"two\ words", "Jörg.M@x"]
        assert names(offered["fish"]) == ["two words", "Jörg.M@x"]
        assert offered["zsh"] == [
            '_arguments \'*: :(("two words":"pn_1"',
            '"Jörg.M@x":"pn_1"))\'',
        ]
        script.answers[:] = [answer({"items": [running]})]
        [one] = tab(asking, "headrace status ", HEADRACE_TOKEN="hrt_1")  # noqa: S106
    assert one.startswith("tr_1\trunning: a:/??")
    assert not set("\\$`\"';&|<*[]{}!#()") & set(one), one


def test_a_word_that_people_try_as_a_command_writes_nothing_into_the_line(tmp_path: Path) -> None:
    nobody = Person("nobody", "http://127.0.0.1:1", tmp_path)
    assert "copy" in names(tab(nobody, "headrace rm --json "))


def test_commands_and_their_options_are_offered_without_a_service(tmp_path: Path) -> None:
    nobody = Person("nobody", "http://127.0.0.1:1", tmp_path)
    assert names(tab(nobody, "headrace stat")) == ["status"]
    assert names(tab(nobody, "headrace status --endp")) == ["--endpoint"]


def test_words_that_bash_cut_are_put_together_as_they_were_typed() -> None:
    def lines(*words: str, at: int) -> tuple[list[str], int]:
        return rejoined(["headrace", *words], at)

    assert lines("copy", "a", ":", "/x", "b", at=5) == (["headrace", "copy", "a:/x", "b"], 3)
    assert lines("copy", "a", ":", "b", at=4) == (["headrace", "copy", "a:", "b"], 3)
    assert lines("copy", "a", ":", "/x", at=4) == (["headrace", "copy", "a:/x"], 2)
    assert lines("status", "--label", "=", "site", at=4) == (["headrace", "status", "--label", "site"], 3)


def parameters() -> Iterator[tuple[str, typer.core.TyperArgument | typer.core.TyperOption]]:
    for plugin in installed():
        if plugin.package == "headrace-cli":
            command = plugin.command()
            for name, one in {"": command, **getattr(command, "commands", {})}.items():
                yield from ((f"{plugin.name} {name}".strip(), parameter) for parameter in one.params)


def test_every_parameter_for_something_that_the_service_knows_is_completed() -> None:
    named = [(command, one) for command, one in parameters() if one.metavar in NAMED]
    assert len(named) > 40
    bare = [f"{command} {one.metavar}" for command, one in named if one._custom_shell_complete is None]  # noqa: SLF001
    # A page goes on after a place in a list, which nobody types.
    assert [one for one in bare if not one.endswith(" PLACE")] == []
