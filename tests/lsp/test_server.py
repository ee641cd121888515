"""`eumu lsp` as an editor sees it: a process that speaks over stdin and stdout."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pytest

from eumu import text as visa_text
from eumu.cli import main
from eumu.platforms import platform
from eumu.verify import check_text
from lsp.client import URI, Client, client
from text.corpus import compiled

pytest.importorskip("pygls", reason="the language server needs pygls: pip install 'eumu[lsp]'")

TEXT = """\
.version 4.1
.kernel "k"
.decl V32 v_type=G type=d num_elts=16
.kernel_attr SimdSize=16
L0:
  add (M1, 16) V32(0,0)<1> V32(0,0)<1;1,0> 0x1:d   // 𝒳 more
  add (M1, 16) V32(0,0)<1> /* 𝒳 */ V33(0,0)<1;1,0> 0x1:d
  goto (M1, 16) L0
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    with client() as found:
        capabilities = found.start()
        assert capabilities["textDocumentSync"]["change"] == 1
        for answers in (
            "hover",
            "definition",
            "references",
            "documentFormatting",
            "documentSymbol",
        ):
            assert capabilities[f"{answers}Provider"]
        assert "." in capabilities["completionProvider"]["triggerCharacters"]
        yield found
        assert found.stop() == 0
        assert found.process.stderr is not None
        errors = found.process.stderr.read().decode()
        assert "Traceback" not in errors, errors


def test_diagnostics_as_one_types(server: Client) -> None:
    (found,) = server.open(TEXT)
    assert found["message"].startswith("'V33' is not declared")
    assert (found["severity"], found["code"], found["source"]) == (1, "undeclared", "eumu")
    # Characters beyond the first plane count twice.
    column = len("  add (M1, 16) V32(0,0)<1> /* 𝒳 */ ") + 1
    assert found["range"] == {
        "start": {"line": 6, "character": column},
        "end": {"line": 6, "character": column + 3},
    }
    found = server.change(TEXT.replace("V33", "V32"), 2)
    assert found and all(d["severity"] in (2, 3) for d in found)
    found = server.change(TEXT.replace("V33", "V32").replace("goto (M1, 16)", "goto (M1, 3)"), 3)
    assert "exec-size" in {d["code"] for d in found if d["severity"] == 1}


def test_only_the_last_of_many_changes_counts(server: Client) -> None:
    server.open(TEXT)
    for version in range(2, 12):
        changes = [{"text": TEXT + "  frobnicate\n" * version}]
        document = {"uri": URI, "version": version}
        server.notify(
            "textDocument/didChange", {"textDocument": document, "contentChanges": changes}
        )
    shown = server.at("textDocument/hover", 5, 4)  # asked at once, answered of the last text
    assert "vISA ADD" in shown["contents"]["value"]
    assert len(server.diagnostics(URI, 11)) == 1 + 11


def test_what_is_published_is_what_check_finds(server: Client) -> None:
    source = compiled("pvc", "atomics")[0].text
    source = source.replace(":d32 ", ":d31 ", 1).replace("type=d ", "type=q ", 3)
    published = server.open(source, "file:///tmp/atomics.visaasm")
    expected = check_text(source, "x", platform("pvc"))
    assert len(expected) > 2
    for got, want in zip(published, expected, strict=True):
        assert want.span is not None
        assert got["code"] == want.code and want.message in got["message"]
        assert got["range"]["start"] == {
            "line": want.span.line - 1,
            "character": want.span.column - 1,
        }
        assert got["range"]["end"]["line"] == want.span.end_line - 1
        page = got.get("codeDescription", {}).get("href", "")
        assert bool(page) == bool(want.spec), want
        assert all(part in page for part in re.findall(r"^[A-Z]\w+$", want.spec))


def test_hover(server: Client) -> None:
    server.open(TEXT)
    shown = server.at("textDocument/hover", 5, 4)["contents"]
    assert shown["kind"] == "markdown"
    assert "page         vISA ADD" in shown["value"]
    assert "64 bytes" in server.at("textDocument/hover", 5, 28)["contents"]["value"]
    assert server.at("textDocument/hover", 5, 55) is None


def completed(server: Client, line: int, character: int) -> dict[str, Any]:
    """What is offered at a place, by label."""
    found = server.at("textDocument/completion", line, character)
    return {item["label"]: item for item in found["items"]}


def test_completion(server: Client) -> None:
    server.open(TEXT.replace("  goto (M1, 16) L0\n", "  lsc_load.u"))
    found = completed(server, 7, 12)
    assert {"ugm", "slm", "uc.ca"} <= found.keys()
    assert found["ugm"]["textEdit"]["range"]["start"] == {"line": 7, "character": 11}
    names = completed(server, 7, 5)
    assert {"add", "lsc_store"} <= names.keys()
    resolved = server.ask("completionItem/resolve", names["add"])
    assert "vISA ADD" in resolved["documentation"]["value"]


def test_of_many_words_those_are_offered_that_begin_alike(server: Client) -> None:
    declared = "".join(f".decl W{n} v_type=G type=d num_elts=8\n" for n in range(1000))
    line = "  mov (M1, 8) W99"
    server.open(TEXT.replace("L0:\n", f"{declared}L0:\n{line}\n"))
    found = server.at("textDocument/completion", 1005, len(line))
    expected = {"W99", *(f"W99{n}" for n in range(10))}
    assert found["isIncomplete"]
    assert {item["label"] for item in found["items"]} == expected
    everything = server.at("textDocument/completion", 1005, len(line) - 3)
    assert len(everything["items"]) == 300


def test_definition_and_references(server: Client) -> None:
    server.open(TEXT)
    place = server.at("textDocument/definition", 5, 28)
    assert place["uri"] == URI
    assert place["range"]["start"] == {"line": 2, "character": 6}
    label = server.at("textDocument/definition", 7, 17)
    assert label["range"]["start"] == {"line": 4, "character": 0}
    everywhere = {"context": {"includeDeclaration": True}}
    found = server.at("textDocument/references", 2, 7, **everywhere)
    assert [f["range"]["start"]["line"] for f in found] == [2, 5, 5, 6]
    found = server.at("textDocument/references", 4, 0, context={"includeDeclaration": False})
    assert [f["range"]["start"]["line"] for f in found] == [7]


def test_formatting(server: Client) -> None:
    asked = {"textDocument": {"uri": URI}, "options": {"tabSize": 4, "insertSpaces": True}}
    server.open(TEXT)
    assert server.ask("textDocument/formatting", asked) is None  # it has an error
    correct = TEXT.replace("V33", "V32")
    server.change(correct, 2)
    (edit,) = server.ask("textDocument/formatting", asked)
    assert edit["range"]["start"] == {"line": 0, "character": 0}
    assert edit["range"]["end"]["line"] >= correct.count("\n")
    assert edit["newText"] == visa_text.format_text(correct)
    assert "// 𝒳 more" in edit["newText"]
    server.change(edit["newText"], 3)
    assert server.ask("textDocument/formatting", asked) is None


def test_symbols(server: Client) -> None:
    server.open(TEXT)
    (kernel,) = server.ask("textDocument/documentSymbol", {"textDocument": {"uri": URI}})
    assert (kernel["name"], kernel["range"]["end"]["line"]) == ("k", 7)
    assert [child["name"] for child in kernel["children"]] == ["L0"]


def test_close(server: Client) -> None:
    server.open(TEXT)
    assert server.close() == []
    assert server.at("textDocument/hover", 5, 4) is None


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"not json",
        b"\xff\xfe",
        b"[]",
        b"{}",
        b'{"jsonrpc": "2.0", "method": 7}',
        b'{"jsonrpc": "2.0", "id": 9001, "method": "no/such"}',
        b'{"jsonrpc": "2.0", "id": 9002, "method": "textDocument/hover"}',
        b'{"jsonrpc": "2.0", "id": 9003, "method": "textDocument/hover", "params": {"a": 1}}',
        b'{"jsonrpc": "2.0", "id": 9004, "method": "textDocument/hover", "params": [[]]}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument": {}}}',
        b'{"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {"textDocument":'
        b' {"uri": "file:///never/opened", "version": 1}, "contentChanges": [{"text": "x"}]}}',
    ],
)
def test_malformed_messages_do_not_end_it(server: Client, body: bytes) -> None:
    server.raw(body)
    assert server.open(TEXT)
    assert server.at("textDocument/hover", 5, 4)


@pytest.mark.parametrize(
    ("sent", "status"),
    [(b"", 0), (b"no header\r\n\r\n{}", 0), (b"Content-Length: 99999999999999\r\n\r\n{}", 1)],
)
def test_an_input_that_is_no_protocol_ends_it(sent: bytes, status: int) -> None:
    with client() as found:
        assert found.process.stdin is not None and found.process.stderr is not None
        found.process.stdin.write(sent)
        found.process.stdin.close()
        assert found.process.wait(60) == status
        said = found.process.stderr.read().decode()
        assert "internal error" not in said and bool(said) == bool(status)


@pytest.mark.parametrize("place", [(0, 999), (999, 0), (8, 0), (5, 2**31 - 1)])
def test_places_outside_the_text(server: Client, place: tuple[int, int]) -> None:
    server.open(TEXT)
    for method in ("hover", "definition", "completion"):
        server.at(f"textDocument/{method}", *place)
    server.at("textDocument/references", *place, context={"includeDeclaration": True})


def test_the_device_can_be_chosen() -> None:
    source = compiled("skl", "saxpy")[0].text
    for options, start in ((("--device", "skl"), {}), ((), {"device": "skl"})):
        with client(*options) as found:
            found.start(**start)
            assert not [d for d in found.open(source) if d["severity"] == 1]
            assert found.stop() == 0


def test_without_pygls(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("eumu.cli.lsp.find_spec", lambda name: None)
    assert main(["lsp"]) == 1
    assert "pip install 'eumu[lsp]'" in capsys.readouterr().err
    assert main(["lsp", "--device", "vax"]) == 2
