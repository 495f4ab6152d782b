"""`headrace doctor`: what of a host keeps transfers from being fast, and the exact settings that mend it."""

import shlex
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.text import Text

from headrace.cli import completion
from headrace.cli.command import Command, Json, Out, run
from headrace.cli.doctor.findings import Finding, Weight
from headrace.cli.doctor.host import Host, Unread
from headrace.cli.doctor.host import Path as NetworkPath
from headrace.cli.doctor.read import Connection, Reader, address_of, with_path_mtu
from headrace.cli.doctor.rules import examined
from headrace.cli.doctor.sight import Here, Told
from headrace.cli.doctor.storage import tried
from headrace.cli.exits import Exit
from headrace.cli.quantities import as_flag, rate_bps
from headrace.client.text import bit_rate, byte_size, plural, visible

_STYLES: Final = {Weight.FAULT: "red", Weight.ADVICE: "yellow"}
_MOST_FOLDERS: Final = 32
_NO_PATH: Final = (
    "No network path is known, so nothing that depends on one was judged: give --rate and --rtt, or --to HOST while a "
    "connection to it is open."
)


def doctor(  # noqa: PLR0913 - flags
    folders: Annotated[
        list[Path] | None,
        typer.Argument(help="Folders that data comes from or goes to; of a node, its roots.", show_default=False),
    ] = None,
    *,
    node: Annotated[
        str | None,
        typer.Option(metavar="NODE", help="Judge the host of a node of the service.", autocompletion=completion.nodes),
    ] = None,
    to: Annotated[str | None, typer.Option(metavar="HOST", help="The host at the other end of the path.")] = None,
    rate: Annotated[
        int | None, typer.Option(parser=as_flag(rate_bps), metavar="RATE", help="What the path carries: 10Gb/s.")
    ] = None,
    rtt_ms: Annotated[
        float | None, typer.Option("--rtt", min=0.01, max=10_000, metavar="MS", help="Its round trip in milliseconds.")
    ] = None,
    streams: Annotated[int, typer.Option(min=1, max=64, help="Streams of one transfer.")] = 4,
    probe: Annotated[
        bool, typer.Option("--probe", help="Also try the folders' storage: writes up to 256 MiB, and removes it.")
    ] = False,
    json: Json = False,
) -> None:
    """Judge this host, or a node's, for fast transfers and print exact settings.

    It changes nothing, and ends with 1 on a fault.
    """
    if len(folders or ()) > _MOST_FOLDERS:
        message = f"at most {_MOST_FOLDERS} folders"
        raise typer.BadParameter(message)
    for folder in folders or () if node is None else ():
        if not folder.is_dir():
            named = visible(str(folder))
            # A word of one part may be the name of a node.
            other = f"; for a node: `headrace doctor --node {shlex.quote(named)}`" if folder.name == str(folder) else ""
            message = f"`{named}` is not a folder here{other}"
            raise typer.BadParameter(message)
    if node is not None and probe:
        message = "--probe tries the storage of this host; run `headrace doctor --probe FOLDER` on the node's host"
        raise typer.BadParameter(message)
    address = _address(to)
    given = (rate, rtt_ms)

    def judged(out: Out, reader: Reader, looked_at: list[Path]) -> Exit:
        connections = reader.connections(address)
        host = with_path_mtu(reader.host(looked_at, address), connections)
        if probe:
            host = _probed(host)
        return _tell(out, host, _path(host, connections, given, streams))

    def work(command: Command) -> Exit:
        told = command.wait(command.headrace.node_host(node or "", to=address))
        return judged(command.out, Reader(Told(told)), folders or [Path(root.name) for root in told.roots])

    if node is not None:
        run(work, as_json=json)
    raise typer.Exit(judged(Out(as_json=json), Reader(Here()), folders or []))


def _address(to: str | None) -> str | None:
    if to is None:
        return None
    try:
        return address_of(to)
    except OSError as error:
        message = f"`{visible(to)}` has no address: {error.strerror}"
        raise typer.BadParameter(message) from error


def _tell(out: Out, host: Host, path: NetworkPath | None) -> Exit:
    """Say what was found; the end is a failure on a fault."""
    found = examined(host, path)
    out.document(
        {
            "path": asdict(path) | {"bdp_bytes": path.bdp} if path else None,
            "findings": [asdict(one) for one in found],
            "host": asdict(host),
        }
    )
    if not out.as_json:
        _show(out, host, path, found)
    return Exit.FAILED if any(one.weight is Weight.FAULT for one in found) else Exit.DONE


def _path(
    host: Host, connections: list[Connection], given: tuple[int | None, float | None], streams: int
) -> NetworkPath | None:
    """Return the path to judge for: as given, else the longest one in use at the speed of its link."""
    longest = max(connections, key=lambda one: one.rtt_ms, default=None)
    rate = given[0] or (host.interface.speed_bps if host.interface else None)
    rtt = given[1] or (longest.rtt_ms if longest else None)
    if rate is None or rtt is None:
        return None
    origin = ", ".join(
        (
            "rate as given" if given[0] else f"rate of {host.interface.name if host.interface else ''}",
            "round trip as given" if given[1] or longest is None else f"shortest round trip to {longest.peer}",
        )
    )
    return NetworkPath(rate, max(rtt, 0.01), streams, origin)


def _probed(host: Host) -> Host:
    folders, unread = [], list(host.unread)
    for one in host.folders:
        try:
            folders.append(tried(one))
        except OSError as error:
            folders.append(one)
            unread.append(Unread(what=f"trial of {one.path}", why=error.strerror or str(error)))
    return replace(host, folders=tuple(folders), unread=tuple(unread))


def _show(out: Out, host: Host, path: NetworkPath | None, found: list[Finding]) -> None:
    if path is None:
        out.note(_NO_PATH, "yellow")
    else:
        out.say(
            f"Judged for {bit_rate(path.rate_bps)} over {path.rtt_ms:g} ms ({path.origin}), "
            f"{plural(path.streams, 'stream')}: {byte_size(path.bdp)} under way."
        )
    for one in found:
        out.show(Text())
        out.show(Text(f"{one.weight}: {visible(one.about)}: {visible(one.found)}", style=_STYLES[one.weight]))
        out.say(f"  {one.why}.")
        for line in one.remedy:
            out.say(f"    {line}")
    for folder in host.folders:
        if folder.probe is not None:
            read = f", read {bit_rate(int(folder.probe.read_bytes_s * 8))}" if folder.probe.read_bytes_s else ""
            rate = bit_rate(int(folder.probe.write_bytes_s * 8))
            out.show(Text())
            out.say(f"{folder.path}: written {rate}{read}, {folder.probe.files_s:.0f} small files a second.")
    for missing in host.unread:
        out.note(f"not known: {missing.what} ({missing.why})")
    faults = sum(one.weight is Weight.FAULT for one in found)
    out.show(Text())
    # What nobody looked at is no good news.
    left_out = [f"{len(host.unread)} not known"] if host.unread else []
    left_out += [] if path else ["no network path judged"]
    left_out += [] if host.folders else ["no folder looked at (name some)"]
    counted = ", ".join([f"{plural(faults, 'fault')}", f"{len(found) - faults} to be improved", *left_out])
    out.say(f"{counted}. Nothing was changed.")
