"""Requirements, lock files, recipes of images -> which releases of a package a repository installs."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

#: Files that say what is installed, by their names; those of a folder `requirements` have any name.
_PINNING = re.compile(
    r"(?:.{0,80}requirements.{0,80}|constraints.{0,80})\.(?:txt|in)|pyproject\.toml|setup\.(?:py|cfg)"
    r"|Pipfile(?:\.lock)?|(?:poetry|uv|pdm|pixi)\.lock|(?:conda|environment|env).{0,80}\.ya?ml"
    r"|(?:Dockerfile|Containerfile).{0,80}|.{0,80}\.(?:Dockerfile|dockerfile|def)",
)
_COMMENT = re.compile(r"(?:^|\s)#[^\n]*")
_CLAUSE = re.compile(r"(===?|~=|!=|<=|>=|<|>|\^|=)[ \t]*v?(\d+(?:\.(?:\d+|\*))*)")

#: An operator and a version.
Clause = tuple[str, tuple[int, ...]]


@dataclass(frozen=True)
class Pins:
    """`ways`: sets of clauses that hold together, of which one is installed; `written` as the first file has
    it."""

    ways: tuple[tuple[Clause, ...], ...]
    written: str

    @property
    def exact(self) -> str | None:
        """The one release that all of them say."""
        versions = {clause[0][1] for clause in self.ways if _is_exact(clause)}
        if len(versions) != 1 or not all(map(_is_exact, self.ways)):
            return None
        return ".".join(map(str, versions.pop()))

    def allow(self, version: str) -> bool:
        """Whether one of the ways installs a release such as 4.37.2."""
        numbers = _numbers(version)
        return any(all(_holds(clause, numbers) for clause in way) for way in self.ways)


def is_pinning(name: str, folder: str = "") -> bool:
    """Whether a file, by its name and its folder's, may say which releases are installed."""
    listed = folder == "requirements" and name.endswith((".txt", ".in"))
    return listed or _PINNING.fullmatch(name) is not None


def pins_of(package: str, texts: Iterable[str]) -> Pins | None:
    """Releases of a package that the files of a folder allow. Where some name one release each, others that
    name a range say nothing more."""
    written = [
        each
        for text in texts
        if package_word(package) in text.lower()
        for each in _specifiers(package, text)
    ]
    ways = [(clauses, words) for words in written if (clauses := _clauses(words))]
    exact = [way for way in ways if _is_exact(way[0])]
    chosen = exact or ways
    if not chosen:
        return None
    return Pins(tuple(dict.fromkeys(clauses for clauses, _ in chosen)), chosen[0][1].strip())


def package_word(package: str) -> str:
    """The part of a package's name that every spelling of it has."""
    return re.split(r"[-_.]", package.lower())[0]


def _specifiers(package: str, text: str) -> list[str]:
    """`==4.37.2` of `transformers==4.37.2`, of `transformers = "^4.37"`, of a table of a lock file."""
    name = "[-_.]".join(map(re.escape, re.split(r"[-_.]", package)))
    code = _COMMENT.sub("", text)
    whole = rf"(?<![\w.-]){name}(?:\[[\w, -]{{0,80}}\])?"
    listed = rf"{whole}[ \t]*\(?((?:[=<>!~^]{{1,3}}[ \t]*[\w.*+!-]+[ \t]*,?[ \t]*)+)"
    is_ = r"[\"']?[ \t]*[:=][ \t]*"
    table = rf"{whole}{is_}(?:\{{[^}}\n]{{0,80}}?version{is_})?[\"']([^\"'\n]{{1,60}})[\"']"
    locked = rf"^name = \"{name}\"\nversion = \"([\w.+-]+)\""
    found = [match[1] for match in re.finditer(listed, code, re.IGNORECASE)]
    found += [_of_table(match[1]) for match in re.finditer(table, code, re.IGNORECASE)]
    found += [f"=={match[1]}" for match in re.finditer(locked, code, re.IGNORECASE | re.MULTILINE)]
    return found


def _of_table(text: str) -> str:
    """A version alone, as poetry's tables and setup.py's have it, is that release."""
    return f"=={text}" if text[:1].isdigit() else text


def _clauses(words: str) -> tuple[Clause, ...]:
    return tuple(_clause(match[1], match[2]) for match in _CLAUSE.finditer(words))


def _clause(operator: str, version: str) -> Clause:
    if version.endswith(".*"):
        return ("in" if operator != "!=" else "out", _numbers(version))
    return ("==" if operator in ("=", "===") else operator, _numbers(version))


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part[:9]) for part in re.findall(r"\d+", version)[:4])


def _is_exact(way: tuple[Clause, ...]) -> bool:
    return len(way) == 1 and way[0][0] == "=="


def _holds(clause: Clause, version: tuple[int, ...]) -> bool:
    operator, wanted = clause
    size = max(len(wanted), len(version))
    here, there = (each + (0,) * (size - len(each)) for each in (version, wanted))
    within = version[: len(wanted)] == wanted
    match operator:
        case "==":
            return here == there
        case "!=":
            return here != there
        case "in":
            return within
        case "out":
            return not within
        case "<":
            return here < there
        case "<=":
            # A release stands for its last patch: `<=4.37` allows 4.37.0.
            return here <= there or within
        case ">":
            return here > there
        case ">=":
            return here >= there
        case "~=":
            return here >= there and version[: len(wanted) - 1] == wanted[:-1]
    first = next((place for place, part in enumerate(wanted) if part), 0)
    return here >= there and version[: first + 1] == wanted[: first + 1]
