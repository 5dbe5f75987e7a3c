"""Ports of this machine, and who can reach processes over a network; needs nothing but Python itself."""

from __future__ import annotations

import ipaddress
import socket
import sys
from contextlib import suppress
from os import getpid
from pathlib import Path


def descendants(pid: int) -> set[int]:
    """A process and all that it has started."""
    parents = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            parents[int(entry.name)] = int(fields[1])
    found = {pid}
    while more := {child for child, parent in parents.items() if parent in found} - found:
        found |= more
    return found


_NEVER_HANDED_OUT = range(12_000, 30_000)
"""Ports that systems give to nobody who does not ask for one by its number."""


def free_port() -> int:
    """A port for a server that listens later: nobody is given it meanwhile, and other processes here look elsewhere."""
    first = 16 * getpid()
    for port in (_NEVER_HANDED_OUT[(first + number) % len(_NEVER_HANDED_OUT)] for number in range(1000)):
        with socket.socket() as one, suppress(OSError):
            one.bind(("127.0.0.1", port))
            return port
    raise AssertionError


def listening(processes: set[int]) -> dict[int, str]:
    """Ports on which the processes accept connections over a network, and their addresses."""
    inodes = set()
    for pid in processes:
        with suppress(OSError):  # the process has ended meanwhile
            for one in Path(f"/proc/{pid}/fd").iterdir():
                with suppress(OSError):  # the file was closed meanwhile; others are still open
                    inodes.add(str(one.readlink()))
    found = {}
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            fields = line.split()
            if fields[3] == "0A" and f"socket:[{fields[9]}]" in inodes:
                address, _, port = fields[1].partition(":")
                packed = b"".join(
                    bytes.fromhex(address[i : i + 8])[:: -1 if sys.byteorder == "little" else 1]
                    for i in range(0, len(address), 8)
                )
                found[int(port, 16)] = str(ipaddress.ip_address(packed))
    return found
