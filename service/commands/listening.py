"""The address that a server is to listen on, taken before anything is loaded."""

from __future__ import annotations

import errno
import socket

from pearl.errors import InputError


def take_address(host: str, port: int) -> socket.socket:
    """A socket bound to the address. Raises InputError when it is in use, or cannot be listened on."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        bound = socket.socket(family, kind, protocol)
    except OSError as error:
        raise _unusable(host, port, error) from error
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        bound.bind(address)
        bound.listen()  # two programs may both have bound it, but only one listens
    except OSError as error:
        bound.close()
        raise _unusable(host, port, error) from error
    bound.set_inheritable(True)  # for worker processes
    return bound


def url_of(bound: socket.socket) -> str:
    """The URL at which a program on this machine reaches it."""
    host, port = bound.getsockname()[:2]
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def _unusable(host: str, port: int, error: OSError) -> InputError:
    if error.errno == errno.EADDRINUSE:
        return InputError(
            f"Port {port} of {host} is in use by another program; stop that, or name another with --port.",
            param="port",
            code="port_in_use",
        )
    if error.errno == errno.EACCES:
        return InputError(f"Port {port} is for root alone; name one above 1023 with --port.", param="port")
    return InputError(f"Cannot listen on {host}:{port}: {error.strerror or error}; check --host.", param="host")
