"""A rule -> its page: what it checks, why, what fails, what is legal, its source. Rules -> an index."""

from collections.abc import Iterable

from .record import default_level, judged_text
from .rule import Rule


def index(rules: Iterable[Rule]) -> str:
    """A table in Markdown whose rows link to pages in the same folder."""
    rows = [
        f"| [{rule.code}]({rule.code}.md) | {rule.name} | {default_level(rule)} | {rule.title} |"
        for rule in rules
    ]
    lines = ["| code | name | level | what |", "| --- | --- | --- | --- |", *rows]
    return "# Rules of `parc lint`\n\n" + "\n".join(lines) + "\n"


def page(rule: Rule) -> str:
    """The page in Markdown."""
    parts = [
        f"# {rule.code} {rule.name}",
        f"{rule.title} ({default_level(rule)})",
        rule.page["What"],
        judged_text(rule),
        "## Why",
        rule.page["Why"].strip(),
    ]
    for heading, title in (("Bad", "Fails"), ("Good", "Passes")):
        command = f"`parc lint {' '.join(rule.arguments(heading))}`"
        parts += [f"## {title}", command, _files(rule, heading)]
    parts += ["## Source", rule.source, "## Suppressing", _suppressing(rule)]
    return "\n\n".join(parts) + "\n"


def _files(rule: Rule, heading: str) -> str:
    return "\n\n".join(
        f"`{name}`\n\n```{_language(name)}\n{text.strip()}\n```"
        for name, text in rule.example(heading).items()
    )


def _language(name: str) -> str:
    kind = name.rpartition(".")[2]
    return {"sh": "bash", "sbatch": "bash", "par": "text"}.get(kind, kind)


def _suppressing(rule: Rule) -> str:
    return f"`# parc: ignore[{rule.code}] reason` on the line, or `--ignore {rule.code}`."
