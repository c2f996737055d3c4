"""A real redis-server (Debian: redis-server) as an ordinary process on a free port."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from contextlib import suppress

import pytest


class RealRedis:
    """A server that keeps nothing; it can be stopped, started again on its port, and frozen by signals."""

    def __init__(self) -> None:
        program = shutil.which("redis-server")
        if program is None:
            pytest.skip("no redis-server on this machine: apt-get install redis-server")
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"redis://127.0.0.1:{self.port}"
        self._command = [program, "--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no"]
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self._command, stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 120
        while time.monotonic() < deadline:
            with suppress(OSError), socket.create_connection(("127.0.0.1", self.port), 1):
                return
            time.sleep(0.01)
        raise TimeoutError("redis-server did not start")

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()
