"""Megatron-LM's list of which layers have experts: `[0]*3+[1]*58`."""

import re

_TERM = re.compile(r"\[([01](?:,[01])*)\](?:\*(\d+))?")


def length_of(text: str) -> int | None:
    """Entries of a sum of lists such as [0]*3+[1]*58; None for anything else."""
    terms = [_TERM.fullmatch(term) for term in text.split("+")]
    if not text.startswith("[") or not all(terms):
        return None
    return sum(len(term[1].split(",")) * int(term[2] or 1) for term in terms if term)
