"""Rooms that need no transfer: policies, people, tokens, audit; roles; keyboard."""

import re

import pytest
from playwright.sync_api import Page, expect
from tests.browser.house import ADMIN, PASSWORD, Caller, House
from tests.browser.looks import NO_COPIES


def test_a_published_policy_denies_the_same_request_until_it_is_rolled_back(house: House) -> None:
    before = plan_outcome(house)
    bob = house.page("bob", "/policies?edit=true")
    editor = bob.get_by_role("textbox", name="Policy text")
    editor.click()
    bob.keyboard.press("Control+End")
    bob.keyboard.insert_text(NO_COPIES)
    bob.get_by_label("Note").fill("no copies during the migration")
    bob.get_by_role("button", name="Check with the service").click()
    expect(bob.get_by_text("The text is valid and its examples hold")).to_be_visible()
    bob.get_by_role("button", name="Propose", exact=True).click()
    publish = bob.get_by_role("button", name="Publish")
    expect(publish).to_have_attribute("aria-description", "Somebody else must publish what you wrote.")

    cleo = house.page("cleo", "/policies")
    cleo.get_by_role("row").filter(has_text="Proposed").get_by_role("link").click()
    expect(cleo.get_by_text("no-copies-now")).to_be_visible()
    cleo.get_by_role("button", name="Publish").click()
    cleo.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(cleo.get_by_text("is in force.")).to_be_visible()
    assert before == "Allowed"
    assert plan_outcome(house) == "Denied"

    cleo.get_by_role("row").filter(has_text="Retired").first.get_by_role("link").click()
    cleo.get_by_role("button", name="Roll back to this version").click()
    cleo.get_by_role("dialog").get_by_role("button", name="Roll back to this version").click()
    expect(cleo.get_by_text("Another policy administrator can publish it.")).to_be_visible()
    assert plan_outcome(house) == "Denied"
    bob = house.page("bob", "/policies")
    bob.get_by_role("row").filter(has_text="Proposed").first.get_by_role("link").click()
    bob.get_by_role("button", name="Publish").click()
    bob.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(bob.get_by_text("is in force.")).to_be_visible()
    assert plan_outcome(house) == "Allowed"


def plan_outcome(house: House) -> str:
    page = house.page("ada", "/new?words=copy krios1:/run42/movie.tiff to archive:/policy/")
    page.get_by_role("button", name="Make the plan").click()
    verdict = page.get_by_role("region", name="Plan").get_by_text(re.compile("^(Allowed|Denied)$")).first
    verdict.wait_for(timeout=60_000)
    return verdict.inner_text()


def test_the_lint_in_the_browser_finds_a_mistake_before_the_service_is_asked(house: House) -> None:
    page = house.page("bob", "/policies?edit=true")
    page.get_by_role("textbox", name="Policy text").click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text('\n@id("x") forbid (principal, action, resource) when { context.byts > 1 };')
    expect(page.locator(".cm-lint-marker-error").first).to_be_visible(timeout=20_000)
    page.get_by_role("button", name="Check with the service").click()
    expect(page.get_by_text("This text can't be published")).to_be_visible()


def test_a_viewer_is_offered_nothing_that_he_may_not_do(house: House) -> None:
    page = house.page("vera", "/transfers")
    menu = page.get_by_role("navigation", name="Pages")
    for room in ("New transfer", "Approvals", "Audit", "People"):
        entry = menu.get_by_role("link", name=room)
        expect(entry).to_have_attribute("aria-disabled", "true")
        expect(entry).to_have_attribute("aria-description", re.compile("Only "))
    expect(page.get_by_role("button", name="New transfer")).to_have_attribute("aria-disabled", "true")
    page.goto(house.url + "/new?words=copy krios1:/run42 to archive:/x")
    make = page.get_by_role("button", name="Make the plan")
    expect(make).to_have_attribute("aria-description", re.compile("Only requesters"))
    page.goto(house.url + "/endpoints")
    for name in ("Let a node join", "Drain", "Revoke"):
        expect(page.get_by_role("button", name=name).first).to_have_attribute("aria-disabled", "true")
    page.goto(house.url + "/policies")
    expect(page.get_by_role("button", name="Propose a change")).to_have_attribute("aria-disabled", "true")
    page.goto(house.url + "/people")
    expect(page.get_by_role("alert")).to_be_visible()


def test_a_person_is_invited_accepts_signs_out_and_in_again(house: House) -> None:
    admin = house.page(ADMIN, "/people")
    admin.get_by_role("button", name="Invite a person").click()
    dialog = admin.get_by_role("dialog")
    dialog.get_by_label("Name").fill("dora")
    dialog.get_by_role("button", name="Make the link").click()
    link = dialog.locator("code").inner_text()

    dora = house.page(None, "/sign-in")
    dora.goto(link)
    dora.get_by_label("Choose a password").fill(PASSWORD)
    dora.get_by_role("button", name="Set password and sign in").click()
    expect(dora.get_by_role("heading", name="Transfers")).to_be_visible()
    dora.get_by_role("button", name="dora").click()
    dora.get_by_role("menuitem", name="Sign out").click()
    dora.get_by_label("Name").fill("dora")
    dora.get_by_label("Password", exact=True).fill("not the password at all")
    dora.get_by_role("button", name="Sign in").click()
    expect(dora.get_by_role("alert")).to_be_visible()
    dora.get_by_label("Password", exact=True).fill(PASSWORD)
    dora.get_by_role("button", name="Sign in").click()
    expect(dora.get_by_role("heading", name="Transfers")).to_be_visible()


def test_the_audit_chain_is_filtered_and_verified(house: House) -> None:
    page = house.page("otto", "/audit")
    page.get_by_role("button", name="Verify the chain").click()
    expect(page.get_by_text("The chain is whole")).to_be_visible()
    page.get_by_label("Person").fill("root-admin")
    expect(page.get_by_role("row").filter(has_text="invited").first).to_contain_text("root-admin")
    expect(page.get_by_role("row").filter(has_text="service_started")).to_have_count(0)
    page.get_by_label("Person").fill("nobody-of-that-name")
    expect(page.get_by_text("No event matches")).to_be_visible()
    expect(page).to_have_url(re.compile("person=nobody"))


def test_a_token_is_made_shown_once_and_revoked(house: House) -> None:
    page = house.page("ada", "/tokens")
    page.get_by_role("button", name="Make a token").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("nightly")
    dialog.get_by_role("button", name="Make a token").click()
    secret = dialog.locator("code").inner_text()
    assert secret.startswith("hrt_")
    dialog.get_by_role("checkbox", name="I have saved it").check()
    dialog.get_by_role("button", name="Close").click()
    row = page.get_by_role("row").filter(has_text="nightly")
    expect(row).to_be_visible()
    assert secret not in page.content()
    row.get_by_role("button", name="Revoke").click()
    page.get_by_role("dialog").get_by_role("button", name="Revoke").click()
    expect(page.get_by_text("The token is revoked.")).to_be_visible()


def test_an_example_that_does_not_hold_is_shown_and_stops_the_proposal(house: House) -> None:
    page = house.page("bob", "/policies?edit=true")
    examples = page.get_by_role("region", name="Examples that must hold")
    expect(examples.get_by_role("row").last).to_be_visible()
    before = examples.get_by_role("row").count()
    page.get_by_label("Must be").select_option("Denied")
    page.get_by_label("Action").select_option("Copy")
    page.get_by_role("button", name="Add this example").click()
    expect(examples.get_by_role("row")).to_have_count(before + 1)
    page.get_by_role("button", name="Check with the service").click()
    expect(page.get_by_text("This text can't be published")).to_be_visible()
    expect(examples.get_by_role("row").last).to_contain_text("does not hold")
    expect(page.get_by_role("button", name="Propose", exact=True)).to_have_attribute("aria-disabled", "true")


def test_a_node_is_drained_and_a_join_token_is_shown_once(house: House) -> None:
    page = house.page("otto", "/endpoints")
    row = page.get_by_role("row").filter(has_text="dtn-a").filter(has_text="Revoke")
    row.get_by_role("button", name="Drain").click()
    expect(row.get_by_text("Draining")).to_be_visible()
    row.get_by_role("button", name="Undrain").click()
    expect(row.get_by_text("Attached")).to_be_visible()
    page.get_by_role("button", name="Let a node join").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name of the node").fill("dtn-x")
    dialog.get_by_role("button", name="Make the token").click()
    expect(dialog.locator("code")).to_contain_text("headrace-node join")
    dialog.get_by_role("checkbox", name="I have saved it").check()
    dialog.get_by_role("button", name="Close").click()
    row.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("dialog")).to_contain_text("It is shut out for good")


def test_times_switch_between_utc_and_local_and_the_theme_is_kept(house: House) -> None:
    page = house.page("ada", "/tokens")
    page.get_by_role("button", name="Times in UTC; switch").click()
    expect(page.get_by_role("button", name="Times in Local time; switch")).to_be_visible()
    page.get_by_role("button", name="Light theme; switch to dark").click()
    page.reload()
    expect(page.get_by_role("button", name="Dark theme; switch to light")).to_be_visible()
    expect(page.locator("html")).to_have_attribute("data-mantine-color-scheme", "dark")


def test_a_typed_policy_is_not_lost_by_a_click_and_keeps_its_undo_history(house: House) -> None:
    page = house.page("bob", "/policies?edit=true")
    editor = page.get_by_role("textbox", name="Policy text")
    editor.click()
    page.keyboard.press("Control+End")
    page.keyboard.insert_text("// typed by hand")
    page.get_by_label("Must be").select_option("Denied")
    page.get_by_role("button", name="Add this example").click()
    expect(editor).to_contain_text("example denied")
    page.get_by_role("button", name="Light theme; switch to dark").click()
    editor.click()
    page.keyboard.press("Control+z")
    page.keyboard.press("Control+End")
    expect(editor.get_by_text("typed by hand")).to_be_visible()
    expect(editor.locator(".cm-line").last).to_have_text("// typed by hand")

    for leave in ("Transfers", "API tokens"):
        page.get_by_role("link", name=leave).click()
        dialog = page.get_by_role("dialog", name="Leave what you have typed?")
        dialog.get_by_role("button", name="Stay here").first.click()
        expect(editor.get_by_text("typed by hand")).to_be_visible()
    page.get_by_role("button", name="Close").click()
    page.get_by_role("dialog").get_by_role("button", name="Leave and lose the text").click()
    expect(editor).to_have_count(0)


def test_a_text_that_would_take_back_a_newer_version_is_not_published_and_says_so_when_it_is_changed(
    house: House,
) -> None:
    bob, cleo, first = house.people["bob"], house.people["cleo"], house.people["bob"].texts("/policies")[0]
    numbers = [propose(bob, first + f"\n// version of {name}\n") for name in ("cleo's choice", "an older thought")]
    cleo.call("POST", f"/policies/{numbers[0]}/publish")
    page = house.page("cleo", f"/policies?version={numbers[1]}")
    against = re.compile(f"not proposed as a change of version {numbers[0]}, which is in force now")
    expect(page.get_by_role("button", name="Publish")).to_have_attribute("aria-description", against)
    page.get_by_role("button", name="Propose a change").click()
    expect(page.get_by_role("alert")).to_contain_text(
        f"This starts from version {numbers[1]}, and version {numbers[0]} is in force"
    )


def test_the_author_of_an_old_version_may_propose_it_again_and_not_publish_that(house: House) -> None:
    text = house.people["bob"].texts("/policies")[0]
    for note in ("bob's first", "bob's second"):
        house.people["cleo"].call("POST", f"/policies/{propose(house.people['bob'], text + f'// {note}')}/publish")
    versions = house.people["bob"].get("/policies")
    own = next(one["version"] for one in versions if one["state"] == "retired" and one["note"] == "by a test")
    page = house.page("bob", f"/policies?version={own}")
    page.get_by_role("button", name="Roll back to this version").click()
    expect(page.get_by_role("dialog")).to_contain_text("when another policy administrator publishes it")
    page.get_by_role("dialog").get_by_role("button", name="Roll back to this version").click()
    expect(page.get_by_text("Another policy administrator can publish it.")).to_be_visible()
    [again] = [one for one in house.people["bob"].get("/policies") if one["note"] == f"back to version {own}"]
    assert again["state"] == "proposed"
    page = house.page("bob", f"/policies?version={again['version']}")
    expect(page.get_by_role("button", name="Publish")).to_have_attribute(
        "aria-description", "Somebody else must publish what you wrote."
    )


def test_an_author_withdraws_a_proposal(house: House) -> None:
    bob = house.people["bob"]
    number = propose(bob, bob.texts("/policies")[0] + "// to be taken back\n")
    page = house.page("bob", f"/policies?version={number}")
    page.get_by_role("button", name="Withdraw").click()
    expect(page.get_by_text("Nobody publishes it any more.")).to_be_visible()
    expect(page.get_by_role("button", name="Withdraw")).to_have_count(0)
    expect(page.get_by_role("button", name="Publish")).to_have_attribute(
        "aria-description", re.compile("was withdrawn")
    )


def propose(person: Caller, text: str) -> str:
    return str(person.call("POST", "/policies", {"text": text, "note": "by a test"})["version"])


def test_an_administrator_sees_what_a_person_may_and_what_acts_for_them_and_ends_it(house: House) -> None:
    invited = house.admin.call("POST", "/people/invitations", {"name": "dana", "roles": ["viewer"]})
    dana = house.admin.accept(invited["link"])
    dana.call("POST", "/tokens", {"name": "nightly", "scopes": ["transfer:read"]})
    page = house.page(ADMIN, "/people")
    page.get_by_role("link", name="dana").click()
    expect(page.get_by_role("heading", level=1, name="dana")).to_be_visible()
    page.get_by_label("Requester").check()
    page.get_by_role("button", name="Change the rights").click()
    expect(page.get_by_text("The rights of dana are changed.")).to_be_visible()
    assert dana.call("GET", "/me")["roles"] == ["requester", "viewer"]
    page.get_by_label("Issuer").fill("https://login.example.org")
    page.get_by_label("Id there").fill("d.ana")
    page.get_by_role("button", name="Link an identity").click()
    ended(page, "Identities elsewhere", "d.ana", "Unlink")
    expect(page.get_by_text("None: this person signs in here only.")).to_be_visible()
    again = house.admin.call("POST", "/sessions", {"name": "dana", "password": PASSWORD})
    page.reload()
    page.get_by_role("button", name="End all sessions").click()
    page.get_by_role("dialog").get_by_role("button", name="End", exact=True).click()
    expect(page.get_by_text("Signed in nowhere.")).to_be_visible()
    with pytest.raises(AssertionError, match="not_signed_in"):
        Caller(house.url, str(again["secret"])).call("GET", "/me")
    page.get_by_role("link", name="API tokens").click()
    ended(page, "Tokens of everybody else", "nightly", "Revoke")
    expect(page.get_by_role("row", name="nightly")).to_have_count(0)


def ended(page: Page, card: str, row: str, verb: str) -> None:
    """End what a row of a card shows."""
    found = page.get_by_role("region", name=card).get_by_role("row", name=row)
    found.get_by_role("button", name=verb, exact=True).click()
    page.get_by_role("dialog").get_by_role("button", name=verb, exact=True).click()
    expect(page.get_by_role("dialog")).to_have_count(0)


def test_what_a_group_gives_is_proposed_by_one_administrator_and_published_by_another(house: House) -> None:
    invited = house.admin.call("POST", "/people/invitations", {"name": "zoe", "roles": ["admin"]})
    zoe = house.admin.accept(invited["link"])
    binding = {"issuer": "https://login.example.org", "group": "staff", "roles": ["viewer"]}
    zoe.call("POST", "/group-bindings/proposals", {"bindings": [binding]})
    page = house.page(ADMIN, "/people")
    page.get_by_role("region", name="Proposed by zoe").get_by_role("button", name="Publish").click()
    page.get_by_role("dialog").get_by_role("button", name="Publish").click()
    expect(page.get_by_text("The groups give that now.")).to_be_visible()
    in_force = page.get_by_role("region", name="What groups give", exact=True)
    expect(in_force.get_by_role("row", name="staff")).to_contain_text("Viewer")
    form = page.get_by_role("region", name="Propose what a group gives")
    form.get_by_label("Issuer").fill("https://login.example.org")
    form.get_by_label("Its group").fill("stewards")
    form.get_by_label("Approver").check()
    form.get_by_role("button", name="Who would have which role").click()
    expect(form.get_by_text("The rights of 0 people would change.")).to_be_visible()
    form.get_by_role("button", name="Propose", exact=True).click()
    mine = page.get_by_role("region", name=f"Proposed by {ADMIN}")
    expect(mine.get_by_role("row", name="stewards")).to_be_visible()
    own = "You proposed this; another administrator publishes it."
    expect(mine.get_by_role("button", name="Publish")).to_have_attribute("aria-description", own)
