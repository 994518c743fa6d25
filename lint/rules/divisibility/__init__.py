"""Rules on multiples: heads, widths, vocabulary, experts and sequence that tp, cp and ep must divide."""

from . import (
    context_heads,
    hidden_heads,
    kv_heads_tp,
    query_groups,
    seq_split,
    ulysses,
    vocab_tp,
)

MODULES = (
    kv_heads_tp,
    vocab_tp,
    ulysses,
    seq_split,
    hidden_heads,
    query_groups,
    context_heads,
)
