"""Cautions of a plan for settings that a job leaves out: made-up data, experts that nothing balances."""

from collections.abc import Callable
from typing import Any

from ..compiler.target import Refusal
from ..dsl.job import Job


def _unbalanced(job: Job) -> str | None:
    model = job.model
    if not model.moe or model.aux_loss or model.router_bias_rate or model.experts == model.topk:
        return None
    return f"nothing balances the {model.experts} experts: aux_loss and router_bias_rate are 0"


UNBALANCED = Refusal(
    "PAR376",
    "unbalanced-experts",
    "nothing balances the experts",
    _unbalanced,
    ("model", "experts"),
    "aux_loss = 0.001, or router_bias_rate = 0.001",
)


def _says_data(options: Any) -> bool:
    return options.data is not None


def made_up_data(target: str, says_data: Callable[[Any], bool] = _says_data) -> Refusal:
    """Warns of a target whose data are not said: it trains on made-up tokens.

    `says_data(options)` tells whether its options name them, or ask for made-up ones.
    """

    def asked(job: Job) -> str | None:
        options = job.options(target)
        if options is None or says_data(options):
            return None
        return f"{target}: no `data` is set, so it trains on made-up tokens"

    return Refusal(
        "PAR375",
        "no-data",
        "training on made-up data by default",
        asked,
        ("target", target),
        'data = "...", or `data = synthetic` to choose made-up tokens',
    )
