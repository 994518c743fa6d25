"""Each complaint that has edits has an action in the editor; pressing all of them is `parc check --fix`."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types
from pytest_lsp import LanguageClient

from parc.checking import ROUNDS, checked, mended
from parc.lsp.positions import offset_of
from parc.warnings import WARNINGS, name_of, parts
from tests.support.foreign_tries import FOREIGN_TRIES
from tests.support.language_server import edited, show
from tests.support.paths import CASES
from tests.support.wrong_tries import TRIES, changed

pytestmark = pytest.mark.asyncio(loop_scope="module")


def readable(path: Path) -> bool:
    try:
        path.read_text("utf-8")
    except UnicodeDecodeError:
        return False
    return True


#: Wrong jobs in files, which may import others beside them.
FILES = [path for path in sorted(CASES.rglob("*.par")) if readable(path)]
TEXTS = {
    f"try: {name}": changed(right, wrong)
    for name, (right, wrong, _) in (TRIES | FOREIGN_TRIES).items()
} | {f"warning: {name_of(module)}": parts(module)["Bad"] for module in WARNINGS}


async def test_there_is_something_to_press() -> None:
    cured = [path for path in FILES if any(each.fix for each in checked(str(path)).diagnostics)]
    assert len(cured) >= 15 and len(TEXTS) >= 50


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(CASES).as_posix())
async def test_a_case(client: LanguageClient, path: Path) -> None:
    """Pressed in the editor alone; the file stays as it is."""
    await press_all(client, path)


@pytest.mark.parametrize("name", TEXTS)
async def test_a_text(client: LanguageClient, name: str, tmp_path: Path) -> None:
    path = tmp_path / "job.par"
    path.write_text(TEXTS[name])
    await press_all(client, path)


async def press_all(client: LanguageClient, path: Path) -> None:
    for unsafe in (False, True):
        before, after, count = mended(str(path), (), unsafe)
        text, pressed = before.decode("utf-8-sig"), 0
        for _ in range(ROUNDS):
            text, more = await press(client, path, text, unsafe)
            pressed += more
            if not more:
                break
        assert (text, pressed) == (after.decode("utf-8-sig"), count)


async def press(client: LanguageClient, path: Path, text: str, unsafe: bool) -> tuple[str, int]:
    """The text after one round of actions and their number; two that touch each other are pressed in turn."""
    shown = await show(client, text, path.as_uri())
    document = types.TextDocumentIdentifier(path.as_uri())
    complaints = checked(str(path), text=text).diagnostics
    assert len(shown) == len(complaints)
    taken: list[types.TextEdit | types.AnnotatedTextEdit] = []
    count = 0
    for seen, complaint in zip(shown, complaints, strict=True):
        params = types.CodeActionParams(document, seen.range, types.CodeActionContext([seen]))
        answer = await client.text_document_code_action_async(params) or []
        actions = [each for each in answer if isinstance(each, types.CodeAction)]
        own = [each for each in actions if list(each.diagnostics or ()) == [seen]]
        edits = complaint.fix.edits if complaint.fix else ()
        here = bool(edits) and all(edit.span.source.name == str(path) for edit in edits)
        assert (len(own) >= 1) == here, seen.message
        if not here:
            continue
        assert complaint.fix and own[0].is_preferred == complaint.fix.safe
        assert own[0].kind == types.CodeActionKind.QuickFix and own[0].title == (
            complaint.help or "mend it"
        )
        assert own[0].edit and own[0].edit.changes
        changes = own[0].edit.changes[path.as_uri()]
        wanted = own[0].is_preferred or unsafe
        if wanted and not any(touch(text, one, other) for one in changes for other in taken):
            taken += changes
            count += 1
    return edited(text, taken), count


def touch(
    text: str,
    one: types.TextEdit | types.AnnotatedTextEdit,
    other: types.TextEdit | types.AnnotatedTextEdit,
) -> bool:
    starts = [offset_of(text, e.range.start.line, e.range.start.character) for e in (one, other)]
    ends = [offset_of(text, e.range.end.line, e.range.end.character) for e in (one, other)]
    return starts[0] <= ends[1] and starts[1] <= ends[0]
