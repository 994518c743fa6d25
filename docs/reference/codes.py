"""The pages of codes: an index of every complaint, and a page for each with its cure, example and sources."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache
from itertools import groupby
from pathlib import Path

from docs.tables import markdown
from parc.commands.rules import ListedRule, all_rules
from parc.compiler.codes import MOVED, RETIRED, change
from parc.lint.rule_page import page as page_of_rule
from parc.lint.rules import RULES
from parc.warnings import WARNINGS
from parc.warnings import page as page_of_warning

#: Jobs with one mistake each beside what parc says of it, which the tests keep true.
_CASES = Path(__file__).parents[2] / "tests" / "cases" / "errors"
#: The hundreds of a code, and what they are about.
_FAMILIES = (
    ("PAR0", "The language, the job and the commands"),
    ("PAR1", "Arithmetic of layouts"),
    ("PAR2", "Batches"),
    ("PAR3", "Features and combinations"),
    ("PAR4", "DeepSpeed"),
    ("PAR5", "Precision and memory"),
    ("PAR6", "Launchers and SLURM"),
    ("PAR7", "Performance"),
    ("PAR8", "The text of scripts"),
    ("PAR9", "What could not be read"),
)
_INTRODUCTION = """# Error codes and rules

Every complaint has a code that is never used again. What checks it is the language, a command, `parc
check`, the compiler for all or one of
the targets, a launcher, or a rule of `parc lint` on files; `parc rules CODE` prints the same pages.
"""


def pages(folder: str) -> dict[str, str]:
    """The index below `folder` and a page for each code, by path."""
    found = _by_code()
    made = {f"{folder}/{code}.md": _page(code, rules) for code, rules in found.items()}
    return {f"{folder}/index.md": _index(found), **made}


def _by_code() -> dict[str, list[ListedRule]]:
    rules = sorted(all_rules(), key=lambda rule: (rule.code, rule.origin))
    return {code: list(same) for code, same in groupby(rules, lambda rule: rule.code)}


def _index(found: dict[str, list[ListedRule]]) -> str:
    parts = [_INTRODUCTION.rstrip()]
    for family, title in _FAMILIES:
        rows = [
            (f"[{code}]({code}.md)", rules[0].name, rules[0].text, _origins(rules))
            for code, rules in found.items()
            if code.startswith(family)
        ]
        if rows:
            table = markdown(("code", "name", "what is wrong", "checked by"), _escaped(rows))
            parts += [f"## {title}", table]
    changes = "\n".join(f"- {change(code)}" for code in (*MOVED, *RETIRED))
    return "\n\n".join([*parts, "## Codes that moved or were retired", changes]) + "\n"


def _origins(rules: Sequence[ListedRule]) -> str:
    return ", ".join(rule.origin for rule in rules)


def _escaped(rows: Sequence[Sequence[str]]) -> list[list[str]]:
    return [[cell.replace("|", "\\|") for cell in row] for row in rows]


def _page(code: str, rules: Sequence[ListedRule]) -> str:
    """Lint's or check's own page where there is one, what else checks the code, and an example of a job."""
    own = _own_page(code)
    first = rules[0]
    parts = [own or f"# {code} {first.name}\n\n{first.text[:1].upper()}{first.text[1:]}."]
    others = [rule for rule in rules if not own or rule.origin not in ("lint", "check")]
    if any(map(_said, others)):
        rows = [(rule.origin, _said(rule)) for rule in others]
        parts += ["## Who checks it", markdown(("by", "source, cure"), _escaped(rows))]
    elif not own:
        parts.append(f"Checked by: {_origins(others)}.")
    if not own and code in _examples():
        parts += ["## Example", _example(_examples()[code])]
    return "\n\n".join(part.rstrip() for part in parts) + "\n"


def _own_page(code: str) -> str:
    pages = [page_of_rule(rule) for rule in RULES if rule.code == code]
    pages += [page_of_warning(module) for module in WARNINGS if code == module.CODE]
    return pages[0].replace("\n```text\n", "\n```par\n") if pages else ""


def _said(rule: ListedRule) -> str:
    stricter = f"stricter than the framework: {rule.stricter}" if rule.stricter else ""
    return "; ".join(filter(None, (rule.source, rule.help, stricter)))


@cache
def _examples() -> dict[str, Path]:
    """The shortest case of each code that says this code alone."""
    found: dict[str, Path] = {}
    for said in sorted(_CASES.glob("*.txt"), key=lambda path: (path.stat().st_size, path.name)):
        codes = set(re.findall(r"^\w+\[(PAR\d{3})\]", said.read_text(), re.MULTILINE))
        job = said.with_suffix(".par")
        if len(codes) == 1 and _printable(job):
            found.setdefault(codes.pop(), job)
    return found


def _printable(job: Path) -> bool:
    """Whether a page can show the job: some cases are of bytes that are no text, or need other files."""
    try:
        text = job.read_text("utf-8")
    except UnicodeDecodeError:
        return False
    return bool(text.strip()) and "```" not in text and len(text) < 4000


def _example(job: Path) -> str:
    said = job.with_suffix(".txt").read_text()
    return f"```par\n{job.read_text().rstrip()}\n```\n\n```text\n{said.rstrip()}\n```"
