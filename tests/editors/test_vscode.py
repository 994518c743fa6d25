"""The extension of VS Code: its files fit together, its snippets are jobs, and it starts `parc lsp`."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest
from pathspec import GitIgnoreSpec

from editors.grammars import FOLDER
from parc.checking import checked
from parc.commands import lsp
from parc.dsl.diagnostics import Source
from parc.dsl.formatting.canonical import formatted
from parc.dsl.syntax.parser import with_tokens
from tests.support import npm
from tests.support.paths import ROOT

VSCODE = FOLDER / "vscode"
#: Bundled into the `main` of the manifest.
SOURCE = "extension.js"
#: `${1:what stands there first}`, `${1|the first,of several|}` and `$0`.
_FIELD = re.compile(r"\$\{\d+(?::([^}]*)|\|([^,|]*)[^}]*)\}|\$0")


def read(path: str) -> dict[str, Any]:
    found: dict[str, Any] = json.loads((VSCODE / path).read_text())
    return found


PACKAGE = read("package.json")
CONTRIBUTES = PACKAGE["contributes"]
SNIPPETS = read("snippets/parc.json")


def typed(snippet: dict[str, Any]) -> str:
    """What a snippet inserts when its fields are left as they are."""
    return _FIELD.sub(lambda field: field[1] or field[2] or "", "\n".join(snippet["body"]) + "\n")


def test_what_the_manifest_names_is_there() -> None:
    named = [SOURCE, *(each["configuration"] for each in CONTRIBUTES["languages"])]
    named += [each["path"] for kind in ("grammars", "snippets") for each in CONTRIBUTES[kind]]
    assert [path for path in named if not (VSCODE / path).is_file()] == []


#: What a package for VS Code holds besides snippets and grammar.
PACKED = {"package.json", "README.md", "language-configuration.json"}


def test_what_is_packed_is_the_bundle_and_what_the_manifest_names(tmp_path: Path) -> None:
    """325 files were packed with the client's packages beside the extension."""
    folder = tmp_path / "vscode"
    shutil.copytree(VSCODE, folder, ignore=shutil.ignore_patterns("node_modules", "dist"))
    shutil.copy(FOLDER / "licences.mjs", tmp_path)
    npm.install(folder, VSCODE / "package.json")
    assert "dependencies" not in PACKAGE, "vsce packs them"
    script = PACKAGE["scripts"]["vscode:prepublish"].split()
    subprocess.run(script, cwd=folder, check=True, timeout=120)
    ignored = GitIgnoreSpec.from_lines((folder / ".vscodeignore").read_text().splitlines())
    files = {path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file()}
    packed = {path for path in files if not ignored.match_file(path)}
    bundle = {PACKAGE["main"].removeprefix("./"), "dist/licences.txt"}
    named = {"snippets/parc.json", "syntaxes/parc.tmLanguage.json"}
    assert packed == {*PACKED, *named, *bundle}
    text = (folder / PACKAGE["main"]).read_text()
    outside = set(re.findall(r'require\("([^"]+)"\)', text)) - set(builtins())
    assert outside == {"vscode"} and "activate" in text
    assert "vscode-languageclient 9.0.1" in (folder / "dist" / "licences.txt").read_text()


def builtins() -> list[str]:
    """The modules that Node.js itself has, with and without `node:`."""
    code = "console.log(JSON.stringify(require('module').builtinModules))"
    ran = subprocess.run(["node", "-e", code], capture_output=True, text=True, check=True)
    names: list[str] = json.loads(ran.stdout)
    return [*names, *(f"node:{name}" for name in names)]


def test_the_manifest_is_that_of_this_release_and_language() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert (PACKAGE["version"], PACKAGE["license"]) == (project["version"], project["license"])
    (language,), (grammar,) = CONTRIBUTES["languages"], CONTRIBUTES["grammars"]
    written = read(grammar["path"])
    assert grammar["scopeName"] == written["scopeName"]
    assert language["extensions"] == [f".{ending}" for ending in written["fileTypes"]]
    kinds = (*CONTRIBUTES["grammars"], *CONTRIBUTES["snippets"])
    assert {each["language"] for each in kinds} == {language["id"]}


def test_comments_and_brackets_are_those_of_the_language() -> None:
    settings = read("language-configuration.json")
    assert not with_tokens(Source("job.par", f"{settings['comments']['lineComment']} {{"))[1]
    ends = {"[": "let a = [1", "(": "let a = (1", "{": "train { steps = 1"}
    closed = [f"{ends.pop(opening)}{closing}" for opening, closing in settings["brackets"]]
    assert not ends and not with_tokens(Source("job.par", "\n".join(closed)))[1]


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_is_sound_and_in_canonical_form(name: str) -> None:
    assert SNIPPETS[name]["prefix"] == name
    text = typed(SNIPPETS[name])
    assert "$" not in text and formatted(Source("job.par", text)).strip() == text.strip()


@pytest.mark.parametrize("name", SNIPPETS)
def test_a_snippet_is_understood_in_a_job(name: str) -> None:
    whole = typed(SNIPPETS["job"])
    if name == "goal":
        whole = re.sub(r"^goal .*$", "", whole, flags=re.MULTILINE)
    text = whole if name == "job" else whole + typed(SNIPPETS[name])
    assert checked("job.par", text=text).diagnostics == ()


#: Stands in the place of VS Code and of its client, and prints what the extension asks of them.
_STAND_IN = """
const Module = require("module");
const asked = [];
class LanguageClient {
  constructor(...given) { asked.push(given); }
  async start() { if (process.argv[2]) throw new Error("ENOENT"); }
  async stop() { asked.push("stopped"); }
}
const vscode = {
  workspace: { getConfiguration: (of) => ({ get: (name) => `/bin/${of}.${name}` }) },
  window: { showErrorMessage: (said) => asked.push(said) },
};
const stand_ins = { vscode, "vscode-languageclient/node": { LanguageClient } };
const load = Module._load;
Module._load = (name, ...rest) => stand_ins[name] ?? load(name, ...rest);
const extension = require(process.argv[1]);
extension.activate().then(extension.deactivate).then(() => console.log(JSON.stringify(asked)));
"""


def asked_of_vscode(*failure: str) -> list[Any]:
    """What the extension asks of VS Code from its start to its end."""
    command = ["node", "-e", _STAND_IN, str(VSCODE / SOURCE), *failure]
    ran = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    found: list[Any] = json.loads(ran.stdout)
    return found


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_the_extension_starts_the_language_server() -> None:
    (_, server, client), last = asked_of_vscode()
    assert list(CONTRIBUTES["configuration"]["properties"]) == ["parc.command"]
    assert server == {"command": "/bin/parc.command", "args": [lsp.NAME]}
    (language,) = CONTRIBUTES["languages"]
    assert client == {"documentSelector": [{"language": language["id"]}]}
    assert last == "stopped"


@pytest.mark.skipif(not shutil.which("node"), reason="needs Node.js")
def test_a_server_that_does_not_start_is_explained() -> None:
    said = asked_of_vscode("fails")[1]
    assert said.startswith("`/bin/parc.command lsp` does not start: ENOENT. ")
    assert "parc.command" in said.partition("ENOENT")[2]
