"""A small client of the language server protocol: a process, and messages to and from it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from queue import Empty, Queue
from typing import Any

URI = "file:///tmp/k.visaasm"
_WAIT = 60.0  # seconds; only a broken server lets it pass


class Client:
    """Speaks with `eumu lsp` over its standard input and output."""

    def __init__(self, *options: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", "eumu", "lsp", *options],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        self._number = 0
        self._inbox: Queue[dict[str, Any]] = Queue()
        self._seen: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        out = self.process.stdout
        assert out is not None
        while line := out.readline():
            length = 0
            while line.strip():
                name, _, value = line.decode().partition(":")
                length = int(value) if name.lower() == "content-length" else length
                line = out.readline()
            self._inbox.put(json.loads(out.read(length)))

    def raw(self, body: bytes) -> None:
        """Send a message, whatever is in it."""
        stdin = self.process.stdin
        assert stdin is not None
        stdin.write(b"Content-Length: %d\r\n\r\n" % len(body) + body)
        stdin.flush()

    def notify(self, method: str, params: Any) -> None:
        self.raw(json.dumps({"jsonrpc": "2.0", "method": method, "params": params}).encode())

    def ask(self, method: str, params: Any) -> Any:
        """The result of a request."""
        answer = self.answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def answer(self, method: str, params: Any) -> dict[str, Any]:
        self._number += 1
        number = self._number
        message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
        self.raw(json.dumps(message).encode())
        return self._wait(lambda m: m.get("id") == number and "method" not in m)

    def _wait(self, wanted: Any) -> dict[str, Any]:
        for found in self._seen:
            if wanted(found):
                self._seen.remove(found)
                return found
        while True:
            try:
                found = self._inbox.get(timeout=_WAIT)
            except Empty:
                raise AssertionError("the server does not answer") from None
            if wanted(found):
                return found
            self._seen.append(found)

    # ---- what editors do

    def start(self, **options: Any) -> dict[str, Any]:
        """Initialize; the server's capabilities."""
        found: dict[str, Any] = self.ask(
            "initialize",
            {
                "processId": None,
                "rootUri": None,
                "capabilities": {},
                "initializationOptions": options,
            },
        )
        self.notify("initialized", {})
        capabilities: dict[str, Any] = found["capabilities"]
        return capabilities

    def open(self, text: str, uri: str = URI) -> list[dict[str, Any]]:
        """Open a text; its diagnostics."""
        self._forget(uri)
        document = {"uri": uri, "languageId": "visa", "version": 1, "text": text}
        self.notify("textDocument/didOpen", {"textDocument": document})
        return self.diagnostics(uri)

    def close(self, uri: str = URI) -> list[dict[str, Any]]:
        """Close a text; what is published then."""
        self._forget(uri)
        self.notify("textDocument/didClose", {"textDocument": {"uri": uri}})
        return self.diagnostics(uri)

    def _forget(self, uri: str) -> None:
        """Drop what was published of earlier texts; on a slow machine each change has its own."""
        position = {"line": 0, "character": 0}
        self.answer("textDocument/hover", {"textDocument": {"uri": uri}, "position": position})
        old = [m for m in self._seen if (m.get("params") or {}).get("uri") == uri]
        self._seen = [m for m in self._seen if m not in old]

    def change(self, text: str, version: int, uri: str = URI) -> list[dict[str, Any]]:
        """Type; the diagnostics of the new text."""
        document = {"uri": uri, "version": version}
        changes = [{"text": text}]
        self.notify("textDocument/didChange", {"textDocument": document, "contentChanges": changes})
        return self.diagnostics(uri, version)

    def diagnostics(self, uri: str, version: int | None = None) -> list[dict[str, Any]]:
        def published(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            of = message.get("method") == "textDocument/publishDiagnostics"
            return of and params["uri"] == uri and version in (None, params.get("version"))

        found: list[dict[str, Any]] = self._wait(published)["params"]["diagnostics"]
        return found

    def at(self, method: str, line: int, character: int, **more: Any) -> Any:
        """Ask about a place (from 0)."""
        position = {"line": line, "character": character}
        document = {"uri": URI}
        return self.ask(method, {"textDocument": document, "position": position, **more})

    def stop(self) -> int:
        """Shut down; the exit status."""
        self.ask("shutdown", None)
        self.notify("exit", None)
        return self.process.wait(_WAIT)


@contextmanager
def client(*options: str) -> Iterator[Client]:
    """A client whose server ends with the block."""
    made = Client(*options)
    try:
        yield made
    finally:
        made.process.kill()
        made.process.wait()
        for stream in (made.process.stdin, made.process.stdout, made.process.stderr):
            assert stream is not None
            stream.close()
