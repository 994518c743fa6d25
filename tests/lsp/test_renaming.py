"""Another name for a definition: in the file that defines it, in those that import it, and in no other."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from lsprotocol import types
from pygls.exceptions import JsonRpcException
from pytest_lsp import LanguageClient

from parc.checking import checked
from parc.lsp.document import Document
from parc.lsp.places import place_at
from parc.lsp.renaming import MOST_FILES, Refused, document_at, job_files, rename_edits
from tests.support.language_server import at, edited, show
from tests.support.paths import ROOT

PARTS = """# Shared by the lab.
let pods = 2
let nodes_of_all = pods * 4
gpu lean from std.h100_sxm { memory = 70 GiB }
cluster pod from std.dgx_h100 { gpu = lean; nodes = nodes_of_all }
"""
JOB = """import "parts.par"

cluster mine from pod { nodes = pods * 2 }
model from std.llama3_8b {}
train { seq_len = 8192; global_batch = 64 * pods; steps = 1000 }
goal { require tp <= pods }
target megatron {}
"""
OTHER = 'import "../parts.par"\nlet more = pods + 1\n'
#: The same word, and another constant.
STRANGER = "let pods = 7\nlet twice = 2 * pods\n"


def lab(folder: Path) -> dict[str, str]:
    """Two files that import a third, and one that has the same word for something of its own."""
    (folder / "teams").mkdir()
    texts = {"parts.par": PARTS, "job.par": JOB, "teams/other.par": OTHER, "stranger.par": STRANGER}
    for name, text in texts.items():
        (folder / name).write_text(text)
    return texts


def renamed(folder: Path, name: str, word: str, new: str) -> dict[str, str]:
    """The files that a rename changes, by their names, after it."""
    documents = {
        path: found for path in job_files([str(folder)])[0] if (found := document_at(path, {}))
    }
    asked = documents[str(folder / name)]
    place = place_at(asked.file, asked.text.index(word) + 1)
    assert place
    after = {}
    for document, edits in rename_edits(asked, place, new, documents.values()):
        text = document.text
        for edit in sorted(edits, key=lambda each: -each.start):
            text = text[: edit.start] + edit.text + text[edit.end :]
        after[os.path.relpath(document.path, folder)] = text
    return after


@pytest.mark.parametrize("asked", ["parts.par", "job.par", "teams/other.par"])
def test_a_constant_is_renamed_where_it_is_defined_and_wherever_it_is_used(
    tmp_path: Path, asked: str
) -> None:
    texts = lab(tmp_path)
    found = renamed(tmp_path, asked, "pods", "racks")
    assert found == {
        name: text.replace("pods", "racks")
        for name, text in texts.items()
        if name != "stranger.par"
    }
    for name, text in found.items():
        (tmp_path / name).write_text(text)
    assert checked(str(tmp_path / "job.par")).diagnostics == ()


def test_a_block_is_renamed_with_those_that_begin_with_it(tmp_path: Path) -> None:
    lab(tmp_path)
    found = renamed(tmp_path, "job.par", "pod {", "island")
    assert found == {
        "job.par": JOB.replace("from pod", "from island"),
        "parts.par": PARTS.replace("cluster pod", "cluster island"),
    }
    assert renamed(tmp_path, "parts.par", "lean", "thin") == {
        "parts.par": PARTS.replace("lean", "thin")
    }


@pytest.mark.parametrize(
    ("new", "wanted"),
    [
        ("tp", "cannot name"),
        ("two words", "cannot name"),
        ("3d", "cannot name"),
        ("", "cannot name"),
        ("nodes_of_all", "is defined already in parts.par"),
        ("more", "is defined already in other.par"),
    ],
)
def test_a_name_that_would_break_a_file_is_refused(tmp_path: Path, new: str, wanted: str) -> None:
    lab(tmp_path)
    with pytest.raises(Refused, match=wanted):
        renamed(tmp_path, "job.par", "pods", new)


def test_a_file_that_is_read_only_keeps_a_name_for_all(tmp_path: Path) -> None:
    lab(tmp_path)
    (tmp_path / "parts.par").chmod(0o444)
    with pytest.raises(Refused, match="parts.par is read-only"):
        renamed(tmp_path, "job.par", "pods", "racks")


def test_the_standard_library_is_not_renamed() -> None:
    document = document_at(str(ROOT / "dsl" / "std" / "gpus.par"), {})
    assert document
    place = place_at(document.file, document.text.index("\ngpu h200 ") + 6)
    assert place
    with pytest.raises(Refused, match="the standard library defines `h200`"):
        rename_edits(document, place, "mine", [])


def test_an_import_that_is_missing_or_circular_leaves_the_rest(tmp_path: Path) -> None:
    text = 'import "none.par"\nimport "job.par"\nimport "/dev/zero"\nlet a = 1\nlet b = a\n'
    document = Document(str(tmp_path / "job.par"), text)
    place = place_at(document.file, text.index("a\n", 60))
    assert place
    ((own, edits),) = rename_edits(document, place, "c", [])
    assert own is document and len(edits) == 2


def test_a_large_folder_is_not_walked_to_its_end(tmp_path: Path) -> None:
    for hidden in (".git", "node_modules"):
        (tmp_path / hidden).mkdir()
        (tmp_path / hidden / "job.par").touch()
    (tmp_path / "job.par").touch()
    assert job_files([str(tmp_path)]) == ([str(tmp_path / "job.par")], True)
    (tmp_path / "many").mkdir()
    for number in range(MOST_FILES + 1):
        (tmp_path / "many" / f"{number}.par").touch()
    found, all_of_them = job_files([str(tmp_path)])
    assert len(found) == MOST_FILES and not all_of_them


@pytest.mark.asyncio(loop_scope="module")
async def test_the_editor_gets_edits_of_saved_and_of_unsaved_texts(
    client: LanguageClient, tmp_path: Path
) -> None:
    """The import is open with a line that is not saved; the job that is asked is on no disk at all."""
    lab(tmp_path)
    job, parts = ((tmp_path / name).as_uri() for name in ("new.par", "parts.par"))
    unsaved = f"# a line more\n{PARTS}"
    await show(client, unsaved, parts)
    assert await show(client, JOB, job) == []
    asked = types.TextDocumentIdentifier(job)
    place = at(JOB, "pods")
    area = await client.text_document_prepare_rename_async(types.PrepareRenameParams(asked, place))
    assert isinstance(area, types.Range)
    edit = await client.text_document_rename_async(types.RenameParams(asked, place, "racks"))
    assert edit and edit.changes and set(edit.changes) == {job, parts}
    assert edited(JOB, edit.changes[job]) == JOB.replace("pods", "racks")
    assert edited(unsaved, edit.changes[parts]) == unsaved.replace("pods", "racks")
    context = types.ReferenceContext(include_declaration=True)
    found = await client.text_document_references_async(
        types.ReferenceParams(context, asked, place)
    )
    assert found and {each.uri for each in found} == {job, parts} and len(found) == 5
    with pytest.raises(JsonRpcException, match="`tp` cannot name a definition"):
        await client.text_document_rename_async(types.RenameParams(asked, place, "tp"))
