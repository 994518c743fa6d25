"""A rule -> its page: what it checks, why, what fails, what is legal, where it comes from."""

from __future__ import annotations

from .rule import Rule


def page(rule: Rule) -> str:
    """The page in Markdown."""
    parts = [
        f"# {rule.code} {rule.name}",
        f"{rule.title} ({rule.severity})",
        rule.page["What"],
        "## Why",
        rule.page["Why"].strip(),
    ]
    for heading, title in (("Bad", "Fails"), ("Good", "Passes")):
        parts += [f"## {title}", _files(rule, heading)]
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
