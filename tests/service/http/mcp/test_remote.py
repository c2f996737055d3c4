"""Remote connectors: the protocol's own client finds our issuer, registers, signs on and calls."""

from __future__ import annotations

import asyncio
import socket
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx2
import pytest
from mcp import Client
from mcp.client.auth import OAuthClientProvider
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import AuthorizationCodeResult, OAuthClientInformationFull, OAuthClientMetadata, OAuthToken

from tests.issuer import issuer


class Memory:
    """Keeps the client's tokens."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


@pytest.mark.parametrize("mode", ["auto", "legacy"])
@pytest.mark.parametrize("algorithm", ["RS256", "ES256"])
def test_the_protocols_own_client_signs_on(listen: Any, tmp_path: Any, mode: Any, algorithm: str) -> None:
    led: list[str] = []

    async def open_browser(address: str) -> None:
        led.append(httpx2.get(address).headers["location"])

    async def come_back() -> AuthorizationCodeResult:
        given = {name: values[0] for name, values in parse_qs(urlsplit(led[-1]).query).items()}
        return AuthorizationCodeResult(code=given["code"], state=given["state"], iss=given["iss"])

    async def walk(address: str, memory: Memory) -> None:
        provider = OAuthClientProvider(
            f"{address}/mcp",
            OAuthClientMetadata(redirect_uris=["http://localhost:9/back"], client_name="A connector"),  # type: ignore[list-item]
            memory,
            open_browser,
            come_back,
        )
        async with (
            httpx2.AsyncClient(auth=provider, timeout=60) as http,
            Client(streamable_http_client(f"{address}/mcp", http_client=http), mode=mode) as client,
        ):
            assert len((await client.list_tools()).tools) == 4
            draft = await client.call_tool("draft", {"request": "swap"})
            assert draft.structured_content["text"] == "A fake reply."

    with issuer() as theirs, socket.socket() as free:
        theirs.rotate("key", algorithm)
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        file = tmp_path.parent / f"{tmp_path.name}.toml"
        file.write_text(
            f'address = "http://127.0.0.1:{port}"\nnew_users = true\n'
            f'[[issuers]]\nissuer = "{theirs.address}"\nuser_claim = "email"\n'
        )
        served, memory = listen(sign_on=str(file), port=port), Memory()
        asyncio.run(walk(served.address, memory))
        assert "/register" in theirs.asked
        assert [row[2] for row in served.house.rows("users")] == ["ada@example.org"]
        asyncio.run(walk(served.address, memory))
        assert len(led) == 1  # the token is kept
