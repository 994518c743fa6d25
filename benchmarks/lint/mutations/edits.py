"""Edits of one value in a file of a job, of which mutations of formats that parc does not write are made."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence

from benchmarks.lint.mutations.mutation import Files, Mutated, Mutation


def value(path: str, before: str, wrong: Sequence[object], also: str = "") -> Mutation:
    """Gives what stands behind `before` one of the wrong values; `also` must be in the file."""

    def edit(files: Files, chance: random.Random) -> Mutated:
        text = files.get(path, "")
        found = re.search(rf"{before}[^\s\"',}}]+", text)
        if found is None or also not in text:
            return None
        chosen = str(chance.choice(wrong))
        head = re.match(before, found[0])
        start = found.start() + (head.end() if head else 0)
        return {**files, path: text[:start] + chosen + text[found.end() :]}, f"{before}{chosen}"

    edit.__name__ = f"{before} off"
    return edit


def broken(path: str) -> Mutation:
    """A bracket that nothing closes, in a line of its own."""

    def edit(files: Files, chance: random.Random) -> Mutated:
        if path not in files:
            return None
        lines = files[path].split("\n")
        index = chance.choice([i for i, line in enumerate(lines) if re.match(r"\w+:", line)])
        lines.insert(index, "broken: [1,")
        return {**files, path: "\n".join(lines)}, f"a bracket before line {index + 1}"

    return edit
