"""The settings of fine-tuning: which weights are trained, and the adapters beside those that are not."""

from typing import Annotated, Literal

from pydantic import Field

from .settings import Count, Doc, Frozen, Unit

#: What is trained of a checkpoint: all of it, adapters beside 16-bit weights, or beside 4-bit ones.
Tune = Literal["full", "lora", "qlora"]
#: `learning_rate` unless given: of all weights (LLaMA-Factory, examples/train_full/llama3_full_sft.yaml), and
#: of adapters (Dettmers et al. 2023, arXiv 2305.14314, table 9: 2e-4 up to 13B).
LEARNING_RATES: dict[str, float] = {"full": 1e-5, "lora": 2e-4, "qlora": 2e-4}


Rank = Annotated[Count, Doc("lora: width between an adapter's two matrices")]
Alpha = Annotated[
    float,
    Unit("1"),
    Field(gt=0, le=1e6),
    Doc("lora: what an adapter adds is multiplied by alpha / rank"),
]
Targets = Annotated[
    Literal["attention", "linear"],
    Doc("lora: the projections of attention, or those of the feed-forward too"),
]
Dropout = Annotated[
    float, Unit("1"), Field(ge=0, lt=1), Doc("lora: share of an adapter's inputs set to zero")
]


class Adapters(Frozen):
    """The adapters of `tune = lora` and `qlora`: two matrices beside each target, of which the product is
    added to it (Hu et al. 2021, arXiv 2106.09685, 4.1). Routed experts have none."""

    rank: Rank = 16
    alpha: Alpha = 32.0
    targets: Targets = "linear"
    dropout: Dropout = 0.0


#: Those of a job that says no more of them.
USUAL = Adapters()
