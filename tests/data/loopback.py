"""A server on the loopback address that misbehaves on demand."""

import hashlib
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

BODY = b"".join(b"%d %d %d\n" % (i, i + 1, 60 * i) for i in range(200))
DIGEST = hashlib.sha256(BODY).hexdigest()
PAGE = b"\n<!DOCTYPE html>\n<html><body>Please log in</body></html>"


@dataclass
class Server:
    """Where the server listens, and what it was asked."""

    port: int
    requests: list[tuple[str, str]] = field(default_factory=list)

    def url(self, path: str) -> str:
        return f"http://127.0.0.1:{self.port}/{path}"

    def asked(self, path: str) -> int:
        return sum(asked == f"/{path}" for asked, _ in self.requests)


class Handler(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        log = self.server.log  # type: ignore[attr-defined]
        log.append((self.path, self.headers.get("User-Agent", "")))
        kind = self.path.split("/")[1]
        if kind == "good":
            self.answer(200, BODY)
        elif kind == "forbidden":
            self.answer(403, PAGE)
        elif kind == "half":
            self.answer(200, BODY[: len(BODY) // 2], length=len(BODY))
        elif kind == "page":
            self.answer(200, PAGE)
        elif kind == "wrong":
            self.answer(200, BODY.replace(b"60", b"61"))
        elif kind == "empty":
            self.answer(200, b"")
        elif kind == "flaky":
            first = sum(path == self.path for path, _ in log) == 1
            self.answer(503 if first else 200, BODY)
        elif kind == "silent":
            self.server.released.wait(10)  # type: ignore[attr-defined]
            self.close_connection = True
        else:  # "nothing": the connection is closed without a word
            self.close_connection = True

    def answer(self, status: int, body: bytes, length: int | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if length is None else length))
        self.end_headers()
        self.wfile.write(body)
        self.close_connection = True

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@contextmanager
def serve() -> Iterator[Server]:
    """Run the server on a free port until the block ends."""
    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    handle = Server(httpd.server_address[1])
    httpd.log = handle.requests  # type: ignore[attr-defined]
    httpd.released = threading.Event()  # type: ignore[attr-defined]
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield handle
    finally:
        httpd.released.set()  # type: ignore[attr-defined]
        httpd.shutdown()
        httpd.server_close()
        thread.join()


def unused_port() -> int:
    """A port where nobody listens."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
