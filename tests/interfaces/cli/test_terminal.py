"""What a person at a terminal sees in states, silences and ends that a real service gives only by chance.

The ordinary turns are in test_end_to_end.py, against a real service.
"""

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl

import pytest
from tests.interfaces.cli.terminal import at_terminal
from tests.interfaces.client.scripted import (
    Script,
    answer,
    hang_up,
    problem,
    say_nothing,
    scripted_service,
    stream,
    stream_that_stays,
)
from tests.servers.headrace import PASSWORD, Person

from headrace.client import models as m

AT = "2026-11-25T14:30:00Z"
DIGEST = "3f" * 32
COUNTS = [name for name, info in m.SurveyCounts.model_fields.items() if info.is_required()]


@pytest.fixture
def script() -> Iterator[Script]:
    with scripted_service() as script:
        yield script


def plan(state: str = "ready", outcome: str = "allowed", **more: Any) -> dict[str, Any]:  # noqa: ANN401 - a field's
    kind = "answer" if state == "ask" else {"allowed": "submit", "approve": "approve"}.get(outcome, outcome)
    return {
        "next_step": {"kind": kind, "by": "others" if kind == "approve" else "you", "message": "As the service says."},
        "id": "pl_1", "state": state, "requester": "anna", "created": AT, "digest": DIGEST,
        "intent": {"action": "copy", "source": "a:/x", "destination": "b:/x"}, "survey": dict.fromkeys(COUNTS, 3),
        "decision": {"outcome": outcome, "policy_version": "v1", "why": "it is so"}, **more,
    }  # fmt: skip


def transfer(state: str, **progress: int) -> dict[str, Any]:
    counts = {"files_total": 3, "files_done": 3, "bytes_total": 3000, "bytes_durable": 3000, **progress}
    return {
        "id": "tr_1", "plan": "pl_1", "plan_digest": DIGEST, "state": state, "requester": "anna", "action": "copy",
        "source": "a:/x", "destination": "b:/x", "created": AT, "started": AT, "ended": AT, "progress": counts,
        "receipt": "rc_1",
    }  # fmt: skip


def ended(state: str, **progress: int) -> dict[str, Any]:
    return {"sequence": 2, "at": AT, "kind": "ended", "message": "", "transfer": transfer(state, **progress)}


def people(**names: str) -> dict[str, Any]:
    """Return a page of people, by id."""
    rows = [{"id": one, "name": name, "roles": [], "state": "active", "created": AT} for one, name in names.items()]
    return {"items": rows}


def at(script: Script, tmp_path: Path) -> dict[str, str]:
    return {"HEADRACE_SERVICE": script.url, "HEADRACE_CONFIG": str(tmp_path)}


def bodies(script: Script, method: str = "POST") -> list[str]:
    return [seen.body.decode() for seen in script.seen if seen.method == method]


def test_a_choice_is_made_by_its_number_and_becomes_part_of_the_sentence(script: Script, tmp_path: Path) -> None:
    choices = [{"value": "10 Gb/s", "label": "gigabits"}, {"value": "10 GB/s", "label": "gigabytes"}]
    question = {"slot": "rate_limit_bps", "message": "10 gig of what?", "words": "10 gig", "choices": choices}
    script.answers = [
        answer(plan("ask", questions=[question])), answer(plan()),
        answer(transfer("queued")), stream((2, ended("complete"))),
    ]  # fmt: skip
    with at_terminal("ask", "copy a:/x to b:/x at 10 gig", **at(script, tmp_path)) as person:
        person.wait_for(r"10 gig of what\?")
        person.wait_for(r"2\. 10 GB/s - gigabytes")
        person.type("1")
        person.wait_for(r"Reading: copy a:/x to b:/x at 10 Gb/s")
        person.wait_for(r"Run it\? \[Y/n\]")
        person.type("")
        assert person.ends_with() == 0
    assert "Transfer tr_1 is complete: 3 files, 3.00 kB" in person.shown
    assert "receipts get tr_1" in person.shown
    assert '"words":"copy a:/x to b:/x at 10 Gb/s"' in bodies(script)[1]
    assert DIGEST in bodies(script)[2]


def test_an_answer_that_is_a_whole_request_takes_the_place_of_the_one_before(script: Script, tmp_path: Path) -> None:
    question = {"slot": "source", "message": "`photos` is not understood", "words": "photos"}
    waits = plan("denied") | {"next_step": {"kind": "none", "by": "nobody", "message": "No."}}
    for typed in ("copy a:/photos to b:/x", "headrace ask 'copy a:/photos to b:/x'"):
        script.answers = [answer(plan("ask", questions=[question])), answer(waits)]
        with at_terminal("ask", "copy photos to b:/x", **at(script, tmp_path)) as person:
            person.wait_for(r"Your answer \(or the whole sentence again\)")
            person.type(typed)
            assert person.ends_with() == 4
        assert '"words":"copy a:/photos to b:/x"' in bodies(script)[-1]


def test_a_token_whose_plan_waits_for_its_person_names_the_command(script: Script, tmp_path: Path) -> None:
    waits = plan(outcome="confirm") | {"next_step": {"kind": "confirm", "by": "others", "message": "It waits."}}
    script.answers = [answer(waits)]
    done = Person("anna", script.url, tmp_path).run("ask", "copy a:/x to b:/x")
    assert (done.code, "without HEADRACE_TOKEN: headrace confirm pl_1" in done.err) == (5, True), done.err


def test_a_token_that_is_no_good_is_named_by_its_variable(script: Script, tmp_path: Path) -> None:
    script.answers = [problem("not_signed_in", 401), problem("not_signed_in", 401)]
    with at_terminal("status", **at(script, tmp_path), HEADRACE_TOKEN="hrt_x") as person:  # noqa: S106 - no secret
        assert person.ends_with() == 8
    assert "`unset HEADRACE_TOKEN`" in person.shown
    with at_terminal("status", **at(script, tmp_path)) as person:
        assert person.ends_with() == 8
    assert person.shown.count("headrace login") == 1


def test_who_is_not_let_in_hears_who_gives_a_new_link(script: Script, tmp_path: Path) -> None:
    script.answers = [problem("sign_in_refused", 401)]
    refused = Person("x", script.url, tmp_path).run("login", "--name", "x", "--password-stdin", typed="wrong\n")
    assert (refused.code, "Ask an administrator of this site for a new one-time link" in refused.err) == (8, True)


def test_an_invitation_says_its_name_and_only_the_first_administrator_chooses_one(
    script: Script, tmp_path: Path
) -> None:
    me = {"id": "pn_1", "name": "carol", "roles": [], "scopes": [], "session": True}
    session = answer({"secret": "hrs_x", "expires": "2999-01-01T00:00:00Z", "me": me})
    for name, says in (("carol", "You are invited as carol"), (None, "Choose the name that you sign in with: ")):
        script.answers = [answer({"name": name}), session]
        with at_terminal("login", "--link", f"{script.url}/accept#token", **at(script, tmp_path)) as person:
            person.wait_for(says)
            if name is None:
                person.type("carol")
            for asked in ("New password .at least 12 characters.: ", "Repeat for confirmation: "):
                person.wait_for(asked)
                person.type("seven gates hold the water")
            assert person.ends_with() == 0, person.shown


def test_a_new_password_is_typed_twice_unseen_and_chosen_anew_when_it_is_refused(
    script: Script, tmp_path: Path
) -> None:
    me = {"id": "pn_1", "name": "eve", "roles": [], "scopes": [], "session": True}
    script.answers = [problem("password_refused", 422), answer(me)]
    with at_terminal("people", "password", **at(script, tmp_path)) as person:
        typed = [("Password: ", "the one of before")]
        for new in ("one", "four words it is"):
            typed += [("New password .at least 12 characters.: ", new), ("Repeat for confirmation: ", new)]
        for asked, text in typed:
            person.wait_for(asked)
            person.type(text)
        assert person.ends_with() == 0, person.shown
    assert "said by the service: password_refused" in person.shown
    assert "Your password is changed." in person.shown
    assert not [secret for secret in ("the one of before", "four words it is") if secret in person.shown]
    assert [json.loads(body)["new_password"] for body in bodies(script)] == ["one", "four words it is"]


@pytest.mark.parametrize(("command", "outcome"), [("approve", "approve"), ("confirm", "confirm")])
def test_a_proof_that_no_terminal_can_give_opens_the_plan_in_the_console(
    script: Script, tmp_path: Path, command: str, outcome: str
) -> None:
    console = "https://headrace.example"
    challenge = {"provider": "corp", "name": "Corp", "origin": console, "id": "x", "kept": "x", "expires": AT}
    needed = {
        "title": "x", "status": 403, "code": "proof_needed", "detail": "prove that this is you",
        "proof": {"ways": ["provider"], "provider": challenge},
    }  # fmt: skip
    browser, opened = tmp_path / "browser", tmp_path / "opened"
    browser.write_text(f'#!/bin/sh\necho "$1" > {opened}\n', encoding="utf-8")
    browser.chmod(0o700)
    script.answers = [answer(plan(outcome=outcome)), answer(needed, "403 Forbidden")]
    with at_terminal(command, "pl_1", BROWSER=str(browser), **at(script, tmp_path)) as person:
        person.wait_for(rf"{command.title()} plan .* \[y/N\]")
        person.type("y")
        person.wait_for(r"Do this in the console: https://headrace.example/plans/pl_1")
        assert person.ends_with() == 4
    assert opened.read_text(encoding="utf-8").strip() == f"{console}/plans/pl_1"


def test_a_password_typed_at_the_terminal_goes_with_the_very_request_that_was_refused_and_is_not_shown(
    script: Script, tmp_path: Path
) -> None:
    needed = {
        "title": "x", "status": 403, "code": "proof_needed", "detail": "type your password to prove that this is you",
        "proof": {"ways": ["password"]},
    }  # fmt: skip
    typed = "seven gates hold the water"
    script.answers = [
        answer(plan(outcome="approve")), answer(needed, "403 Forbidden"), answer(plan(outcome="approve")),
    ]  # fmt: skip
    with at_terminal("approve", "pl_1", "--reason", "fine", **at(script, tmp_path)) as person:
        person.wait_for(r"Approve plan .* \[y/N\]")
        person.type("y")
        person.wait_for("type your password to prove that this is you")
        person.wait_for("Your password: ")
        person.type(typed)
        assert person.ends_with() == 0, person.shown
    assert typed not in person.shown
    assert "Approved. As the service says." in person.shown
    assert "To see later whether it runs: headrace plan pl_1" in person.shown
    first, second = (json.loads(body) for body in bodies(script))
    assert (first["reason"], "password" in first) == ("fine", False)
    assert second == {**first, "password": typed}


def test_people_of_one_name_are_listed_with_where_they_are_known(script: Script, tmp_path: Path) -> None:
    listed = people(pn_1="sam", pn_2="Sam", pn_3="eve")
    listed["items"][1]["identities"] = [
        {"issuer": "https://login.example", "subject": "7", "name": "Sam", "groups": [], "seen": AT, "gone": None}
    ]
    script.answers = [answer(listed)]
    shown = Person("x", script.url, tmp_path).run("people").out
    assert "sam (of this service)" in shown
    assert "Sam (https://login.example)" in shown
    assert "eve (" not in shown


def test_health_names_nodes_that_are_away(script: Script, tmp_path: Path) -> None:
    health = {"status": "ok", "version": "1", "nodes_attached": 1, "nodes_away": ["dtn2"], "audit": "ok", "key": "k"}
    script.answers = [answer(health)]
    assert "Away: dtn2 (`headrace nodes` says since when)." in Person("x", script.url, tmp_path).run("health").out


def test_health_says_plainly_that_nothing_can_be_moved_while_no_node_is_attached(
    script: Script, tmp_path: Path
) -> None:
    health = {"status": "ok", "version": "1", "nodes_attached": 0, "audit": "ok", "key": "k"}
    script.answers = [answer(health), answer(health | {"nodes_attached": 2})]
    said = Person("x", script.url, tmp_path).run("health")
    assert said.code == 0
    assert "is ok; no node is attached. Nothing can be planned or moved until one is:" in " ".join(said.out.split())
    assert "`headrace node-token NAME`" in said.out
    two = Person("x", script.url, tmp_path).run("health")
    assert "is ok; 2 nodes are attached." in two.out
    assert "until one is" not in two.out


def test_a_simulation_that_had_nothing_to_compare_with_is_no_good_news(script: Script, tmp_path: Path) -> None:
    text = tmp_path / "site.cedar"
    text.write_text("permit (principal, action, resource);")
    script.answers = [answer({"replayed": 0, "flipped": 0}), answer({"replayed": 3, "flipped": 0})]
    said = Person("x", script.url, tmp_path).run("policy", "simulate", str(text))
    assert said.out == "There is no earlier decision to compare with, so this says nothing of the text.\n", said.err
    assert "0 of the newest 3 decisions" in Person("x", script.url, tmp_path).run("policy", "simulate", str(text)).out


def test_health_says_that_everything_is_halted_and_how_that_ends(script: Script, tmp_path: Path) -> None:
    reason = "restored from a backup"
    health = {"status": "ok", "version": "1", "nodes_attached": 1, "audit": "ok", "key": "k", "halted": reason}
    script.answers = [answer(health)]
    said = Person("x", script.url, tmp_path).run("health")
    assert said.code == 1
    out = " ".join(said.out.split())
    assert "is ok" not in out
    assert f"Why: {reason}. Nothing is planned or started." in out
    assert "remove the file `halt` in the service's data folder" in out
    assert "`headrace release HALT`" in out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("endpoints",), "There are no endpoints that you may see."),
        (("nodes",), "No node has joined."),
        (("ca", "list"), "headrace ca issue NAME"),
        (("halts",), "Nothing is halted."),
        (("token", "list"), "headrace token create NAME"),
        (("plans",), "There are no such plans."),
        (("plans", "--awaiting-me"), "No other person's plan waits for your approval."),
        (("status",), "There are no such transfers."),
    ],
)
def test_an_empty_list_says_so_and_what_would_fill_it(
    script: Script, tmp_path: Path, arguments: tuple[str, ...], says: str
) -> None:
    script.answers = [answer({"items": []})]
    done = Person("x", script.url, tmp_path).run(*arguments)
    assert (done.code, says in done.out) == (0, True), done.err + done.out


def _endpoint(name: str) -> dict[str, object]:
    return {"id": name, "node": "n", "root": name, "access": "read", "online": True}


def _node(name: str) -> dict[str, object]:
    return {"id": f"nd_{name}", "name": name, "key": f"key of {name}", "state": "attached"}


def _token(name: str) -> dict[str, object]:
    return {"id": f"id-{name}", "name": name, "scopes": [], "created": AT, "expires": AT}


@pytest.mark.parametrize(
    ("arguments", "one", "asked"),
    [
        (("endpoints",), _endpoint, "endpoints?limit=1000"),
        (
            ("endpoints", "--find", "lab 1", "--label", "site=north", "--node", "dtn1"),
            _endpoint,
            "endpoints?limit=1000&q=lab+1&label=site%3Dnorth&node=dtn1",
        ),
        (("nodes",), _node, "nodes?limit=1000"),
        (("ca", "list"), _node, "nodes?limit=1000"),
        (("token", "list", "--all"), _token, "tokens?everybody=true&limit=1000"),
    ],
)
def test_a_list_is_shown_whole_however_many_pages_it_has(
    script: Script, tmp_path: Path, arguments: tuple[str, ...], one: Callable[[str], dict[str, object]], asked: str
) -> None:
    names = ("first", "second", "third")
    pages = [{"items": [one(name)], "next": name} for name in names[:2]] + [{"items": [one(names[2])]}]
    script.answers = [*map(answer, pages)] * 2
    person = Person("x", script.url, tmp_path)
    shown, document = person.run(*arguments), person.run(*arguments, "--json")
    assert all(name in shown.out for name in names), shown.out + shown.err
    assert ([found.get("name", found["id"]) for found in document.items], document.document["next"]) == ([*names], None)
    paths = [seen.path.removeprefix("/api/v1/") for seen in script.seen]
    path, _, query = asked.partition("?")
    assert [one.partition("?")[0] for one in paths] == [path] * 6
    expected = [dict(parse_qsl(query)) | ({"after": after} if after else {}) for after in ("", "first", "second")]
    assert [dict(parse_qsl(one.partition("?")[2])) for one in paths] == expected * 2


def test_endpoints_that_no_filter_fits_are_said_to_be_none_and_not_that_a_node_has_to_join(
    script: Script, tmp_path: Path
) -> None:
    script.answers = [answer({"items": []})]
    done = Person("x", script.url, tmp_path).run("endpoints", "--label", "site=nowhere")
    assert (done.code, done.out.strip()) == (0, "There are no such endpoints.")


def test_an_endpoint_is_labelled_that_stands_on_no_first_page(script: Script, tmp_path: Path) -> None:
    known = _endpoint("src") | {"labels": {"site": "north"}, "version": "v7"}
    script.answers = [
        answer({"items": [_endpoint("src2")], "next": "src2"}), answer({"items": [known]}), answer(known),
    ]  # fmt: skip
    done = Person("x", script.url, tmp_path).run("endpoints", "label", "src", "class=open")
    assert done.code == 0, done.err
    assert [seen.path.partition("?")[0] for seen in script.seen] == ["/api/v1/endpoints"] * 2 + [
        "/api/v1/endpoints/src"
    ]
    assert json.loads(script.seen[-1].body)["labels"] == {"site": "north", "class": "open"}
    assert json.loads(script.seen[-1].body)["version"] == "v7"


@pytest.mark.parametrize("command", ["status", "plans"])
@pytest.mark.parametrize(
    ("label", "says"),
    [
        ("Site=North", "has the label `Site=North`. There is `site=north`: labels are told apart by upper and lower"),
        ("SITE", "has the label `SITE`. There is `site`: labels are told apart by upper and lower case."),
        ("site=east", "has the label `site=east`. There is `site=north`."),
        ("room=1", "has the label `room=1`.\n"),
    ],
)
def test_a_list_that_is_empty_for_want_of_a_label_says_how_it_is_written(
    script: Script, tmp_path: Path, command: str, label: str, says: str
) -> None:
    endpoint = {"id": "lab", "node": "dtn1", "root": "lab", "access": "read", "online": True}
    script.answers = [answer({"items": []}), answer({"items": [{**endpoint, "labels": {"site": "north"}}]})]
    done = Person("x", script.url, tmp_path).run(command, "--label", label)
    assert done.code == 0, done.err
    assert f"No endpoint that you may see {says}" in done.err
    script.answers = [answer({"items": []}), answer({"items": [{**endpoint, "labels": {"site": "north"}}]})]
    assert "No endpoint" not in Person("x", script.url, tmp_path).run(command, "--label", "site=north").err


def test_an_administrator_removes_somebodys_lost_passkey_with_a_proof(script: Script, tmp_path: Path) -> None:
    needed = {
        "title": "x", "status": 403, "code": "proof_needed", "detail": "prove it", "proof": {"ways": ["password"]},
    }  # fmt: skip
    lost = {"id": "pk_abcd1234", "name": "old phone", "created": AT, "last_used": AT}
    script.answers = [
        answer(people(pn_1="bob")), answer({"items": [lost]}),
        answer(people(pn_1="bob")), answer({"items": [lost]}), answer(needed, "403 Forbidden"),
        answer(b"", "204 No Content"),
    ]  # fmt: skip
    person = Person("root", script.url, tmp_path)
    listed = person.run("people", "passkeys", "--person", "bob", "--json")
    assert [one["name"] for one in listed.items] == ["old phone"], listed.err
    removed = person.prove("people", "passkeys", "--person", "pn_1", "--remove", "pk_abcd", "--json")
    assert (removed.code, removed.document) == (0, {"removed": "pk_abcd1234"}), removed.err
    paths = [seen.path for seen in script.seen if not seen.path.startswith("/api/v1/people?")]
    removals = ["/api/v1/people/pn_1/passkeys/pk_abcd1234/remove"] * 2
    assert paths == [*["/api/v1/passkeys?person=pn_1"] * 2, *removals]
    assert [json.loads(body or "{}").get("password") for body in bodies(script)] == [None, PASSWORD]


def test_a_wrong_password_is_asked_for_again_and_in_the_end_the_plan_is_said_to_wait(
    script: Script, tmp_path: Path
) -> None:
    needed = {
        "title": "x", "status": 403, "code": "proof_needed", "detail": "prove it", "proof": {"ways": ["password"]},
    }  # fmt: skip
    wrong = {"title": "x", "status": 403, "code": "proof_refused", "detail": "The password is wrong."}
    waits = plan(outcome="confirm")
    for wrongs, code in ((2, 5), (3, 4)):
        last = answer(waits) if wrongs < 3 else answer(wrong, "403 Forbidden")
        script.answers[:] = [answer(waits), answer(needed, "403 Forbidden")]
        script.answers += [*[answer(wrong, "403 Forbidden")] * 2, last]
        with at_terminal("copy", "a:/x", "b:/x", **at(script, tmp_path)) as person:
            person.wait_for(r"Confirm plan .* \[y/N\]")
            person.type("y")
            for typed in ("one", "two", "three"):
                person.wait_for("Your password: ")
                person.type(typed)
            assert person.ends_with() == code, person.shown
        assert person.shown.count("The password is wrong. Type it again.") == 2
        still_waits = "Nothing was started; the plan still waits: `headrace confirm pl_1`"
        assert (still_waits in person.shown) == (wrongs == 3), person.shown


def test_ids_in_a_list_stay_whole_at_80_columns(script: Script, tmp_path: Path) -> None:
    hexes = "0123456789abcdef" * 2
    robert = {"id": f"pn_{hexes}", "name": "robert", "roles": ["requester", "approver", "operator"], "state": "active"}
    lists = (
        ("people", f"pn_{hexes}", {**robert, "groups": ["lab", "stewards"], "created": AT}),
        ("plans", f"pl_{hexes}", {**plan(), "id": f"pl_{hexes}", "words": "copy a:/some/where to b:/else/where"}),
        ("status", f"tr_{hexes}", {**transfer("complete"), "id": f"tr_{hexes}", "source": "a:/a/long/way/off"}),
    )
    for command, name, row in lists:
        script.answers[:] = [answer({"items": [row]})]
        with at_terminal(command, COLUMNS="80", **at(script, tmp_path)) as person:
            assert person.ends_with() == 0, person.shown
        assert name in person.shown, person.shown
        assert max(len(line) for line in person.shown.splitlines()) <= 80


def test_a_person_is_found_by_name_by_id_or_by_its_unique_beginning_before_a_password_is_asked_for(
    script: Script, tmp_path: Path
) -> None:
    listed = answer(people(pn_1a="anna", pn_2b="bob", pn_2c="eve", pn_3d="eve", pn_4="pn_2b2"))
    link = answer({"person": "pn_2b", "name": "bob", "link": "https://x/accept#y", "expires": AT, "roles": []})
    admin = Person("root", script.url, tmp_path)
    for called, meant in (("bob", "pn_2b"), ("pn_2b", "pn_2b"), ("pn_1", "pn_1a")):
        script.seen.clear()
        script.answers[:] = [listed, link]
        assert admin.run("people", "reinvite", called).code == 0
        assert script.seen[-1].path == f"/api/v1/people/{meant}/invitations"
    for called, said in (
        ("Bob", "No person has the name or id `Bob`; `headrace people` lists them."),
        (
            "eve",
            "fits 2 people; name one by id: pn_2c (eve, of this service, active), pn_3d (eve, of this service, active)",
        ),
        ("pn_2", "`pn_2` fits 2 people"),
    ):
        script.seen.clear()
        script.answers[:] = [listed]
        refused = admin.run("people", "reinvite", called)
        assert (refused.code, said in refused.err) == (1, True), refused.err
        assert len(script.seen) == 1


@pytest.mark.parametrize(
    "command",
    [
        ("people", "disable", "?", "--yes"),
        ("people", "enable", "?"),
        ("people", "reinvite", "?"),
        ("people", "set", "?", "--role", "viewer"),
        ("people", "link", "?", "https://corp.example", "bob"),
        ("people", "sessions", "--person", "?"),
        ("people", "passkeys", "--person", "?"),
        ("token", "create", "x", "--scope", "transfer:read", "--for", "?"),
    ],
)
def test_each_command_about_a_person_says_that_nobody_has_a_name(
    script: Script, tmp_path: Path, command: tuple[str, ...]
) -> None:
    script.answers = [answer(people(pn_1="anna"))]
    refused = Person("root", script.url, tmp_path).run(*(word.replace("?", "nobody") for word in command))
    assert (refused.code, "has the name or id `nobody`" in refused.err) == (1, True), refused.err


def test_whoever_may_not_list_people_hears_what_the_service_says(script: Script, tmp_path: Path) -> None:
    script.answers = [problem("forbidden", 403), problem("session_needed", 403)]
    refused = Person("anna", script.url, tmp_path).run("people", "reinvite", "bob")
    assert "said by the service: session_needed" in refused.err
    assert script.seen[-1].path == "/api/v1/people/bob/invitations"


def test_whoever_is_not_at_a_terminal_is_asked_for_no_password(script: Script, tmp_path: Path) -> None:
    needed = {
        "title": "x", "status": 403, "code": "proof_needed", "detail": "prove it", "proof": {"ways": ["password"]},
    }  # fmt: skip
    script.answers = [answer(needed, "403 Forbidden")]
    person = Person("anna", script.url, tmp_path)
    done = person.run("token", "create", "x", "--scope", "transfer:read", typed="seven gates hold the water\n")
    assert (done.code, "run this at a terminal" in done.err) == (4, True), done.err
    assert len(bodies(script)) == 1


def test_what_did_not_arrive_is_listed_with_the_one_command_that_sends_it(script: Script, tmp_path: Path) -> None:
    failed = {
        "path": "[red]x\u202e", "error": "unreadable", "message": "permission denied", "retry": True,
        "advice": "Let the node's account read it.",
    }  # fmt: skip
    script.answers = [
        answer(transfer("running")), stream((2, ended("partial", files_failed=1))), answer({"items": [failed]}),
    ]  # fmt: skip
    with at_terminal("watch", "tr_1", **at(script, tmp_path)) as person:
        assert person.ends_with() == 6
    assert r"[red]x\u{202E}" in person.shown
    assert "permission denied" in person.shown
    assert "unreadable: Let the node's account read it." in person.shown
    assert "After that, to send only these again: headrace retry tr_1" in person.shown


def test_a_command_in_what_a_transfer_tells_stays_in_one_line(script: Script, tmp_path: Path) -> None:
    command = "headrace copy there:/.headrace-trash/2026-12-29-tr_1/photos there:/photos"
    script.answers = [
        answer(transfer("running")), stream((2, ended("complete") | {"message": f"What was deleted: `{command}`."})),
    ]  # fmt: skip
    with at_terminal("watch", "tr_1", COLUMNS="60", **at(script, tmp_path)) as person:
        assert person.ends_with() == 0
    assert command in person.shown


def test_no_retry_is_offered_for_what_is_never_copied(script: Script, tmp_path: Path) -> None:
    failed = {
        "path": "pipe",
        "error": "source_unsupported",
        "message": "pipe is a socket, fifo or device",
        "retry": False,
    }
    after = {"kind": "plan_again", "by": "you", "message": "Plan again and leave it out."}
    may = [{"action": "retry", "allowed": True, "reason": ""}]
    for error, offered in (("source_unsupported", False), ("destination_exists", True)):
        end = ended("partial", files_failed=1)
        end["transfer"] |= {"next_step": after, "allowed_actions": may}
        script.answers = [answer(transfer("running")), stream((2, end)), answer({"items": [failed | {"error": error}]})]
        with at_terminal("watch", "tr_1", **at(script, tmp_path)) as person:
            assert person.ends_with() == 6
        assert "Plan again and leave it out." in person.shown
        assert ("headrace retry" in person.shown) is offered


def test_ctrl_c_leaves_the_transfer_and_says_how_to_find_it(script: Script, tmp_path: Path) -> None:
    running = {"sequence": 1, "at": AT, "kind": "note", "message": "moving", "transfer": transfer("running")}
    script.answers = [answer(transfer("running")), stream_that_stays((1, running))]
    with at_terminal("watch", "tr_1", **at(script, tmp_path)) as person:
        person.wait_for("moving")
        person.press_ctrl_c()
        assert person.ends_with() == 130
    assert "Transfer tr_1 goes on without this terminal: headrace watch tr_1" in person.shown
    assert "headrace cancel tr_1" in person.shown
    assert not bodies(script)


def test_ctrl_c_before_anything_ran_says_so(script: Script, tmp_path: Path) -> None:
    script.answers = [answer(plan())]
    with at_terminal("copy", "a:/x", "b:/x", **at(script, tmp_path)) as person:
        person.wait_for(r"Run it\?")
        person.press_ctrl_c()
        assert person.ends_with() == 130
    assert "nothing was started" in person.shown


def test_ctrl_c_while_the_service_is_silent_ends_at_once(script: Script, tmp_path: Path) -> None:
    script.answers = [answer(plan("surveying", digest=None)), say_nothing]
    with at_terminal("copy", "a:/x", "b:/x", **at(script, tmp_path)) as person:
        person.wait_for("surveying|reading")
        person.press_ctrl_c()
        assert person.ends_with() == 130
    assert "headrace plan pl_1" in person.shown


def test_a_service_that_goes_away_while_watching_is_said_in_the_end(script: Script, tmp_path: Path) -> None:
    script.answers = [hang_up] * 3
    with at_terminal("watch", "tr_1", **at(script, tmp_path)) as person:
        assert person.ends_with() == 7
    assert "service_unreachable" in person.shown
