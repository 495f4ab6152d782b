"""Tell the story: lay out data, start a service and two nodes, ask in words twice, break both kinds, prove the result.

Environment: `DEMO_SEED` (whole number; printed, default random), `DEMO_KEEP=1` (keep the folders).
The last line of standard output is one JSON object (README.md, "Two commands", says what it does).
"""

import argparse
import asyncio
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import unquote_to_bytes

from demo.data import TreeFacts, lay_out
from demo.doors import ask_over_mcp, follow
from demo.site import Site, open_site
from demo.stage import REPOSITORY, DemoError, Person, Stage, say

WORDS = "copy krios1:/run42 to archive:/2026/run42, keep timestamps and permissions, no faster than 3 Gb/s"
MCP_WORDS = "send the .rs and .toml files from krios1:/run42/rust to archive:/rust-sources"
REFUSED_WORDS = "move krios1:/run42 to archive:/moved and skip the approval"
UNCLEAR_WORDS = "copy last night's cryo-EM run from krios1 to the archive, finish before 6am"
NODE_BREAKS_AT = 0.4
SERVICE_BREAKS_AT = 0.6
INTERRUPTED = 130
"""What a program ends with that Ctrl-C has ended."""
B3SUM = REPOSITORY / ".tools" / "bin" / "b3sum"


def main() -> int:
    """Run the demo; 0 when every step did what it should."""
    parser = argparse.ArgumentParser(prog="make demo", description=__doc__)
    parser.add_argument("--stay", action="store_true", help="leave the service up and say what to try")
    arguments = parser.parse_args()
    seed = int(os.environ.get("DEMO_SEED") or secrets.randbelow(1 << 31))
    home = REPOSITORY / ".demo"
    home.mkdir(exist_ok=True)
    folder = Path(tempfile.mkdtemp(prefix="run-", dir=home))
    try:
        with Stage(folder) as stage:
            if arguments.stay:
                stay(stage, seed)
            else:
                say(json.dumps(tell(stage, seed), ensure_ascii=False))
    except KeyboardInterrupt:
        say("\nInterrupted.")
        shutil.rmtree(folder)
        return INTERRUPTED
    except DemoError as error:
        say(f"\nThe demo stopped: {error}\nIts folders are kept: {folder}")
        return 1
    if os.environ.get("DEMO_KEEP") == "1":
        say_after = f"Folders kept: {folder}"
        print(say_after, file=sys.stderr)  # noqa: T201 (the JSON line stays the last of standard output)
    else:
        shutil.rmtree(folder)
    return 0


def tell(stage: Stage, seed: int) -> Mapping[str, object]:
    """Every step in order; returns the facts of the last line."""
    facts = lay_out_data(stage.folder, seed)
    site = open_site(stage, stage.folder / "krios1", stage.folder / "archive")

    say("\n== 1. An assistant asks over MCP, in a person's words")
    token = str(
        site.ada.proven(
            "token",
            "create",
            "assistant",
            "--scope",
            "transfer:read",
            "--scope",
            "transfer:plan",
            "--scope",
            "transfer:run",
            "--agent",
            "demo-assistant",
        )["secret"]
    )
    asyncio.run(ask_over_mcp(site.ada, token, MCP_WORDS))

    say("\n== 2. A request that is refused, and one that is asked back")
    refused = refuse(site.ada)
    asked = ask_back(site.ada)

    say("\n== 3. A person asks for everything; half-way, the receiving node and then the service are killed (kill -9)")
    started = time.monotonic()
    transfer, resumed = ask_and_break(stage, site)
    seconds = time.monotonic() - started

    say("\n== 4. Proof, with independent tools")
    verified = prove(site, str(transfer["receipt"]), stage.folder)
    progress = transfer["progress"]
    if not isinstance(progress, dict):
        message = "the transfer has no progress"
        raise DemoError(message)
    moved = int(progress["bytes_durable"])
    say(
        f"\n{facts.files:,} files, {moved / 1e9:.2f} GB in {seconds:.1f} s, encrypted, verified at both ends; "
        f"node and service were killed once each, {int(progress['resent_bytes']) / 1e6:.1f} MB were sent again."
    )
    return {
        "source": transfer["source"],
        "destination": transfer["destination"],
        "receipt": transfer["receipt"],
        "seed": seed,
        "files": facts.files,
        "bytes": moved,
        "seconds": round(seconds, 3),
        "gbit_per_s": round(moved * 8 / seconds / 1e9, 3),
        "verified": verified,
        "resumed": resumed,
        "resent_bytes": progress["resent_bytes"],
        "refused": refused,
        "asked": asked,
    }


def lay_out_data(folder: Path, seed: int) -> TreeFacts:
    """Make the source tree and say what it is."""
    say(f"Headrace demo, seed {seed} (DEMO_SEED={seed} repeats it)\nLaying out data in {folder}")
    facts = lay_out(folder / "krios1" / "run42", seed)
    say(
        f"  {facts.files:,} files, {facts.size_bytes / 2**30:.2f} GiB, {facts.symlinks} symlinks: crate sources, "
        "Python's library, generated files from 0 B to 1 GiB, odd names, a sparse file"
    )
    return facts


def refuse(person: Person) -> str:
    """Ask for something nobody may have; returns the rule that refused it."""
    person.run("ask", REFUSED_WORDS, expect=(4,), show=True)
    answer = json.loads(person.run("ask", REFUSED_WORDS, "--json", expect=(4,)))
    return ", ".join(str(refusal["rule"]) for refusal in answer["refusals"])


def ask_back(person: Person) -> list[str]:
    """Ask for something that leaves questions open; returns the slots asked about."""
    person.run("ask", UNCLEAR_WORDS, expect=(3,), show=True)
    answer = json.loads(person.run("ask", UNCLEAR_WORDS, "--json", expect=(3,)))
    return sorted(str(question["slot"]) for question in answer["questions"])


def ask_and_break(stage: Stage, site: Site) -> tuple[Mapping[str, object], bool]:
    """Run the main sentence in one terminal while the receiving node, then the service, is killed and started again."""
    say(f'\nada $ headrace ask --yes "{WORDS}"')
    command = subprocess.Popen(
        [Path(sys.executable).parent / "headrace", "ask", "--yes", WORDS],
        env=site.ada.environment,
        stdin=subprocess.DEVNULL,
    )
    try:
        reached = follow(site.ada, NODE_BREAKS_AT)
        say(f"   [kill -9 of the receiving node at {reached:.0%} durable]")
        stage.kill("dtn-b")
        stage.node("dtn-b", "run")
        say("   [the node is back]")
        reached = follow(site.ada, SERVICE_BREAKS_AT)
        say(f"   [kill -9 of the service at {reached:.0%} durable]")
        stage.kill("service")
        stage.service()
        say("   [the service is back]")
        code = command.wait(300)
    finally:
        if command.poll() is None:
            command.kill()
    if code != 0:
        message = f"`headrace ask` ended with {code}"
        raise DemoError(message)
    transfers = site.ada.listed("status")
    newest = max(transfers, key=lambda transfer: str(transfer["created"]))
    transfer = site.ada.facts("status", str(newest["id"]))
    return transfer, int(str(transfer["attempt"])) > 1


def prove(site: Site, receipt: str, folder: Path) -> bool:
    """Compare both trees byte by byte and by hash, and check the receipt offline."""
    source, destination = site.source / "run42", site.destination / "2026" / "run42"
    _check("diff -r --no-dereference", ["diff", "-r", "--no-dereference", str(source), str(destination)])
    document, listing = folder / "receipt.json", folder / "files.jsonl"
    site.ada.run("receipts", "get", receipt, "--output", str(document))
    site.ada.run("receipts", "files", receipt, "--output", str(listing))
    signed = signed_hashes(listing)
    for side, tree in (("source", source), ("destination", destination)):
        same = b3sums(tree) == signed
        verdict = "equal" if same else "DIFFERENT"
        say(f"  b3sum of every file at the {side} against the list that the nodes signed: {verdict}")
        if not same:
            message = f"b3sum of {tree} does not give what {listing} says"
            raise DemoError(message)
    say(site.ada.run("receipt", "verify", str(document), "--list", str(listing), "--root", str(destination)).rstrip())
    say(site.admin.run("audit", "verify").rstrip())
    return True


def b3sums(tree: Path) -> dict[bytes, str]:
    """Hash every file of `tree` with the independent `b3sum`; names may be any bytes."""
    found = subprocess.run(["find", ".", "-type", "f", "-print0"], cwd=tree, stdout=subprocess.PIPE, check=True).stdout
    hashing = ["xargs", "-0", str(B3SUM), "--no-names", "--"]
    hashes = subprocess.run(hashing, cwd=tree, input=found, stdout=subprocess.PIPE, check=True).stdout
    names = (name.removeprefix(b"./") for name in found.split(b"\0") if name)
    return dict(zip(names, hashes.decode("ascii").split(), strict=True))


def signed_hashes(listing: Path) -> dict[bytes, str]:
    """Read the BLAKE3 of every file from a receipt's list."""
    hashes: dict[bytes, str] = {}
    with listing.open(encoding="utf-8") as lines:
        for line in map(json.loads, lines):
            if line["type"] == "file":
                hashes[b"/".join(map(unquote_to_bytes, line["path"]))] = line["blake3"]
    return hashes


def _check(what: str, command: list[str]) -> None:
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)
    say(f"  {what}: {'equal' if done.returncode == 0 else 'DIFFERENT'}")
    if done.returncode != 0:
        message = f"{what} found differences:\n{(done.stdout + done.stderr)[:2000]}"
        raise DemoError(message)


def stay(stage: Stage, seed: int) -> None:
    """Leave everything up until Ctrl-C."""
    lay_out_data(stage.folder, seed)
    site = open_site(stage, stage.folder / "krios1", stage.folder / "archive")
    say(
        f"\nThe service is up at {site.service}. In another terminal:\n"
        f"\n  export HEADRACE_SERVICE={site.service} HEADRACE_CONFIG={site.ada.config}"
        f'\n  {Path(sys.executable).parent}/headrace ask "{WORDS}"'
        f"\n\nThe console is at the same address: sign in as `{site.ada.name}` (asks) or `{site.admin.name}` (may do"
        f" everything), both with the password {site.ada.password}. Whoever confirms or approves types it once more."
        "\n\nCtrl-C ends it."
    )
    try:
        stage.processes["service"].wait()
    except KeyboardInterrupt:
        say("\nEnding.")


if __name__ == "__main__":
    sys.exit(main())
