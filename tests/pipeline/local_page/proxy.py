"""A proxy with a certificate and a log-in, as an organisation has one before ``bdt serve``."""

from __future__ import annotations

import base64
import http.client
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

_OF_ONE_STEP = {"connection", "keep-alive", "transfer-encoding", "content-length", "authorization", "x-forwarded-user"}


class _Handler(BaseHTTPRequestHandler):
    """Hands requests on as the recipes for nginx and Caddy say."""

    protocol_version = "HTTP/1.1"
    behind: str

    def do_GET(self) -> None:
        """Hand it on, after the log-in, by any name."""
        scheme, _, secret = self.headers.get("Authorization", "").partition(" ")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if scheme != "Basic":
            self.send_response(401)
            self.send_header("WWW-Authenticate", 'Basic realm="proxy"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        user = base64.b64decode(secret).decode().partition(":")[0]
        given = {name: one for name, one in self.headers.items() if name.lower() not in _OF_ONE_STEP}
        asked = http.client.HTTPConnection(self.behind)
        asked.request(
            self.command, self.path, body or None, given | {"X-Forwarded-User": user, "X-Forwarded-Proto": "https"}
        )  # fmt: skip
        answer = asked.getresponse()
        content = answer.read()
        self.send_response(answer.status)
        for name, one in answer.getheaders():
            if name.lower() not in _OF_ONE_STEP:
                self.send_header(name, one)
        self.send_header("Content-Length", str(len(content)))
        asked.close()
        with suppress(OSError):  # the browser may have gone on
            self.end_headers()
            self.wfile.write(content)

    do_POST = do_GET  # noqa: N815 - the server asks for it by this name

    def log_message(self, *_args: object) -> None:
        """Say nothing."""


@contextmanager
def proxied(folder: Path, behind: str) -> Iterator[ThreadingHTTPServer]:
    """Run it on a port of this machine; `behind` is HOST:PORT of the page, once it is known."""
    key, certificate = folder / "key.pem", folder / "certificate.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate),
         "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"],
        check=True, capture_output=True,
    )  # fmt: skip
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (_Handler,), {"behind": behind}))
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
