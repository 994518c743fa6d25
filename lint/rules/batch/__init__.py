"""Global batch, micro-batch, replicas and accumulation, and what a pipeline needs of them."""

from . import (
    batch_dp,
    batch_missing,
    batch_triple,
    few_microbatches,
    generation_groups,
    openrlhf_batch,
    rampup,
    two_sources,
    verl_batch,
)

MODULES = (
    batch_dp,
    rampup,
    few_microbatches,
    batch_triple,
    batch_missing,
    two_sources,
    verl_batch,
    generation_groups,
    openrlhf_batch,
)
