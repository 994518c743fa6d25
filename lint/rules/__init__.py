"""The rules, by family and in the order of their codes; a rule that its family does not list does not run."""

from ..rule import rule_of
from . import (
    batch,
    checkpoints,
    combinations,
    coverage,
    deepspeed,
    divisibility,
    drift,
    launcher,
    layout,
    options,
    performance,
    precision,
    script,
    slurm_directives,
    slurm_lifetime,
    slurm_resources,
)

FAMILIES = (
    layout,
    divisibility,
    drift,
    batch,
    combinations,
    options,
    deepspeed,
    precision,
    performance,
    launcher,
    slurm_directives,
    slurm_resources,
    slurm_lifetime,
    checkpoints,
    script,
    coverage,
)

RULES = tuple(
    sorted(
        (rule_of(module) for family in FAMILIES for module in family.MODULES),
        key=lambda rule: rule.code,
    )
)
UNKNOWN_FACT = next(rule for rule in RULES if rule.module is coverage.unknown_fact)
NOT_READ = next(rule for rule in RULES if rule.module is coverage.not_read)
UNUSED_IGNORE = next(rule for rule in RULES if rule.module is coverage.unused_ignore)
