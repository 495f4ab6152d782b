"""A process of its own that makes calls on a store to which others write meanwhile: a service without interfaces.

It says `ready`, reads one line (JSON: settings' values and calls, each the name of a call, a session's secret and its
arguments), makes the calls one after the other, and prints what came of each (an id, or the code of the refusal).
"""

import asyncio
import json
import sys
import tempfile
from pathlib import Path

from headrace.api.access.acting import Acting
from headrace.api.access.gate import Gate
from headrace.api.app.compose import compose
from headrace.api.caller import Door
from headrace.api.clock import steady, utc_now
from headrace.api.settings import Settings
from headrace.api.store import Database
from headrace.api.store.address import store_url
from headrace.client import HeadraceError
from headrace.client import models as m
from headrace.engine import Hub


def say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


async def answer(port: Acting, name: str, arguments: list[str]) -> str:
    try:
        match name, arguments:
            case "submit", [digest]:
                return (await port.submit(m.SubmitRequest(plan_digest=digest))).id
            case "approve", [plan, digest]:
                return (await port.approve_plan(plan, m.Approval(digest=digest, verdict="approved"))).id
            case "propose", [text]:
                return (await port.propose_policy(m.PolicyText(text=text))).version
            case _:
                raise ValueError(name)
    except HeadraceError as error:
        return error.problem.code


async def work(data: Path, database: str, calls: list[tuple[str, str, list[str]]]) -> list[str]:
    settings = Settings(data=data, database=database, consent_proof="session")
    store = Database(store_url(database, data))
    with tempfile.TemporaryDirectory() as folder:
        hub = await Hub.start(listen="127.0.0.1:0", state_dir=folder, max_nodes=1)
        use_cases = compose(settings, (utc_now, steady(utc_now)), store, hub, "http://127.0.0.1").use_cases
        await use_cases.policies.load()
        gate = Gate(use_cases, settings, "http://127.0.0.1")
        callers = {secret: await use_cases.people.of_session(secret) for _, secret, _ in calls}
        say("ready")
        sys.stdin.readline()
        said = [await answer(gate.acting_for(callers[secret], Door.CLI), name, rest) for name, secret, rest in calls]
        await hub.close()
        await store.close()
    return said


if __name__ == "__main__":
    asked = json.loads(sys.stdin.readline())
    say(json.dumps(asyncio.run(work(Path(asked["data"]), asked["database"], asked["calls"]))))
