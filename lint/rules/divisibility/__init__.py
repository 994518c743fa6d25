"""Rules on multiples: heads, widths, vocabulary, experts and sequence that tp, cp and ep must divide."""

from . import (
    context_heads,
    expert_bias_etp,
    expert_ffn_etp,
    experts_ep,
    ffn_tp,
    heads_tp,
    hidden_heads,
    kv_heads_tp,
    query_groups,
    seq_positions,
    seq_split,
    ulysses,
    vocab_tp,
)

MODULES = (
    heads_tp,
    kv_heads_tp,
    ffn_tp,
    vocab_tp,
    experts_ep,
    ulysses,
    expert_ffn_etp,
    expert_bias_etp,
    seq_split,
    seq_positions,
    hidden_heads,
    query_groups,
    context_heads,
)
