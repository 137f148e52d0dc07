"""A chat server on this machine that does what a test tells it to, failures above all."""

from __future__ import annotations

import hashlib
import json
import socket
import struct
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@dataclass(frozen=True)
class Asked:
    """A request that came, in the order of coming."""

    number: int
    body: dict
    headers: dict
    in_flight: int  # this one too

    @property
    def images(self):
        parts = [p for m in self.body["messages"] for p in parts_of(m)]
        return [p["image_url"]["url"] for p in parts if p.get("type") == "image_url"]

    @property
    def texts(self):
        contents = [m["content"] for m in self.body["messages"]]
        parts = [p for m in self.body["messages"] for p in parts_of(m)]
        return [c for c in contents if isinstance(c, str)] + [
            p["text"] for p in parts if p.get("type") == "text"
        ]


@dataclass(frozen=True)
class Said:
    """What is sent back: a completion, or `raw` bytes; `cut` bytes of it never come."""

    text: str | None = "The answer is A."
    status: int = 200
    headers: dict = field(default_factory=dict)
    message: dict = field(default_factory=dict)
    more: dict = field(default_factory=dict)
    raw: bytes | None = None
    cut: int = 0

    def content(self, asked):
        if self.raw is not None:
            return self.raw
        message = {"role": "assistant", "content": self.text, **self.message}
        completion = {
            "id": "chatcmpl-1", "object": "chat.completion", "created": 1,
            "model": asked.body["model"] + "-0613", "system_fingerprint": "fp_44709d6fcb",
            "choices": [{"index": 0, "message": message, "finish_reason": "stop"}],
            "usage": {
                "prompt_tokens": 20, "completion_tokens": 5, "total_tokens": 25,
                "prompt_tokens_details": {"cached_tokens": 16, "audio_tokens": None},
            },
        }  # fmt: skip
        return json.dumps({**completion, **self.more}).encode()


def parts_of(message):
    return message["content"] if isinstance(message.get("content"), list) else []


def failing(status, error, **headers):
    """An error in the form of OpenAI's."""
    return Said(
        status=status,
        raw=json.dumps({"error": error}).encode(),
        headers={name.replace("_", "-"): value for name, value in headers.items()},
    )


HANG = object()  # no response, until the server ends
STALL = object()  # the head of a response and the beginning of its body, and no more
RESET = object()  # the connection breaks before a response


def honest(asked):
    """Chooses by the pictures, the texts and the seed, as a model that draws does."""
    seen = [*asked.images, *asked.texts, asked.body.get("seed"), asked.body.get("temperature")]
    digest = hashlib.sha256(repr(seen).encode()).digest()
    return Said(f"I see {digest.hex()}. The answer is {'ABC'[digest[0] % 3]}.")


def blind(asked):
    """Does not look at the pictures."""
    digest = hashlib.sha256(repr([*asked.texts, asked.body.get("seed")]).encode()).digest()
    return Said(f"I see {digest.hex()}. The answer is {'ABC'[digest[0] % 3]}.")


class ChatServer:
    """A context manager; `behave` is called with each request, by several threads.

    A list stands for what the first requests get; the others get `then`.
    """

    def __init__(self, behave: Callable | list = honest, then: Callable = honest) -> None:
        self.asked: list[Asked] = []
        self.connections = 0
        self.open_connections = 0
        self._behave = behave if callable(behave) else _in_order(behave, then)
        self._in_flight = 0
        self._lock = threading.Lock()
        self._closed = threading.Condition(self._lock)
        self._ending = threading.Event()

    def __enter__(self):
        self._server = _Server(("127.0.0.1", 0), _Handler)
        self._server.owner = self
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}/v1"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()
        return self

    def __exit__(self, *failure):
        self._ending.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def all_closed(self):
        """Whether the clients close all their connections, for which they are given time."""
        with self._closed:
            return self._closed.wait_for(lambda: self.open_connections == 0, timeout=10)

    def answer(self, body, headers):
        with self._lock:
            self._in_flight += 1
            asked = Asked(len(self.asked), body, headers, self._in_flight)
            self.asked.append(asked)
        try:
            said = self._behave(asked)
            if said is HANG:
                self.wait_for_end()
            return said, asked
        finally:
            with self._lock:
                self._in_flight -= 1

    def wait_for_end(self):
        self._ending.wait()

    def count(self, connections):
        with self._closed:
            self.open_connections += connections
            self.connections += max(connections, 0)
            self._closed.notify_all()


def _in_order(behaviours, then):
    return lambda asked: behaviours[asked.number] if asked.number < len(behaviours) else then(asked)


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 256

    def handle_error(self, request, client_address):
        """A client that hangs up is nothing to print."""


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        self.server.owner.count(1)

    def finish(self):
        super().finish()
        self.server.owner.count(-1)

    def log_message(self, *args):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        headers = {name.lower(): value for name, value in self.headers.items()}
        assert self.path == "/v1/chat/completions"
        said, asked = self.server.owner.answer(body, headers)
        if said is HANG or said is RESET:
            self.close_connection = True
            linger = struct.pack("ii", 1, 0)  # closing sends a reset
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
            self.connection.close()
            return
        stalls = said is STALL
        said = Said() if stalls else said
        content = said.content(asked)
        self.send_response(said.status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        for name, value in said.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(content[:10] if stalls else content[: len(content) - said.cut])
        if stalls:
            self.server.owner.wait_for_end()
        if said.cut or stalls:
            self.close_connection = True
