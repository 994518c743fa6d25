"""The grammars in the engines that read them, VS Code's own and Vim: what is a number, a text and a comment
to the parser is one on the screen, and words have the colours of their groups."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from itertools import groupby
from pathlib import Path

import pytest

from editors.grammars import FOLDER, SCOPES
from parc.dsl.diagnostics import Source
from parc.dsl.formatting.pieces import pieces
from parc.dsl.formatting.unchanged import comments
from parc.dsl.highlighting.words import WORDS
from parc.dsl.syntax.parser import with_tokens
from tests.support import npm
from tests.support.paths import ROOT

VSCODE = FOLDER / "vscode"
JOBS = sorted((ROOT / "examples").rglob("*.par"))
#: Characters of a line with what colours each: the innermost scope of a kind, or none.
Coloured = list[tuple[str, str]]
#: A word of each group, where it has the meaning of that group.
LINES = {
    "goal { maximize mfu; require tp in {2, 4} and not memory > 3 GiB }": {
        "goal": "blocks", "maximize": "clauses", "require": "clauses", "mfu": "quantities",
        "memory": "quantities", "tp": "decisions", "in": "operators", "and": "operators",
        "not": "operators",
    },
    "let steps_of_all = ceil(3.5)": {"let": "statements", "ceil": "functions"},
    "train { compile = true }": {"train": "blocks", "true": "constants"},
}  # fmt: skip
#: Reads a grammar and texts, and prints the scopes of each character of each line.
_TEXTMATE = """
const fs = require("fs");
const path = require("path");
const { Registry, parseRawGrammar } = require("vscode-textmate");
const onig = require("vscode-oniguruma");
const wasm = path.join(path.dirname(require.resolve("vscode-oniguruma")), "onig.wasm");
const [grammar, texts] = process.argv.slice(1);
onig.loadWASM(fs.readFileSync(wasm).buffer).then(async () => {
  const registry = new Registry({
    onigLib: Promise.resolve({
      createOnigScanner: (sources) => new onig.OnigScanner(sources),
      createOnigString: (text) => new onig.OnigString(text),
    }),
    loadGrammar: async () => parseRawGrammar(fs.readFileSync(grammar, "utf8"), grammar),
  });
  const loaded = await registry.loadGrammar("source.parc");
  const found = JSON.parse(fs.readFileSync(texts, "utf8")).map((text) => {
    let stack = null;
    return text.split("\\n").map((line) => {
      const read = loaded.tokenizeLine(line, stack);
      stack = read.ruleStack;
      return read.tokens.map((each) => [line.slice(each.startIndex, each.endIndex), each.scopes]);
    });
  });
  console.log(JSON.stringify(found));
});
"""
#: Prints the group of each byte of each line of the file that is open.
_VIM = """
let found = []
for number in range(1, line("$"))
  let places = range(1, len(getline(number)))
  call add(found, map(places, {_, at -> synIDattr(synID(g:number, at, 1), "name")}))
endfor
call writefile([json_encode(found)], $COLOURS)
qall!
"""


def parts(coloured: list[Coloured], name: str) -> set[str]:
    """The longest pieces of lines in one colour."""
    found = set()
    for line in coloured:
        for colour, run in groupby(line, key=lambda each: each[1]):
            if colour == name:
                found.add("".join(text for text, _ in run))
    return found


def said(text: str) -> dict[str, set[str]]:
    """What the parser reads."""
    tree = with_tokens(Source("job.par", text))[2]
    assert tree is not None
    found = pieces(tree, text)
    return {
        "number": {piece.text for piece in found if piece.type == "NUMBER"},
        "text": {piece.text for piece in found if piece.type == "STRING"},
        "comment": {each.strip() for each in comments(text)},
    }


@pytest.fixture(scope="module")
def modules(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with VS Code's engine, of the versions that the extension's manifest names."""
    folder = tmp_path_factory.mktemp("engine")
    npm.install(folder, VSCODE / "package.json", "vscode-")
    return folder


@pytest.fixture(scope="module")
def textmate(modules: Path) -> dict[str, list[Coloured]]:
    """The jobs and lines as VS Code colours them."""
    texts = [*(path.read_text() for path in JOBS), *LINES]
    (modules / "texts.json").write_text(json.dumps(texts))
    grammar = VSCODE / "syntaxes" / "parc.tmLanguage.json"
    ran = subprocess.run(
        ["node", "-e", _TEXTMATE, str(grammar), "texts.json"],
        cwd=modules, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found = json.loads(ran.stdout)
    return {
        text: [[(part, colour_of(scopes)) for part, scopes in line] for line in lines]
        for text, lines in zip(texts, found, strict=True)
    }


def colour_of(scopes: list[str]) -> str:
    kinds = {"string.quoted": "text", "comment": "comment", "constant.numeric": "number"}
    groups = {scope: group for group, (scope, _) in SCOPES.items()}
    for scope in scopes:
        for start, kind in kinds.items():
            if scope.startswith(start):
                return kind
    return groups.get(scopes[-1], scopes[-1])


@pytest.fixture(scope="module")
def vim(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[Coloured]]:
    """The jobs and lines as Vim colours them, each opened by its file's name alone."""
    program = shutil.which("vim")
    if not program or "+syntax" not in subprocess.check_output([program, "--version"], text=True):
        pytest.skip("needs a Vim with syntax files")
    folder = tmp_path_factory.mktemp("vim")
    (folder / "colours.vim").write_text(_VIM)
    found = {}
    for text in (*(path.read_text() for path in JOBS), *LINES):
        (folder / "job.par").write_text(text)
        begin = (f"set encoding=utf-8 runtimepath^={FOLDER / 'vim'}", "filetype on", "syntax on")
        commands = [
            part for each in (*begin, "edit job.par", "source colours.vim") for part in ("-c", each)
        ]
        subprocess.run(
            [program, "-u", "NONE", "-i", "NONE", "-N", "-n", "-es", "--not-a-term", *commands],
            cwd=folder, env={**os.environ, "COLOURS": "colours.json"}, timeout=60,
        )  # fmt: skip
        colours = json.loads((folder / "colours.json").read_text())
        (folder / "colours.json").unlink()
        found[text] = [
            by_character(line, of)
            for line, of in zip(text.rstrip("\n").split("\n"), colours, strict=True)
        ]
    return found


def by_character(line: str, groups: list[str]) -> Coloured:
    """Vim counts bytes; a character has the group of its first one."""
    found, at = [], 0
    for character in line:
        name = groups[at].removeprefix("parc")
        found.append((character, name[:1].lower() + name[1:]))
        at += len(character.encode())
    return found


@pytest.mark.parametrize("engine", ["textmate", "vim"])
@pytest.mark.parametrize("path", JOBS, ids=lambda path: path.stem)
def test_numbers_texts_and_comments_are_those_of_the_parser(
    engine: str, path: Path, request: pytest.FixtureRequest
) -> None:
    text = path.read_text()
    shown = request.getfixturevalue(engine)[text]
    for kind, wanted in said(text).items():
        assert {part.strip() for part in parts(shown, kind)} == wanted, kind


@pytest.mark.parametrize("engine", ["textmate", "vim"])
@pytest.mark.parametrize("line", LINES)
def test_words_have_the_colours_of_their_groups(
    engine: str, line: str, request: pytest.FixtureRequest
) -> None:
    shown = request.getfixturevalue(engine)[line]
    for word, group in LINES[line].items():
        assert word in WORDS[group] and word in parts(shown, group), (word, shown)
