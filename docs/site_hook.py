"""MkDocs' hook: adds pages made from code and those above docs/, and fits links and fences to the site."""

from __future__ import annotations

import posixpath
import re
from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from docs import reference

_ROOT = Path(__file__).parents[1]
#: Files above docs/ that are pages, by their path in the site.
ABOVE = {
    "index.md": "README.md",
    "contributing.md": "CONTRIBUTING.md",
    "security.md": "SECURITY.md",
    "changelog.md": "CHANGELOG.md",
}
_PLACES = {of: page for page, of in ABOVE.items()}
_LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])+)\]\(([^()\s]+)\)")
#: Markers of generated tables, and their like; lists and tables need a blank line before them.
_COMMENT = re.compile(r"^<!--.*?-->$", re.MULTILINE)
#: A list or table right below a line of text, which GitHub takes for one and Python-Markdown does not.
_TIGHT = re.compile(r"^(?![-|#>\s]|\d+\. )(.+)\n(?=- |\| |1\. )", re.MULTILINE)
_FENCED = re.compile(r"^(```.*?^```)$", re.MULTILINE | re.DOTALL)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    made = {page: (_ROOT / of).read_text() for page, of in ABOVE.items()} | reference.pages()
    for path, text in made.items():
        files.append(File.generated(config, path, content=text))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """The text of a page as the site shows it; `markdown` is what GitHub shows too."""
    place = page.file.src_uri
    pieces = _FENCED.split(markdown)
    return "".join(
        _fence(piece) if number % 2 else _prose(piece, place, files)
        for number, piece in enumerate(pieces)
    )


def _fence(text: str) -> str:
    """The lexer of Pygments is called parc, a fence of a job par."""
    return re.sub(r"\A```par$", "```parc", text, flags=re.MULTILINE)


def _prose(text: str, place: str, files: Files) -> str:
    text = _TIGHT.sub(r"\1\n\n", _COMMENT.sub("\n", text))
    return _LINK.sub(lambda link: _linked(link[1], link[2], place, files), text)


def _linked(text: str, target: str, place: str, files: Files) -> str:
    """A link as the site has it. What is no page of it, as a source file, is only named."""
    path, mark, anchor = target.partition("#")
    if not path or ":" in target or path.startswith("/"):
        return f"[{text}]({target})"
    page = _page(path, place)
    if files.get_file_from_path(page) is None:
        return text if "`" in text else f"{text} (`{_of_tree(path, place)}`)"
    return f"[{text}]({posixpath.relpath(page, posixpath.dirname(place) or '.')}{mark}{anchor})"


def _page(path: str, place: str) -> str:
    """The page of the site that shows the file or folder that `path` leads to."""
    found = _of_tree(path, place)
    if found in _PLACES:
        return _PLACES[found]
    if found.startswith("examples/") and found.endswith(".par"):
        return found.removesuffix(".par") + ".md"
    if found in ("examples", "examples/README.md"):
        return "examples/index.md"
    return found.removeprefix("docs/")


def _of_tree(path: str, place: str) -> str:
    """The path from the root of the tree, of a link on the page at `place`."""
    if place in ABOVE:
        base = ""
    elif place.startswith("examples/"):
        base = "examples"  # its index is examples/README.md
    else:
        base = posixpath.join("docs", posixpath.dirname(place))
    return posixpath.normpath(posixpath.join(base, path))
