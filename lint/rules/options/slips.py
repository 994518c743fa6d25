"""How far a word is from another one, to tell a slip from a word of its own."""


def distance(text: str, other: str) -> int:
    """How many letters must be put in, taken out or replaced (Levenshtein)."""
    row = list(range(len(other) + 1))
    for above, letter in enumerate(text, 1):
        last, row[0] = row[0], above
        for index, wanted in enumerate(other, 1):
            best = min(row[index] + 1, row[index - 1] + 1, last + (letter != wanted))
            last, row[index] = row[index], best
    return row[-1]
