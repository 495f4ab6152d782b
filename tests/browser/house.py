"""A running site for browsers: the real service, two real nodes, data, people, and the headless Chromium of Debian."""

import json
import shutil
import socket
import sqlite3
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path
from types import MappingProxyType
from typing import Any

from demo.stage import Stage
from playwright.sync_api import Browser, BrowserContext, ConsoleMessage, Page, Request, Response, sync_playwright
from tests.servers import forked
from tests.servers.proxy import Proxy, open_proxy

PASSWORD = "seven gates hold the water"  # noqa: S105 - of people who live as long as a test
PROOF = {"password": PASSWORD}
FLAGS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
PEOPLE = {
    "ada": ("requester",),
    "bob": ("approver", "policy_admin"),
    "cleo": ("policy_admin",),
    "vera": ("viewer",),
    "otto": ("operator", "auditor"),
    "gil": ("requester", "approver"),
}
ADMIN = "root-admin"
NODES = ("dtn-a", "dtn-b")
WIDE = (1280, 800)
NARROW = (390, 844)
ATTACH_LIMIT_S = 30
STEP_LIMIT_S = 60
STEP_LIMIT_MS = 30_000
NO_SETTINGS: Mapping[str, str] = MappingProxyType({})
SESSIONS_SUFFICE: Mapping[str, str] = MappingProxyType({"consent_proof": "session"})
"""For tests that are not about what consent takes."""


@dataclass(frozen=True)
class Caller:
    """Somebody who calls the service without a browser."""

    url: str
    secret: str

    def call(self, method: str, path: str, body: object = None) -> dict[str, object]:
        """Call the API and return its object."""
        found: dict[str, object] = self._answer(self._request(method, path, body))
        return found

    def get(self, path: str) -> list[dict[str, object]]:
        """Call the API and return its list."""
        found: list[dict[str, object]] = self._answer(self._request("GET", path))["items"]
        return found

    def _answer(self, request: urllib.request.Request) -> Any:  # noqa: ANN401 - its callers say what comes
        try:
            with urllib.request.urlopen(request, timeout=STEP_LIMIT_S) as answer:  # noqa: S310
                return json.load(answer)
        except urllib.error.HTTPError as error:
            message = f"{request.method} {request.selector}: {error.read().decode()}"
            raise AssertionError(message) from error

    def _request(self, method: str, path: str, body: object = None) -> urllib.request.Request:
        return urllib.request.Request(  # noqa: S310 - the service under test
            f"{self.url}/api/v1{path}",
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"content-type": "application/json", "authorization": f"Bearer {self.secret}"},
        )

    def texts(self, path: str) -> list[str]:
        """The texts of a list of things, such as of policies."""
        return [str(one["text"]) for one in self.get(path)]

    def plan(self, words: str) -> str:
        """Have words planned, wait until that is done, and answer with the plan's id."""
        plan = self.call("POST", "/plans", {"words": words})
        ready = self.call("GET", f"/plans/{plan['id']}?wait_s=30")
        assert ready["state"] == "ready", ready["summary"]
        return str(ready["id"])

    def run(self, words: str, *, until: str) -> str:
        """Plan, start, wait for a state of the transfer, and answer with its id."""
        plan = self.call("GET", f"/plans/{self.plan(words)}")
        transfer = self.call("POST", "/transfers", {"plan_digest": plan["digest"]})
        self.until(str(transfer["id"]), until)
        return str(transfer["id"])

    def until(self, transfer: str, state: str) -> None:
        """Follow a transfer until it is in a state."""
        request = self._request("GET", f"/transfers/{transfer}/watch")
        with urllib.request.urlopen(request, timeout=STEP_LIMIT_S) as events:  # noqa: S310
            for line in events:
                if line.startswith(b"data:") and f'"state":"{state}"'.encode() in line.replace(b": ", b":"):
                    return
        message = f"the transfer never was {state}"
        raise TimeoutError(message)

    def invite(self, name: str, *roles: str) -> "Caller":
        """Invite somebody, and answer as that person."""
        invited = self.call("POST", "/people/invitations", {"name": name, "roles": roles} | PROOF)
        return self.accept(invited["link"])

    def accept(self, link: object, name: str | None = None) -> "Caller":
        """Take up an invitation and answer as that person."""
        body = {"token": str(link).partition("#")[2], "password": PASSWORD, "name": name}
        session = self.call("POST", "/invitations/accept", body)
        return Caller(self.url, str(session["secret"]))


@dataclass
class House:
    """The site under test, behind a proxy. What browsers complain about is collected in `complaints`."""

    stage: Stage
    proxy: Proxy
    url: str
    browser: Browser
    admin: "Caller"
    people: dict[str, "Caller"]
    complaints: list[str] = field(default_factory=list)
    away: bool = False
    """The service is killed."""
    settings: Mapping[str, str] = field(default_factory=dict)
    friends: tuple[str, ...] = ()
    """Other servers to which a browser is led."""
    _states: dict[str, Path] = field(default_factory=dict)

    @property
    def source(self) -> Path:
        return self.stage.folder / "krios1"

    @property
    def archive(self) -> Path:
        return self.stage.folder / "archive"

    def start_nodes(self) -> None:
        """Let both nodes join and wait until they are attached."""
        for name, root in zip(NODES, (self.source, self.archive), strict=True):
            self._join(name, root)
        self.until_nodes_are_attached()

    def until_nodes_are_attached(self) -> None:
        """Wait for the nodes that were started."""
        limit, started = time.monotonic() + ATTACH_LIMIT_S, sum(name in self.stage.processes for name in NODES)
        while self.admin.call("GET", "/health")["nodes_attached"] != started:
            if time.monotonic() > limit:
                message = "the nodes did not attach"
                raise TimeoutError(message)

    def kill_the_service(self) -> None:
        """`kill -9` it; the proxy answers 502 from now on."""
        self.away = True
        self.stage.kill("service")

    def bring_the_service_back(self) -> None:
        """Start it again where it was, with what it had stored, and wait for its nodes."""
        self.stage.service(public_url=self.proxy.url, **self.settings)
        self.away = False
        self.until_nodes_are_attached()

    def bind(self, *bindings: Mapping[str, object]) -> None:
        """Let groups of issuers give this, which takes two administrators."""
        proposed: Any = self.admin.call("POST", "/group-bindings/proposals", {"bindings": bindings})
        path = f"/group-bindings/proposals/{proposed['proposed']['id']}/publish"
        self.admin.invite("second-admin", "admin").call("POST", path, PROOF)

    def end_sessions(self, name: str) -> None:
        """Delete the rows of somebody's sessions, as an administrator's clean-up or their expiry would."""
        me = self.people[name].call("GET", "/me")["id"]
        with self.store() as store:
            store.execute("delete from sessions where person = ?", (me,))
        self._states.pop(name, None)

    @contextmanager
    def store(self) -> Iterator[sqlite3.Connection]:
        """Change the service's own database while it runs, as time or an operator's repair would."""
        path = self.stage.folder / "service" / "headrace.sqlite"
        with closing(sqlite3.connect(path, timeout=STEP_LIMIT_S)) as store:
            store.row_factory = sqlite3.Row
            yield store
            store.commit()

    def multiply(self, transfer: str, count: int) -> None:
        """Have as many more transfers like this one, with plans of their own."""
        with self.store() as store:
            (plan,) = store.execute("select plan from transfers where id = ?", (transfer,)).fetchone()
            for number in range(count):
                own = {
                    "plans": {"id": f"pl_{number:032x}", "digest": f"{number:064x}"},
                    "transfers": {
                        "id": f"tr_{number:032x}",
                        "plan": f"pl_{number:032x}",
                        "plan_digest": f"{number:064x}",
                    },
                }
                for table, old in (("plans", plan), ("transfers", transfer)):
                    row = dict(store.execute(f"select * from {table} where id = ?", (old,)).fetchone())  # noqa: S608
                    row |= own[table]
                    marks = ", ".join("?" * len(row))
                    store.execute(f"insert into {table} ({', '.join(row)}) values ({marks})", list(row.values()))  # noqa: S608

    def crowd(self, names: Sequence[str]) -> None:
        """Have more endpoints, of roots that the first node has not."""
        with self.store() as store:
            old = dict(store.execute("select * from endpoints order by created limit 1").fetchone())
            for number, name in enumerate(names):
                row = old | {
                    "pk": f"ep_{number:032x}",
                    "root": name,
                    "name_key": name,
                    "searched": f"{name}\n{name}\ndtn-a",
                }
                marks = ", ".join("?" * len(row))
                store.execute(f"insert into endpoints ({', '.join(row)}) values ({marks})", list(row.values()))  # noqa: S608
                named = (name, name, row["pk"])
                store.execute("insert into endpoint_names (name_key, name, endpoint, main) values (?, ?, ?, 1)", named)

    def lose_a_node(self, name: str, root: str) -> None:
        """Let one more node join, and kill it."""
        self._join(name, self.stage.folder / root)
        self.stage.kill(name)

    def _join(self, name: str, root: Path) -> None:
        root.mkdir(exist_ok=True)
        token = self.admin.call("POST", "/nodes/join-tokens", {"name": name} | PROOF)["token"]
        self.stage.node(name, "join", str(token), "--name", name, "--root", f"{root.name}={root}:delete")

    def page(self, name: str | None, path: str = "/", *, theme: str = "light", size: tuple[int, int] = WIDE) -> Page:
        """Open `path` in a browser of its own, signed in as `name`; close its context when done."""
        context = self._context(theme, size, self._states.get(name) if name else None)
        context.set_default_timeout(STEP_LIMIT_MS)
        page = context.new_page()
        self._listen(page)
        if name is not None and name not in self._states:
            self._sign_in(page, name)
        page.goto(self.url + path)
        return page

    def _context(self, theme: str, size: tuple[int, int], state: Path | None) -> BrowserContext:
        return self.browser.new_context(
            color_scheme="dark" if theme == "dark" else "light",
            viewport={"width": size[0], "height": size[1]},
            storage_state=state,
            # What a person with a browser of their own gives by a click.
            permissions=["clipboard-write"],
        )

    def _sign_in(self, page: Page, name: str) -> None:
        page.goto(self.url + "/sign-in")
        page.get_by_label("Name").fill(name)
        page.get_by_label("Password", exact=True).fill(PASSWORD)
        page.get_by_role("button", name="Sign in").click()
        page.get_by_role("heading", name="Transfers").wait_for()
        state = self.stage.folder / f"{name}.browser.json"
        page.context.storage_state(path=state)
        self._states[name] = state

    def _listen(self, page: Page) -> None:
        def console(message: ConsoleMessage) -> None:
            # A status that a test provokes (a wrong password) is no fault of the page.
            if message.type in {"error", "warning"} and not message.text.startswith("Failed to load resource"):
                self.complaints.append(f"{page.url}: {message.text}")

        def request(seen: Request) -> None:
            if not seen.url.startswith((self.url, "data:", "blob:", *self.friends)):
                self.complaints.append(f"{page.url} asks a third party: {seen.url}")

        def response(seen: Response) -> None:
            # What the service refuses is told on the page; what it fails at, and files that are not there, are faults.
            # What the proxy says for a killed service is none.
            missing = seen.status >= HTTPStatus.BAD_REQUEST and "/api/" not in seen.url
            by_proxy = seen.status == HTTPStatus.BAD_GATEWAY and seen.headers.get("content-type") == "text/html"
            # Who goes to a page that there is not is shown so, and the page itself is answered as not found.
            nowhere = seen.status == HTTPStatus.NOT_FOUND and seen.request.is_navigation_request()
            if (seen.status >= HTTPStatus.INTERNAL_SERVER_ERROR or missing) and not (by_proxy or nowhere):
                self.complaints.append(f"{page.url}: {seen.status} for {seen.url}")

        page.on("response", response)
        page.on("console", console)
        page.on("pageerror", lambda error: self.complaints.append(f"{page.url}: {error}"))
        page.on("request", request)


@contextmanager
def open_house(folder: Path, *, nodes: bool = True, settings: Mapping[str, str] = NO_SETTINGS) -> Iterator[House]:
    """Start everything, with settings of the service by name; ends all of it by process id."""
    executable = shutil.which("chromium-headless-shell") or "chromium-headless-shell"
    with open_proxy() as proxy, Stage(folder, spawn=forked.start) as stage, sync_playwright() as playwright:
        stage.addresses = free_address(), stage.addresses[1]
        ready = stage.service(public_url=proxy.url, **settings)
        proxy.pass_to(stage.addresses[0])
        url = proxy.url
        link = Path(str(ready["bootstrap_file"])).read_text(encoding="utf-8").strip()
        nobody = Caller(url, "")
        admin = nobody.accept(link, ADMIN)
        people = {name: admin.invite(name, *roles) for name, roles in PEOPLE.items()}
        browser = playwright.chromium.launch(executable_path=executable, args=list(FLAGS))
        house = House(stage, proxy, url, browser, admin, people, settings=settings)
        lay_out(house.source)
        if nodes:
            house.start_nodes()
        try:
            yield house
        finally:
            browser.close()


def free_address() -> str:
    """Return a loopback address with a port that nobody has now."""
    with socket.create_server(("127.0.0.1", 0)) as found:
        host, port = found.getsockname()
    return f"{host}:{port}"


def prove(page: Page, button: str) -> None:
    """Type the password that the page asks for, now that `button` was pressed, and press it again."""
    asked = page.get_by_role("main")
    asked.get_by_label("Your password, for this and nothing else").fill(PASSWORD)
    asked.get_by_role("button", name=button, exact=True).click()


def lay_out(source: Path) -> None:
    """A small run with names that are not easy, and one file that is worth watching."""
    frames = source / "run42" / "frames"
    frames.mkdir(parents=True)
    for number in range(60):
        (frames / f"frame-{number:03}.mrc").write_bytes(bytes([number]) * 10_000)
    (frames / "turn\u202earound.mrc").write_bytes(b"name that turns around")
    (frames / "<img src=x onerror=alert(1)>").write_bytes(b"name that looks like markup")
    Path(str(frames).encode().decode() + "/not-utf8-\udcff.mrc").write_bytes(b"name that is not text")
    (source / "run42" / "movie.tiff").write_bytes(bytes(range(256)) * 4096 * 24)


def leave_old_copies(folder: Path, count: int) -> None:
    """Put files into a destination that its source does not have."""
    folder.mkdir(parents=True)
    for number in range(count):
        (folder / f"old-{number:02}.mrc").write_bytes(b"old")
