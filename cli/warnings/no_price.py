"""The goal asks for a cost, and the cluster has no price.

Why:
`price` is 0 unless given: every layout costs nothing, and the cheapest is any of them.

Bad:
cluster from dgx_h100 { nodes = 2 }
goal { minimize cost }

Good:
cluster from dgx_h100 { nodes = 2; price = 2.5 $/h }
goal { minimize cost }
"""

from collections.abc import Iterator

from parc.dsl.diagnostics import Diagnostic, Span
from parc.dsl.expression import names
from parc.dsl.job import Goal

from .read_job import ReadJob, warned

CODE = "PAR070"
TITLE = "a price of 0 beside a goal of cost"
SOURCE = ""


def check(read: ReadJob) -> Iterator[Diagnostic]:
    cluster = read.job.cluster
    if cluster.price:
        return
    for span in _costs(read.job.goal):
        help = "say `price = ... $/h` in the cluster, for one GPU"
        yield warned(CODE, "every layout costs 0 $: the cluster has no price", span, help)


def _costs(goal: Goal) -> Iterator[Span]:
    """Where the goal speaks of cost."""
    yield from (each.span for each in goal.objectives if each.quantity == "cost")
    yield from (each.span for each in goal.constraints if "cost" in names(each.expression))
