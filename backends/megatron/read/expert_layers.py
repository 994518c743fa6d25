"""Megatron-LM's lists of layers: `[0]*3+[1]*58` says which have experts, `[1,1,1,0]*6` which have windows."""

import re

_TERM = re.compile(r"\[([01](?:,[01])*)\](?:\*(\d{1,4}))?")


def entries(text: str) -> list[int] | None:
    """Entries of a sum of lists such as [0]*3+[1]*58; None for anything else."""
    terms = [_TERM.fullmatch(term) for term in text.replace(" ", "").split("+")]
    if not text.startswith("[") or not all(terms):
        return None
    return [
        int(entry) for term in terms if term for entry in term[1].split(",") * int(term[2] or 1)
    ]


def length_of(text: str) -> int | None:
    found = entries(text)
    return None if found is None else len(found)
