"""What is no message, or has wrong values, is refused in a line as JSON-RPC says, and the server lives."""

from __future__ import annotations

import io
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from pygls.exceptions import JsonRpcException

from parc.lsp.messages import LARGEST_BYTES, Unframed, message_of, next_body
from tests.lsp.conftest import COMMAND

URI = "file:///jobs/job.par"
JOB = "let pods = 2\ncluster pod from std.dgx_h100 { nodes = pods }\n"
DOCUMENT = {"textDocument": {"uri": URI}}
PARSE, REQUEST, METHOD, PARAMS = -32700, -32600, -32601, -32602
UNREADABLE, EARLY = -32803, -32002


def framed(body: bytes) -> bytes:
    return b"Content-Length: %d\r\n\r\n%b" % (len(body), body)


def written(method: str | None, params: object = None, **more: object) -> bytes:
    named = {} if method is None else {"method": method, "params": params}
    return json.dumps({"jsonrpc": "2.0", **named, **more}).encode()


def at(line: object, character: object, **more: object) -> dict[str, object]:
    return {**DOCUMENT, "position": {"line": line, "character": character}, **more}


class Editor:
    """A server, and what it says of raw bytes."""

    def __init__(self, errors: IO[bytes], **more: Any) -> None:
        self.process = subprocess.Popen(
            COMMAND, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, **more
        )
        assert self.process.stdin and self.process.stdout
        self.requests, self.answers = self.process.stdin, self.process.stdout

    def send(self, *messages: bytes) -> None:
        self.requests.write(b"".join(messages))
        self.requests.flush()

    def answered(self, request: object) -> dict[str, Any] | None:
        """The next answer to a request; None where the server ends before."""
        while (body := next_body(self.answers)) is not None:
            message: dict[str, Any] = json.loads(body)
            if "method" not in message and message["id"] == request:
                return message
        return None

    def begin(self) -> None:
        self.send(framed(written("initialize", {"capabilities": {}}, id="begin")))
        assert self.answered("begin")
        item = {"uri": URI, "languageId": "par", "version": 1, "text": JOB}
        self.send(framed(written("textDocument/didOpen", {"textDocument": item})))

    def end(self) -> int:
        self.requests.close()
        status = self.process.wait(20)
        self.answers.close()
        return status


@pytest.fixture(scope="module")
def errors(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("lsp") / "errors"


@pytest.fixture(scope="module")
def editor(errors: Path) -> Iterator[Editor]:
    with errors.open("wb") as file:
        found = Editor(file)
        found.begin()
        yield found
        assert found.end() == 0
    said = errors.read_text()
    assert "Traceback" not in said and "fault of parc" not in said


#: Bodies, and the code that is answered; None for what gets no answer.
BODIES: dict[str, tuple[bytes, int | None]] = {
    "no JSON": (b"{nope", PARSE),
    "no text": (b"\xff\xfe{}", PARSE),
    "nothing": (b"", PARSE),
    "deep lists": (b"[" * 100_000 + b"]" * 100_000, PARSE),
    "deep objects": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, PARSE),
    "a number of many digits": (b'{"jsonrpc":"2.0","id":1,"method":"x","params":%b}' % (b"9" * 5000), PARSE),
    "half a pair": (written("textDocument/hover", {"textDocument": {"uri": "\ud800"}}, id=1), PARSE),
    "null": (b"null", REQUEST),
    "a list": (b"[]", REQUEST),
    "a batch": (b"[%b]" % written("x", id=1), REQUEST),
    "no version": (b'{"id": 1, "method": "x"}', REQUEST),
    "another version": (b'{"jsonrpc": "1.0", "id": 1, "method": "x"}', REQUEST),
    "no method": (written(None, id=1), REQUEST),
    "a method of numbers": (b'{"jsonrpc": "2.0", "id": 1, "method": [5]}', REQUEST),
    "an id that is a list": (written("x", id=[]), REQUEST),
    "an id that is true": (written("x", id=True), REQUEST),
    "no id at all": (written("x", id=None), REQUEST),
    "an answer to a list": (written(None, id=[], result=5), REQUEST),
}  # fmt: skip
RANGE = {"start": {"line": -5, "character": -5}, "end": {"line": -1, "character": 10**9}}
#: Requests, and the code of their error; 0 for a result.
REQUESTS: dict[str, tuple[str, object, int]] = {
    "an unknown method": ("x/y", {}, METHOD),
    "an unknown method without params": ("x/y", None, METHOD),
    "a second start": ("initialize", {"capabilities": {}}, REQUEST),
    "no params": ("textDocument/hover", None, PARAMS),
    "a list of params": ("textDocument/hover", [], PARAMS),
    "no position": ("textDocument/hover", DOCUMENT, PARAMS),
    "a negative position": ("textDocument/hover", at(-1, -1), PARAMS),
    "a position beyond 32 bits": ("textDocument/hover", at(10**30, 0), PARAMS),
    "a position of words": ("textDocument/hover", at("a", "b"), PARAMS),
    "a position far behind the end": ("textDocument/hover", at(10**9, 10**9), 0),
    "no URI": ("textDocument/hover", {**at(0, 0), "textDocument": {"uri": "file://[/x"}}, PARAMS),
    "a URI of a page": ("textDocument/hover", {**at(0, 0), "textDocument": {"uri": "http://x"}}, UNREADABLE),
    "a name that is a number": ("textDocument/rename", at(0, 5, newName=5), UNREADABLE),
    "negative hints": ("textDocument/inlayHint", {**DOCUMENT, "range": RANGE}, PARAMS),
    "negative completions": ("textDocument/completion", at(-3, -3), PARAMS),
    "an unknown command": ("workspace/executeCommand", {"command": "x"}, PARAMS),
    "a command of nothing": ("workspace/executeCommand", {"command": "parc.solve"}, PARAMS),
    "a command of two": (
        "workspace/executeCommand", {"command": "parc.solve", "arguments": ["a", "b"]}, PARAMS,
    ),
}  # fmt: skip
CHANGED = {"textDocument": {"uri": URI, "version": 2}}
NOTIFICATIONS: dict[str, tuple[str, object]] = {
    "an unknown one": ("x/y", {}),
    "one that may be unknown": ("$/x", None),
    "a text without a text": ("textDocument/didOpen", DOCUMENT),
    "a change at no place": (
        "textDocument/didChange", {**CHANGED, "contentChanges": [{"range": 5, "text": ""}]},
    ),
    "a change before the start": (
        "textDocument/didChange", {**CHANGED, "contentChanges": [{"range": RANGE, "text": ""}]},
    ),
    "changes that are a number": ("textDocument/didChange", {**CHANGED, "contentChanges": 5}),
    "a change of what is closed": (
        "textDocument/didClose", {"textDocument": {"uri": "file:///jobs/never.par"}},
    ),
    "a cancelled list": ("$/cancelRequest", {"id": {}}),
    "a cancelled nothing": ("$/cancelRequest", None),
    "a cancelled unknown": ("$/cancelRequest", {"id": 77}),
    "a trace": ("$/setTrace", {"value": "x"}),
    "folders": ("workspace/didChangeWorkspaceFolders", {"event": {"added": 5, "removed": []}}),
}  # fmt: skip


def lives(editor: Editor) -> bool:
    editor.send(framed(written("textDocument/hover", at(0, 5), id="lives")))
    answer = editor.answered("lives")
    return answer is not None and "= 2" in str(answer["result"])


@pytest.mark.parametrize("name", BODIES)
def test_what_is_no_message(editor: Editor, name: str) -> None:
    body, code = BODIES[name]
    editor.send(framed(body))
    answer = editor.answered(None)
    assert answer is not None and answer["error"]["code"] == code
    assert lives(editor)


@pytest.mark.parametrize("name", REQUESTS)
def test_requests_that_cannot_be(editor: Editor, name: str) -> None:
    method, params, code = REQUESTS[name]
    editor.send(framed(written(method, params, id=name)))
    answer = editor.answered(name)
    assert answer is not None and answer.get("error", {}).get("code", 0) == code
    assert lives(editor)


@pytest.mark.parametrize("name", NOTIFICATIONS)
def test_notifications_get_no_answer(editor: Editor, name: str) -> None:
    editor.send(framed(written(*NOTIFICATIONS[name])))
    assert lives(editor)


def test_answers_that_nobody_asked_for(editor: Editor) -> None:
    for more in ({"result": None}, {"error": {"code": 1, "message": "x"}}, {"error": 5}):
        editor.send(framed(written(None, id=44, **more)))
    assert lives(editor)


def test_headers_in_any_case_and_number(editor: Editor) -> None:
    message = framed(written("x/y", id="header"))
    editor.send(b"Content-Type: x\r\n" + message.replace(b"Content-Length", b"content-length"))
    answer = editor.answered("header")
    assert answer is not None and answer["error"]["code"] == METHOD


HEADERS = {
    "no number": b"Content-Length: abc\r\n\r\n{}",
    "a negative length": b"Content-Length: -5\r\n\r\n{}",
    "no length": b"X: y\r\n\r\n",
    "two lengths": b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    "too long": b"Content-Length: %d\r\n\r\n{}" % (LARGEST_BYTES + 1),
    "many digits": b"Content-Length: " + b"9" * 3000 + b"\r\n\r\n{}",
    "half a line": b"Content-Le",
    "a line without an end": b"X" * 1_000_000,
    "lines without an end": b"X: y\r\n" * 1000,
}


@pytest.mark.parametrize("name", HEADERS)
def test_headers_that_end_no_message(name: str) -> None:
    with pytest.raises(Unframed):
        next_body(io.BytesIO(HEADERS[name]))


def test_bytes_without_a_frame_end_the_server_with_an_answer(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as file:
        editor = Editor(file)
        editor.begin()
        editor.send(HEADERS["no number"])
        answer = editor.answered(None)
        assert answer is not None and answer["error"]["code"] == PARSE
        assert editor.end() == 1
    said = (tmp_path / "errors").read_text().splitlines()
    assert len(said) == 1 and said[0].startswith(
        "parc lsp: refused: a message has no Content-Length"
    )


def test_a_session_has_a_beginning_and_an_end(tmp_path: Path) -> None:
    with (tmp_path / "errors").open("wb") as file:
        editor = Editor(file)
        editor.send(framed(written("textDocument/hover", at(0, 0), id=1)))
        early = editor.answered(1)
        assert early is not None and early["error"]["code"] == EARLY
        editor.begin()
        editor.send(framed(written("shutdown", id=2)), framed(written("x/y", id=3)))
        late = editor.answered(3)
        assert late is not None and late["error"]["code"] == REQUEST
        editor.send(framed(written("exit")))
        assert editor.end() == 0
    assert "Traceback" not in (tmp_path / "errors").read_text()


def test_half_a_message_is_the_end() -> None:
    assert next_body(io.BytesIO(b"Content-Length: 50\r\n\r\n{}")) is None
    assert next_body(io.BytesIO(b"Content-Length: 50\r\n")) is None


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3)
    | st.dictionaries(st.sampled_from(("jsonrpc", "id", "method", "params", "result", "error")), inner),
    max_leaves=8,
)  # fmt: skip


@given(st.binary(max_size=40) | JSON.map(lambda found: json.dumps(found).encode()))
@example(b'{"jsonrpc": "2.0", "id": 1e999, "method": "x"}')
def test_any_bytes_are_a_message_or_refused(body: bytes) -> None:
    try:
        message = message_of(body)
    except JsonRpcException as error:
        assert error.code in (PARSE, REQUEST)
    else:
        assert message["jsonrpc"] == "2.0" and message.keys() & {"method", "result", "error"}
