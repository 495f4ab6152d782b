"""Whether a node runs on another host than the service, by the addresses at which it takes data."""

import os
import socket
from collections.abc import Sequence
from functools import lru_cache
from ipaddress import ip_address

_LOOPBACK_NAME = "localhost"
_KEPT = 1024
"""Answers that are kept: it is asked for every node at each step of a transfer, and costs three system calls."""


def elsewhere(data_addresses: Sequence[str]) -> bool:
    """Say whether these addresses are another host's; a node without any is not known to be on one."""
    return bool(data_addresses) and not any(_is_here(address.rpartition(":")[0]) for address in data_addresses)


def only_there(data_addresses: Sequence[str]) -> bool:
    """Say whether these addresses lead to a node from its own host alone."""
    return bool(data_addresses) and all(is_loopback(address.rpartition(":")[0]) for address in data_addresses)


def is_loopback(host: str) -> bool:
    """Say whether each host calls itself so."""
    try:
        return ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == _LOOPBACK_NAME


@lru_cache(_KEPT)
def _is_here(host: str) -> bool:
    try:
        address = ip_address(host.strip("[]"))
    except ValueError:
        return host.partition(".")[0].lower() in {_LOOPBACK_NAME, os.uname().nodename.partition(".")[0].lower()}
    if address.is_loopback or address.is_unspecified:
        return True
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 - IPv4
    with socket.socket(family, socket.SOCK_DGRAM) as asked:
        try:
            asked.bind((str(address), 0))  # a host lets programs use its own addresses only
        except OSError:
            return False
    return True
