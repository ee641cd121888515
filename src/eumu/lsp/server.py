"""The language server protocol on top of `document` and `completion`, over stdin and stdout."""

from __future__ import annotations

import asyncio
import gc
import logging
from collections.abc import Callable, Iterable
from typing import Any, Final

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer
from pygls.uris import to_fs_path
from pygls.workspace import PositionCodec

import eumu
from eumu.errors import Diagnostic, EumuError, FormatError, Severity, Span
from eumu.lsp.completion import Offer, Sort, complete, manual
from eumu.lsp.document import Document
from eumu.manual import address
from eumu.platforms import Platform, platform
from eumu.program import LabelMark
from eumu.text.parser import Directive
from eumu.verify import RULES

_log = logging.getLogger(__name__)
_MOST: Final = 300  # words that are offered at once
_PAUSE: Final = 0.01  # seconds that a check waits for the next keystroke, which makes it needless

_SEVERITIES: Final = {
    Severity.ERROR: lsp.DiagnosticSeverity.Error,
    Severity.WARNING: lsp.DiagnosticSeverity.Warning,
    Severity.NOTE: lsp.DiagnosticSeverity.Information,
}
# What could as well be left out; editors show it dimmed.
_UNNECESSARY: Final = frozenset(code for code, rule in RULES.items() if rule.unnecessary)
_SORTS: Final = {
    Sort.INSTRUCTION: lsp.CompletionItemKind.Function,
    Sort.WORD: lsp.CompletionItemKind.EnumMember,
    Sort.DIRECTIVE: lsp.CompletionItemKind.Keyword,
    Sort.KEY: lsp.CompletionItemKind.Property,
    Sort.TYPE: lsp.CompletionItemKind.TypeParameter,
    Sort.VARIABLE: lsp.CompletionItemKind.Variable,
    Sort.LABEL: lsp.CompletionItemKind.Reference,
}


class Server(LanguageServer):
    """The documents that are open, on one device."""

    def __init__(self, device: Platform) -> None:
        # Whole texts are cheap to send, and need no agreement on what ends a line.
        super().__init__(
            "eumu", eumu.__version__, text_document_sync_kind=lsp.TextDocumentSyncKind.Full
        )
        self.device = device
        self.documents: dict[str, Document] = {}
        self._changed: dict[str, tuple[int, str]] = {}  # not checked yet

    def report_server_error(self, error: Exception, source: Any) -> None:
        """A request that cannot be read or answered is logged, and the server goes on."""
        _log.error("%s: %s", type(error).__name__, error)

    def document(self, uri: str) -> Document:
        """An open document as it is now; what is not open is empty."""
        self.settle(uri)
        opened = self.documents.get(uri)
        if opened is None:
            opened = Document(to_fs_path(uri) or uri, self.device)
            opened.update("")
        return opened

    def change(self, uri: str, version: int, text: str) -> None:
        """A new text; it is checked when no newer one comes or somebody asks about it."""
        self._changed[uri] = version, text
        asyncio.get_running_loop().call_later(_PAUSE, self.settle, uri, version)

    def settle(self, uri: str, version: int | None = None) -> None:
        """Check a changed text, if it is still the one of a version."""
        changed = self._changed.get(uri)
        if changed is not None and version in (None, changed[0]):
            del self._changed[uri]
            self.update(uri, *changed)

    def update(self, uri: str, version: int | None, text: str) -> None:
        """Check a text and say what is wrong with it."""
        document = self.documents.get(uri)
        if document is None:
            document = self.documents[uri] = Document(to_fs_path(uri) or uri, self.device)
        diagnostics = [self.diagnostic(document, d) for d in document.update(text)]
        self.text_document_publish_diagnostics(
            lsp.PublishDiagnosticsParams(uri, diagnostics, version)
        )

    def close(self, uri: str) -> None:
        """Forget a document."""
        self.documents.pop(uri, None)
        self._changed.pop(uri, None)
        self.text_document_publish_diagnostics(lsp.PublishDiagnosticsParams(uri, []))

    # ---- from our places to the editor's and back

    @property
    def codec(self) -> PositionCodec:
        return self.workspace.position_codec

    def place(self, document: Document, position: lsp.Position) -> tuple[int, int]:
        """Line and column from 0, in characters."""
        if position.line >= len(document.lines):
            return len(document.lines), 0
        client_position = self.codec.position_from_client_units(document.lines, position)
        return client_position.line, client_position.character

    def range(self, document: Document, span: Span) -> lsp.Range:
        ends = (span.line, span.column), (span.end_line, span.end_column)
        start, end = (self.position(document, line - 1, column - 1) for line, column in ends)
        return lsp.Range(start, end)

    def position(self, document: Document, line: int, column: int) -> lsp.Position:
        """The editor's units of a place that is given in characters."""
        line = min(line, len(document.lines) - 1)
        before = document.lines[line][:column]
        return lsp.Position(line, self.codec.client_num_units(before))

    def diagnostic(self, document: Document, diagnostic: Diagnostic) -> lsp.Diagnostic:
        start = lsp.Position(0, 0)
        page = f" (vISA {diagnostic.spec})" if diagnostic.spec else ""
        url = address(diagnostic.spec)
        return lsp.Diagnostic(
            range=self.range(document, diagnostic.span)
            if diagnostic.span
            else lsp.Range(start, start),
            message="\n".join([diagnostic.message + page, *diagnostic.notes]),
            severity=_SEVERITIES[diagnostic.severity],
            code=diagnostic.code,
            code_description=lsp.CodeDescription(url) if url else None,
            source="eumu",
            tags=[lsp.DiagnosticTag.Unnecessary] if diagnostic.code in _UNNECESSARY else None,
        )


def make(device: Platform) -> Server:
    """A server with all its answers."""
    server = Server(device)
    for method, options, answer in _ANSWERS:
        server.feature(method, options)(answer)
    return server


def _initialize(ls: Server, params: lsp.InitializeParams) -> None:
    options = params.initialization_options
    name = options.get("device") if isinstance(options, dict) else None
    if isinstance(name, str):
        try:
            ls.device = platform(name)
        except EumuError as error:
            _log.error("%s", error)


def _opened(ls: Server, params: lsp.DidOpenTextDocumentParams) -> None:
    opened = params.text_document
    ls.update(opened.uri, opened.version, opened.text)


def _changed(ls: Server, params: lsp.DidChangeTextDocumentParams) -> None:
    changed = params.text_document
    ls.change(changed.uri, changed.version, ls.workspace.get_text_document(changed.uri).source)


def _closed(ls: Server, params: lsp.DidCloseTextDocumentParams) -> None:
    ls.close(params.text_document.uri)


def _hover(ls: Server, params: lsp.HoverParams) -> lsp.Hover | None:
    document = ls.document(params.text_document.uri)
    text = document.hover(*ls.place(document, params.position))
    return lsp.Hover(lsp.MarkupContent(lsp.MarkupKind.Markdown, text)) if text else None


def _completion(ls: Server, params: lsp.CompletionParams) -> lsp.CompletionList:
    document = ls.document(params.text_document.uri)
    line, column = ls.place(document, params.position)
    offers = complete(document, line, column)
    too_many = len(offers) > _MOST
    if too_many:  # those that begin with what is typed; the editor asks again when there is more
        typed = document.code(line)[:column].lower()
        offers = [o for o in offers if o.text.lower().startswith(typed[o.start :])][:_MOST]
    return lsp.CompletionList(too_many, [_item(ls, document, o, line, column) for o in offers])


def _resolve(ls: Server, item: lsp.CompletionItem) -> lsp.CompletionItem:
    if item.kind == lsp.CompletionItemKind.Function and (text := manual(item.label)):
        block = f"```\n{text}\n```"
        item.documentation = lsp.MarkupContent(lsp.MarkupKind.Markdown, block)
    return item


def _definition(ls: Server, params: lsp.DefinitionParams) -> lsp.Location | None:
    uri = params.text_document.uri
    document = ls.document(uri)
    span = document.definition(*ls.place(document, params.position))
    return lsp.Location(uri, ls.range(document, span)) if span else None


def _references(ls: Server, params: lsp.ReferenceParams) -> list[lsp.Location]:
    uri = params.text_document.uri
    document = ls.document(uri)
    declaration = params.context.include_declaration
    spans = document.uses(*ls.place(document, params.position), declaration=declaration)
    return [lsp.Location(uri, ls.range(document, span)) for span in spans]


def _formatting(ls: Server, params: lsp.DocumentFormattingParams) -> list[lsp.TextEdit] | None:
    document = ls.document(params.text_document.uri)
    text = document.formatted()
    if text is None or text == document.text:
        return None
    everything = lsp.Range(lsp.Position(0, 0), lsp.Position(len(document.lines), 0))
    return [lsp.TextEdit(everything, text)]


def _symbols(ls: Server, params: lsp.DocumentSymbolParams) -> list[lsp.DocumentSymbol]:
    document = ls.document(params.text_document.uri)
    return list(_outline(ls, document))


_ANSWERS: Final[tuple[tuple[str, Any, Callable[..., Any]], ...]] = (
    (lsp.INITIALIZE, None, _initialize),
    (lsp.TEXT_DOCUMENT_DID_OPEN, None, _opened),
    (lsp.TEXT_DOCUMENT_DID_CHANGE, None, _changed),
    (lsp.TEXT_DOCUMENT_DID_CLOSE, None, _closed),
    (lsp.TEXT_DOCUMENT_HOVER, None, _hover),
    (
        lsp.TEXT_DOCUMENT_COMPLETION,
        lsp.CompletionOptions(trigger_characters=[".", ":", "%", "="], resolve_provider=True),
        _completion,
    ),
    (lsp.COMPLETION_ITEM_RESOLVE, None, _resolve),
    (lsp.TEXT_DOCUMENT_DEFINITION, None, _definition),
    (lsp.TEXT_DOCUMENT_REFERENCES, None, _references),
    (lsp.TEXT_DOCUMENT_FORMATTING, None, _formatting),
    (lsp.TEXT_DOCUMENT_DOCUMENT_SYMBOL, None, _symbols),
)


def _item(
    ls: Server, document: Document, offer: Offer, line: int, column: int
) -> lsp.CompletionItem:
    start, end = (ls.position(document, line, c) for c in (offer.start, column))
    return lsp.CompletionItem(
        label=offer.text,
        kind=_SORTS[offer.sort],
        detail=offer.detail or None,
        text_edit=lsp.TextEdit(lsp.Range(start, end), offer.text),
    )


def _outline(ls: Server, document: Document) -> Iterable[lsp.DocumentSymbol]:
    """Kernels and functions with their labels."""
    current: lsp.DocumentSymbol | None = None
    for read, span in document.statements:
        where = ls.range(document, span)
        if isinstance(read, Directive):
            if read.word in ("kernel", "global_function"):
                if current is not None:
                    yield current
                kind = lsp.SymbolKind.Function
                current = lsp.DocumentSymbol(read.value.strip('"') or "?", kind, where, where)
                current.children = []
            continue
        if current is None:
            continue
        current.range = lsp.Range(current.range.start, where.end)
        if isinstance(read, LabelMark) and isinstance(current.children, list):
            kind = lsp.SymbolKind.Method if read.kind == "subroutine" else lsp.SymbolKind.Key
            current.children.append(lsp.DocumentSymbol(read.name, kind, where, where))
    if current is not None:
        yield current


def serve(device: Platform) -> None:
    """Answer until the editor is done; FormatError if a message cannot be as long as it says."""
    # Nearly everything here lives as long as its text; looking for cycles often only costs time.
    gc.freeze()
    gc.set_threshold(50_000, 50, 100)
    try:
        make(device).start_io()
    except (MemoryError, OverflowError):
        raise FormatError("a message says that it is longer than the memory") from None
