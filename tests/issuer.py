"""An issuer of tokens of our own: a real HTTP server with real keys, which lets everybody in as `user`."""

from __future__ import annotations

import base64
import json
import secrets
import ssl
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, unquote, urlencode, urlsplit

import jwt
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec, rsa
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

MAKERS = {
    "RS256": lambda: rsa.generate_private_key(65537, 2048),
    "ES256": lambda: ec.generate_private_key(ec.SECP256R1()),
}


class Issuer:
    """What it publishes and says can be changed while it runs."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.keys: dict[str, tuple[Any, str]] = {}  # the private key and its algorithm, by the key's id
        self.down = False
        self.slow_s = 0.0  # between the bytes of an answer
        self.asked: list[str] = []  # paths
        self.claims: dict[str, Any] = {"sub": "1", "email": "ada@example.org", "email_verified": True}
        self.refuses = ""  # an error of OAuth, in place of a code
        self.nonce: str | None = None  # another than the client's
        self.codes: dict[str, dict[str, str]] = {}  # what was asked for with each code
        self.secret: str | None = None  # of the client
        self.metadata: dict[str, Any] = {
            "issuer": address,
            "authorization_endpoint": f"{address}/authorize",
            "token_endpoint": f"{address}/token",
            "registration_endpoint": f"{address}/register",
            "jwks_uri": f"{address}/keys",
            "response_types_supported": ["code"],
            "grant_types_supported": ["authorization_code", "refresh_token"],
            "code_challenge_methods_supported": ["S256"],
            "token_endpoint_auth_methods_supported": ["client_secret_basic", "none"],
        }
        self.rotate("first", "RS256")

    def rotate(self, kid: str, algorithm: str) -> None:
        """Publish and use another key, and no longer the others."""
        self.keys = {kid: (MAKERS[algorithm](), algorithm)}

    def jwks(self) -> dict[str, Any]:
        found = []
        for kid, (key, algorithm) in self.keys.items():
            maker = jwt.get_algorithm_by_name(algorithm)
            found.append({**json.loads(maker.to_jwk(key.public_key())), "kid": kid, "alg": algorithm, "use": "sig"})
        return {"keys": found}

    def token(self, audience: Any, **claims: Any) -> str:
        """A token; a claim that is None is left out."""
        kid, (key, algorithm) = next(iter(self.keys.items()))
        now = int(time.time())
        given = {"iss": self.address, "aud": audience, "iat": now, "exp": now + 300, **self.claims, **claims}
        given = {name: value for name, value in given.items() if value is not None}
        return jwt.encode(given, key, algorithm, headers={"kid": kid})

    def answer(self, path: str, query: dict[str, str], basic: str) -> tuple[int, dict[str, Any] | str]:
        """The status and the JSON, or the address that it leads to."""
        if path.startswith(("/.well-known/openid-configuration", "/.well-known/oauth-authorization-server")):
            return 200, self.metadata
        if path == "/keys":
            return 200, self.jwks()
        if path == "/register":
            return 201, {**query, "client_id": "dynamic", "token_endpoint_auth_method": "none"}
        if path == "/authorize":
            assert query["code_challenge_method"] == "S256"
            code = secrets.token_urlsafe(8)
            self.codes[code] = query
            came = {"error": self.refuses, "error_description": "<b>no</b>"} if self.refuses else {"code": code}
            back = {**came, "state": query["state"], "iss": self.address, "session_state": "of its own"}
            return 302, f"{query['redirect_uri']}?{urlencode(back)}"
        asked = self.codes.pop(query.get("code", ""), None)
        if path != "/token" or asked is None:
            return 400, {"error": "invalid_grant"}
        challenge = base64.urlsafe_b64encode(sha256(query["code_verifier"].encode()).digest()).rstrip(b"=").decode()
        if challenge != asked["code_challenge"] or query["redirect_uri"] != asked["redirect_uri"]:
            return 400, {"error": "invalid_grant"}
        if self.secret is not None:
            client, _, secret = base64.b64decode(basic.removeprefix("Basic ")).decode().partition(":")
            if (unquote(client), unquote(secret)) != (asked["client_id"], self.secret):
                return 401, {"error": "invalid_client"}
        tokens = {"access_token": self.token(asked.get("resource", "other")), "token_type": "Bearer", "expires_in": 300}
        if "nonce" in asked:
            tokens["id_token"] = self.token(asked["client_id"], nonce=self.nonce or asked["nonce"])
        return 200, tokens


def certificate(path: Path, ends: timedelta) -> Path:
    """Write a key and a certificate for localhost that ends then, signed by itself."""
    key, now = MAKERS["ES256"](), datetime.now(UTC)
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "localhost")])
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), 7, now - timedelta(days=9), now + ends)
        .add_extension(x509.SubjectAlternativeName([x509.DNSName("localhost")]), False)
        .add_extension(x509.BasicConstraints(True, None), True)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    path.write_bytes(private + made.public_bytes(Encoding.PEM))
    return path


@contextmanager
def issuer(certified: Path | None = None) -> Iterator[Issuer]:
    """Start an issuer on a port of the system's choosing, with a certificate by TLS; end it."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            made.asked.append(parts.path)
            length = int(self.headers.get("content-length", 0))
            body = self.rfile.read(length).decode()
            if self.headers.get("content-type") == "application/json":
                query = json.loads(body)
            else:
                query = {name: values[0] for name, values in parse_qs(body or parts.query).items()}
            status, found = 503, {}
            if not made.down:
                status, found = made.answer(parts.path, query, self.headers.get("authorization", ""))
            content = found.encode() if isinstance(found, str) else json.dumps(found).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(content)))
            if isinstance(found, str):
                self.send_header("location", found)
            self.end_headers()
            for piece in [content] if not made.slow_s else [content[at : at + 1] for at in range(len(content))]:
                self.wfile.write(piece)
                time.sleep(made.slow_s)

        do_POST = do_GET

        def log_message(self, *_: Any) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    scheme = "http"
    if certified is not None:
        tls, scheme = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), "https"
        tls.load_cert_chain(certified)
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    made = Issuer(f"{scheme}://localhost:{server.server_port}")  # to a browser another site than 127.0.0.1
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield made
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
