"""A small sound job for tests of the language, and a backend's settings with one field of every kind."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field

from parc.dsl import Job, JobError, loads
from parc.dsl.settings import Data, Doc, Unit


class Options(BaseModel):
    """A backend's settings, with one field of every kind."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    data: str | None = None
    buffer: Annotated[int, Unit("B"), Field(ge=0), Doc("bucket size")] = 0
    interval: Annotated[float | None, Unit("s")] = None
    mode: Literal["fast", "very-safe"] = "fast"
    plain: bool = False
    extra: dict[str, str | int | bool] = {}
    lines: tuple[str, ...] = ()
    corpus: Data | None = None


TARGETS = {"alpha": Options, "beta": Options}
MODEL = "model { layers = 4; hidden = 512; heads = 8; ffn = 2048; vocab = 32000 }\n"
CLUSTER = "cluster pod from std.dgx_h100 { nodes = 2 }\n"
TRAIN = "train { seq_len = 1024; global_batch = 64; tokens = 1G }\n"
TARGET = "target alpha { }\n"


def job(
    *, model: str = MODEL, cluster: str = CLUSTER, train: str = TRAIN, more: str = "", **change: Any
) -> Job:
    return loads(model + cluster + train + TARGET + more, targets=TARGETS, **change)


def codes(call: Any, *args: Any, **named: Any) -> list[str]:
    with pytest.raises(JobError) as error:
        call(*args, **named)
    return [diagnostic.code for diagnostic in error.value.diagnostics]


GOAL = """goal {
  maximize mfu; minimize cost
  require memory <= 50%            : "half"
  require 2 <= tp <= 8 and pp not in {3, 5}
  forbid recompute == full or schedule == 1f1b
  prefer micro_batch in 2..4
  require model.layers % pp == 0 and gpus * 2 >= cluster.gpus_per_node
  require days <= 30 d and tokens_per_second >= 1M tokens/s
  require max(tp, pp) < 16 and ceil(dp / 3) <= log2(4Ki)
  require memory in 10 GiB..40 GiB
  require recompute in {none, selective}
}
"""
