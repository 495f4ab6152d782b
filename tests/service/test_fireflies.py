"""A node lets a collector know of its data connections, where its settings say so."""

import asyncio
import json
import socket

import pytest
from tests.servers.site import Site
from tests.service.test_transfers import small_set

SETTINGS = """
[data.fireflies]
collector = "{collector}"
experiment = 14
activity = 1

[data.fireflies.classes.background]
activity = 9
"""


@pytest.mark.anyio
async def test_a_collector_hears_of_a_transfer_by_the_numbers_of_its_class_and_nothing_before_it_is_set(
    site: Site,
) -> None:
    small_set(site)
    collector = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    with collector:
        collector.bind(("127.0.0.1", 0))
        collector.settimeout(0)
        await site.ada.end_of(await site.ada.submit(await site.ada.plan("lab:/set", "archive:/before")))

        await site.stop_node("left")
        settings = site.folder / "state" / "left" / "node.toml"
        host, port = collector.getsockname()
        settings.write_text(settings.read_text(encoding="utf-8") + SETTINGS.format(collector=f"{host}:{port}"))
        await site.start_node("left", [("lab", str(site.lab), "delete")])

        async def next_packet() -> dict[str, dict[str, object]]:
            packet = (await asyncio.get_running_loop().sock_recv(collector, 1500)).decode()
            assert packet.startswith("<134>1 ")
            found: dict[str, dict[str, object]] = json.loads(packet[packet.index("{") :])
            return found

        plan = await site.ada.plan("lab:/set", "archive:/after", priority="low")
        await site.ada.end_of(await site.ada.submit(plan))
        async with asyncio.timeout(30):
            first = await next_packet()
            assert (first["flow-lifecycle"]["state"], first["context"]["activity-id"]) == ("start", 9)
            assert first["context"]["experiment-id"] == 14
            while (await next_packet())["flow-lifecycle"]["state"] != "end":
                pass
