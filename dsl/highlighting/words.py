"""The words of the language -> groups of words that are coloured alike."""

from __future__ import annotations

from ..evaluation.evaluate import FUNCTIONS, TRUTH
from ..evaluation.goal import CLAUSES
from ..evaluation.imports import BLOCKS
from ..expression import QUANTITIES, VARIABLES

#: Each group with its words; no word is in two.
WORDS: dict[str, tuple[str, ...]] = {
    "blocks": BLOCKS,
    "statements": ("import", "let", "from"),
    "clauses": CLAUSES,
    "operators": ("and", "or", "not", "in"),
    "constants": (*TRUTH, "none"),
    "functions": FUNCTIONS,
    "quantities": tuple(QUANTITIES),
    "decisions": VARIABLES,
}
