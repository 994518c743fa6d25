"""The verdict on a change of layout -> what `parc reshape` prints, or JSON."""

from __future__ import annotations

from collections.abc import Iterator

from parc.backends.resume import CHANGES, PARTS, WORDS, Change, Cure, Row, Saved, Verdict

from .plan_json import JsonObject
from .words.numbers import counted
from .words.paragraphs import words

ANSWERS = {
    "whole": "NEW resumes OLD whole.",
    "losses": "NEW resumes OLD, with losses.",
    "no": "NEW does not resume OLD as it stands.",
}
KINDS = {
    "setting": "compile NEW with `{}`",
    "option": "start NEW with `{}`",
    "command": "run once, before NEW: `{}`",
}


def resume_text(verdict: Verdict) -> str:
    lines = [
        *words("OLD  ", _side(verdict.old)),
        *words("NEW  ", _side(verdict.new)),
        *(
            line
            for note in verdict.old.notes
            for line in words("", f"{note[0].upper()}{note[1:]}.")
        ),
        "",
        _answer(verdict),
    ]
    if verdict.problem:
        return "\n".join([*lines[:-1], *words("", f"NEW does not resume OLD: {verdict.problem}.")])
    lines += ["", *(line for row in _rows(verdict) for line in row)]
    if not verdict.changes:
        lines.append("Nothing that a checkpoint depends on differs.")
    elif verdict.answer != "no":
        lines += ["", *words("", "; ".join(_parts(verdict)) + ".")]
    if verdict.answer != "whole":
        lines += _cures(verdict)
    lines += _folder(verdict)
    return "\n".join(lines)


def _answer(verdict: Verdict) -> str:
    said = ANSWERS[verdict.answer]
    if not verdict.untold or verdict.answer == "no":
        return said
    return f"{said[:-1]}, as far as the checkpoint tells: not its {', '.join(verdict.untold)}."


def _side(side: Saved) -> str:
    degrees = (f"{name} {side.layout[name]}" for name in CHANGES if _tells(side, name))
    forms = (f"{name} {value}" for name, value in side.form.items())
    step = () if side.step is None else (f"step {side.step:,} of {counted(side.ranks, 'rank')}",)
    told = [f"{side.framework} {side.release}".strip(), *step, *degrees, *forms]
    return f"{side.name}: {' · '.join(told)}"


def _tells(side: Saved, name: str) -> bool:
    return name in side.layout and (side.layout[name] > 1 or name in ("dp", "zero"))


def _rows(verdict: Verdict) -> Iterator[list[str]]:
    """The outcomes, with the changes of which it is told."""
    for row in dict.fromkeys(change.row for change in verdict.changes):
        changes = [each for each in verdict.changes if each.row == row]
        if row is None or row.stops or row.lost or row.note:
            named = ", ".join(f"{each.name} {each.old} → {each.new}" for each in changes)
            yield [*words("  ", f"{named}: {_outcome(row)}"), *(words("    ", _told(row)))]


def _outcome(row: Row | None) -> str:
    if row is None:
        return "not known whether it resumes"
    if row.stops:
        return "stops"
    return f"loses {_listed(row.lost)}" if row.lost else "resumes"


def _told(row: Row | None) -> str:
    """The framework's words or ours, and its line."""
    return "" if row is None else f"{row.stops or row.note} ({row.source})"


def _listed(parts: tuple[str, ...]) -> str:
    return " and ".join(WORDS[part] for part in parts)


def _parts(verdict: Verdict) -> Iterator[str]:
    found = verdict.parts
    for state in dict.fromkeys(found.values()):
        yield f"{state}: {', '.join(WORDS[part] for part in PARTS if found[part] == state)}"


def _cures(verdict: Verdict) -> Iterator[str]:
    if verdict.cures:
        yield from ("", "To resume it, one of:" if len(verdict.cures) > 1 else "To resume it:")
    for cure in verdict.cures:
        yield from words("  - ", _cure(cure))
    for text in verdict.before:
        yield from ("", *words("", f"What OLD would have needed before its first run: {text}."))


def _folder(verdict: Verdict) -> Iterator[str]:
    """Where NEW finds the checkpoint, of jobs whose names differ."""
    old, new = verdict.old.folder, verdict.new.folder
    if old and new and old != new:
        said = f"NEW's own folder is runs/{new}: start it with RUN_DIR=runs/{old}, which is OLD's."
        yield from ("", *words("", said))


def _cure(cure: Cure) -> str:
    lost = f"; loses {_listed(cure.lost)}" if cure.lost else ""
    return f"{KINDS[cure.kind].format(cure.text)}: {cure.why}{lost}"


def resume_json(verdict: Verdict) -> JsonObject:
    return {
        "resumes": verdict.answer,
        "problem": verdict.problem or None,
        "old": _side_json(verdict.old),
        "new": _side_json(verdict.new),
        "parts": dict(verdict.parts),
        "changes": [_change_json(change) for change in verdict.changes],
        "cures": [
            {"kind": cure.kind, "text": cure.text, "why": cure.why, "lost": list(cure.lost)}
            for cure in verdict.cures
        ],
        "before": list(verdict.before),
        "untold": list(verdict.untold),
    }


def _side_json(side: Saved) -> JsonObject:
    said = {"name": side.name, "target": side.framework, "release": side.release or None}
    run = {"run_folder": side.folder or None}
    read = (
        {}
        if side.step is None
        else {"step": side.step, "ranks": side.ranks, "notes": list(side.notes)}
    )
    return {**said, **run, **read, "layout": dict(side.layout), "form": dict(side.form)}


def _change_json(change: Change) -> JsonObject:
    said: JsonObject = {"name": change.name, "old": change.old, "new": change.new}
    if (row := change.row) is None:
        return said | {"resumes": None}
    told = {"stops": row.stops or None, "lost": list(row.lost), "note": row.note}
    return said | {"resumes": not row.stops, **told, "source": row.source}
