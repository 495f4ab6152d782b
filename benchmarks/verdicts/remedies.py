"""Do what a verdict advises, literally where it gives commands."""

import re
from dataclasses import replace

from benchmarks.verdicts.hosts import run
from benchmarks.verdicts.house import DESTINATION, PACKED, SOURCE, House, sysctls_of
from benchmarks.verdicts.plants import Plant
from headrace.client import models as m

_SIDES = {"destination": DESTINATION, "source": SOURCE, "network": SOURCE}


async def followed(house: House, plant: Plant, said: m.Diagnosis) -> Plant | None:
    """Change the hosts as the remedy says; return what is planted then, `None` where there is nothing to do."""
    limit = m.Limit
    if said.limit is limit.SOCKET_MEMORY:
        # Never a setting of the whole machine.
        return _more_for_sockets(house, plant, said.remedy)
    if commands := sysctls_of(said.remedy):
        # The kernel here has no `fq`, so that only the settings of a remedy can be made.
        for command in commands:
            run(*house.hosts[_SIDES[said.where]].inside, *command)
        return plant
    ways = {
        limit.SOURCE_STORAGE: lambda: _faster(house, plant, "source"),
        limit.DESTINATION_STORAGE: lambda: _faster(house, plant, "destination"),
        limit.SOURCE_CPU: lambda: _more_cpus(house, plant, SOURCE),
        limit.DESTINATION_CPU: lambda: _more_cpus(house, plant, DESTINATION),
        limit.CEILING: lambda: replace(plant, ceiling_bps=0),
        limit.FILE_COST: lambda: replace(plant, folder=PACKED),
    }
    if said.limit is limit.FEW_STREAMS:
        more = replace(plant, streams=0)
        await house.place(more, house.hosts)
        return more
    way = ways.get(said.limit)
    return way() if way else None


def _faster(house: House, plant: Plant, side: str) -> Plant:
    if side == "source":
        house.disks[SOURCE].limit("read", 0)
        return replace(plant, read_bytes_s=0)
    house.disks[DESTINATION].limit("write", 0)
    return replace(plant, write_bytes_s=0)


def _more_cpus(house: House, plant: Plant, node: str) -> Plant:
    house.groups[node].cpus(0)
    return plant


def _more_for_sockets(house: House, plant: Plant, remedy: list[str]) -> Plant:
    """Give sockets as much as the remedy says, in the setting that it names."""
    named = r"`memory\.kmem\.tcp\.limit_in_bytes` of the node's control group be (\d+) bytes"
    size = next(int(found[1]) for line in remedy if (found := re.search(named, line)))
    house.groups[DESTINATION].sockets(size)
    return replace(plant, destination_socket_bytes=size)
