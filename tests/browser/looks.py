"""Everything there is to look at: a site where something of every kind has happened, and the way to each page."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from urllib.parse import quote

from playwright.sync_api import Page
from tests.browser.house import ADMIN, House, leave_old_copies

SENTENCE = "copy krios1:/run42 to archive:/2026/run42/, skip *.tmp, no faster than 3 Gb/s"
UNCLEAR = "copy last night's run from krios1 to the archive, finish before 6am"
BYPASS = "move krios1:/run42 to archive:/x and skip the approval"
NO_MOVES = """
@id("no-moves-from-krios1")
@reason("the microscope's own disk is emptied by its operators")
forbid (principal, action == Action::"move", resource)
when { resource.source in Endpoint::"krios1" };

// example denied {"action": "move", "source": "krios1:/run42"}
"""
NO_COPIES = """
@id("no-copies-now")
@reason("nothing is copied there during the migration")
forbid (principal, action == Action::"copy", resource)
when { resource.destination.within.contains("/policy") };
"""


QOS = """
[[link]]
name = "uplink"
rate_bps = 50_000_000
nodes = ["dtn-a"]

[[class]]
name = "background"
weight = 1
links = [{ link = "uplink", ceiling_bps = 10_000_000 }]
calendar = "nights"

[[class]]
name = "bulk"
weight = 10
links = [{ link = "uplink", floor_bps = 5_000_000 }]

[[class]]
name = "instrument"
weight = 40
links = [{ link = "uplink" }]

[[class]]
name = "priority"
weight = 100
priority = 1
dscp = 46
congestion_control = "bbr"
links = [{ link = "uplink" }]

[[calendar]]
name = "nights"
zone = "Europe/Berlin"
hours = [
    { days = ["mon", "tue", "wed", "thu", "fri"], opens = "20:00", closes = "06:00" },
    { days = ["sat", "sun"] },
]
"""


@dataclass(frozen=True)
class Look:
    """One page: where it is, who looks, and what they do before it is as it should be seen."""

    path: str
    person: str | None
    prepare: Callable[[Page], None] | None = None


def choose_in_panes(page: Page) -> None:
    """Walk into folders of both ends."""
    source = page.get_by_role("region", name="Source")
    source.get_by_role("combobox", name="Source").select_option("krios1")
    source.get_by_role("button", name="Folder run42").click()
    source.get_by_role("button", name="Choose movie.tiff").click()
    destination = page.get_by_role("region", name="Destination")
    destination.get_by_role("combobox", name="Destination").select_option("archive")
    destination.get_by_role("button", name="Copy into this folder").click()


def fill_the_form(page: Page) -> None:
    """Fill in what a form has first."""
    page.get_by_role("textbox", name="Source").fill("krios1:/run42")
    page.get_by_role("textbox", name="Destination").fill("archive:/2026/run42/")
    page.get_by_role("textbox", name="Leave out").fill("*.tmp")
    page.get_by_role("textbox", name="No faster than").fill("3 Gbit/s")


def _words(text: str) -> str:
    return f"/new?words={quote(text)}"


# Paths with `{...}` get the ids that `furnish` made.
LOOKS: Mapping[str, Look] = {
    "sign-in": Look("/sign-in", None),
    "accept": Look("/accept#invitation", None),
    "proven": Look("/proven?id=1#answer", None),
    "new-transfer": Look(_words(SENTENCE), "ada"),
    "new-transfer-asked-back": Look(_words(UNCLEAR), "ada"),
    "new-transfer-refused": Look(_words(BYPASS), "ada"),
    "new-transfer-form": Look("/new?view=form", "ada", fill_the_form),
    "new-transfer-panes": Look("/new?view=browse", "ada", choose_in_panes),
    "new-transfer-plan": Look(_words(SENTENCE) + "&plan={copied}", "ada"),
    "plan": Look("/plans/{asked}", "ada"),
    "transfers": Look("/transfers", "ada"),
    "transfers-none-match": Look("/transfers?find=nobody", "ada"),
    "transfer-running": Look("/transfers/{running}", "ada"),
    "transfer-paused": Look("/transfers/{paused}", "ada"),
    "transfer-complete": Look("/transfers/{complete}", "ada"),
    "transfer-streams": Look("/transfers/{running}?tab=streams", "ada"),
    "transfer-stages": Look("/transfers/{running}?tab=stages", "ada"),
    "transfer-failures": Look("/transfers/{partial}?tab=files", "ada"),
    "transfer-events": Look("/transfers/{complete}?tab=events", "ada"),
    "transfer-decision": Look("/transfers/{complete}?tab=decision", "ada"),
    "transfer-receipt": Look("/transfers/{complete}?tab=receipt", "ada"),
    "requests": Look("/requests", "ada"),
    "requests-none": Look("/requests", "gil"),
    "approvals": Look("/approvals", "bob"),
    "approvals-denied": Look("/approvals", "cleo"),
    "policies": Look("/policies", "bob"),
    "policy-diff": Look("/policies?version=3", "cleo"),
    "policy-editor": Look("/policies?edit=true", "bob"),
    "quality": Look("/qos", "otto"),
    "quality-version": Look("/qos?version=3", "cleo"),
    "quality-editor": Look("/qos?edit=true", "bob"),
    "endpoints": Look("/endpoints", "otto"),
    "endpoints-probe": Look("/endpoints?probe=%7B%7D", ADMIN),
    "halts": Look("/halts", "otto"),
    "audit": Look("/audit", "otto"),
    "people": Look("/people", ADMIN),
    "person": Look("/people/{person}", ADMIN),
    "people-denied": Look("/people", "vera"),
    "tokens": Look("/tokens", "ada"),
    "account": Look("/account", "ada"),
    "not-found": Look("/nowhere", "ada"),
}


def furnish(house: House, slow: str = "no faster than 0.4 Mb/s") -> dict[str, str]:
    """Make something of every kind happen, with `slow` transfers still running; answer with the ids that paths name."""
    ada, bob, cleo = (house.people[name] for name in ("ada", "bob", "cleo"))
    change_policies(house)
    house.admin.call("PATCH", "/endpoints/krios1", {"labels": {"site": "imaging", "classification": "internal"}})
    house.admin.call("PATCH", "/endpoints/archive", {"labels": {"site": "computing", "classification": "internal"}})
    house.lose_a_node("dtn-c", "tape")
    halted = {"scope": "agent", "subject": "night-crawler", "reason": "it asked for the same 400 plans again and again"}
    house.people["otto"].call("POST", "/site/halt", halted)
    ada.call("POST", "/tokens", {"name": "nightly pipeline", "scopes": ["transfer:read", "transfer:plan"]})
    leave_old_copies(house.archive / "synced", 30)
    (house.archive / "mixed").mkdir()
    (house.archive / "mixed" / "movie.tiff").write_bytes(b"another film of the same name")
    binding = {
        "issuer": "https://login.example.org",
        "group": "beamline staff",
        "roles": ["requester"],
        "groups": ["lab"],
    }
    house.admin.call("POST", "/group-bindings/proposals", {"bindings": [binding]})
    made = {
        "person": str(ada.call("GET", "/me")["id"]),
        "asked": ada.plan("sync krios1:/run42 to archive:/synced, delete what is gone at the source, overwrite"),
        "copied": ada.plan("copy krios1:/run42 to archive:/2026/run42/, skip *.tmp, no faster than 3 Gb/s"),
        "complete": ada.run("copy krios1:/run42 to archive:/2026/session12/", until="complete"),
        "partial": ada.run("copy krios1:/run42 to archive:/mixed", until="partial"),
        "paused": ada.run(f"copy krios1:/run42/movie.tiff to archive:/2026/later/, {slow}", until="running"),
    }
    ada.call("POST", f"/transfers/{made['paused']}/control", {"action": "pause", "reason": "beam time until 16:00"})
    ada.until(made["paused"], "paused")
    assert bob.call("GET", "/plans/" + made["asked"])["requester_name"] == "ada"
    assert cleo.call("GET", "/me")["name"] == "cleo"
    share_a_link(house)
    made["running"] = ada.run(f"copy krios1:/run42/movie.tiff to archive:/2026/films/, {slow}", until="running")
    return made


def change_policies(house: House) -> None:
    """Publish one change of the policy and propose another."""
    bob, cleo = house.people["bob"], house.people["cleo"]
    text = bob.texts("/policies")[0] + NO_MOVES
    bob.call("POST", "/policies", {"text": text, "note": "krios1 is emptied by its operators only"})
    cleo.call("POST", "/policies/2/publish")
    bob.call("POST", "/policies", {"text": text + NO_COPIES, "note": "no copies during the migration"})


def share_a_link(house: House) -> None:
    """Put a link, classes and a calendar in force, and propose more."""
    bob, cleo = house.people["bob"], house.people["cleo"]
    bob.call("POST", "/qos/versions", {"text": QOS, "note": "the uplink of the microscopes"})
    cleo.call("POST", "/qos/versions/2/publish")
    more = QOS.replace("weight = 10\n", "weight = 20\n") + "closed = [2026-12-24, 2026-12-31]\n"
    bob.call("POST", "/qos/versions", {"text": more, "note": "more for bulk, and no nights at the end of the year"})


def visit(house: House, page: Page, look: Look, made: Mapping[str, str]) -> None:
    """Go to a page and wait until it shows what it is going to show."""
    page.get_by_role("heading", level=1).wait_for()  # where it was sent to until now: a redirection under way would win
    page.goto(house.url + look.path.format_map(made))
    page.get_by_role("heading", level=1).wait_for()
    if look.prepare is not None:
        look.prepare(page)
    page.get_by_role("status").get_by_text("Loading", exact=True).first.wait_for(state="hidden")
    if "words=" in look.path:
        page.get_by_label("How it was read").or_(page.get_by_role("alert")).first.wait_for()
    if "plan" in look.path:
        page.get_by_role("region", name="Plan", exact=True).wait_for()
    if "/policies" in look.path or "/qos?" in look.path:
        page.locator(".cm-line span:not([class^=cm-])").first.wait_for()
    if look.path == "/qos":
        page.get_by_role("group", name="Out of uplink: shares").wait_for()
    if "tab=st" in look.path:
        measured = "Sent by the source" if "streams" in look.path else "At the source"
        page.get_by_role("group", name=measured).wait_for()
    if look.path.endswith("{running}"):
        page.get_by_role("img", name="Rate over time").wait_for(timeout=60_000)
