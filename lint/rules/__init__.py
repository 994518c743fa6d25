"""The rules, by family and in the order of their codes; a rule that its family does not list does not run."""

from types import ModuleType

from ..rule import Rule, rule_of
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
    row_rules,
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
        (*(rule_of(module) for family in FAMILIES for module in family.MODULES), *row_rules.RULES),
        key=lambda rule: rule.code,
    )
)


def _of(module: ModuleType) -> Rule:
    return next(rule for rule in RULES if rule.code == module.CODE)


UNKNOWN_FACT = _of(coverage.unknown_fact)
NOT_READ = _of(coverage.not_read)
UNUSED_IGNORE = _of(coverage.unused_ignore)
