"""How far a request may reach into the network: a server in the internet cannot send us into our own."""

from __future__ import annotations

import ipaddress
import socket
from enum import IntEnum
from typing import Final, TypeAlias
from urllib.parse import urlsplit

from mcp_actors.auth.urls import is_loopback

__all__ = ["Reach", "reach_of_address", "reach_of_server"]

_Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address

#: RFC 6052: how a network without IPv4 names what is reached by it; DNS there gives it for every such name.
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")


class Reach(IntEnum):
    """Where an address lies. A server may name addresses of its own kind and of those before it."""

    INTERNET = 0
    PRIVATE = 1
    THIS_MACHINE = 2
    #: Never named by others: cloud metadata services, multicast, unspecified and reserved addresses.
    NOWHERE = 3


def reach_of_address(address: str) -> Reach:
    """The kind of one literal address."""
    ip = _meant(ipaddress.ip_address(address.partition("%")[0]))
    if ip.is_loopback:
        return Reach.THIS_MACHINE
    if ip.is_link_local or ip.is_multicast or ip.is_unspecified or ip.is_reserved:
        return Reach.NOWHERE
    return Reach.INTERNET if ip.is_global else Reach.PRIVATE


def _meant(ip: _Address) -> _Address:
    """The IPv4 address that one of IPv6 leads to, else the address itself."""
    if isinstance(ip, ipaddress.IPv4Address):
        return ip
    if ip in _NAT64:
        return ipaddress.IPv4Address(ip.packed[-4:])
    return ip.ipv4_mapped or ip.sixtofour or ip


def reach_of_server(url: str) -> Reach:
    """What the MCP server at ``url`` may make us ask. Resolves its name, so it may block as long as DNS does.

    A name counts as this machine only by its spelling: an answer of DNS is in the hands of who owns the name.
    """
    host = urlsplit(url).hostname or ""
    if is_loopback(host):
        return Reach.THIS_MACHINE
    try:
        found = socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError):
        # Behind a proxy names may not resolve here at all.
        return Reach.INTERNET
    kinds = {reach_of_address(str(entry[4][0])) for entry in found}
    return Reach.PRIVATE if kinds == {Reach.PRIVATE} else Reach.INTERNET
