"""Facts in the words of a plan: what `read(emit(plan))` gives back, whatever a framework calls it."""

from collections.abc import Iterable

from ..compiler.plan import Plan
from ..reading.facts import Fact, Unknown, Value


def plan_facts(plan: Plan) -> dict[str, Value]:
    """The facts of a plan that launch files of every framework state."""
    layout, model, train = plan.layout, plan.job.model, plan.job.train
    return {
        "nodes": layout.nodes,
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "gpus": layout.gpus,
        "tp": layout.tp,
        "pp": layout.pp,
        "vpp": layout.vpp,
        "cp": layout.cp,
        "ep": layout.ep,
        "dp": layout.dp,
        "zero": layout.zero,
        "micro_batch": layout.micro_batch,
        "global_batch": train.global_batch,
        "seq_len": train.seq_len,
        "layers": model.layers,
        "hidden": model.hidden,
        "heads": model.heads,
        "kv_heads": model.heads if model.mla else model.groups,
        "precision": train.precision,
        "recompute": layout.recompute_name,
    }


def in_plan_words(facts: Iterable[Fact]) -> tuple[Fact, ...]:
    """The facts of launch files as a plan would say them.

    `bf16+fp8` and `bf16=True` are the plan's `fp8` and `bf16`; without DeepSpeed the plan's `zero` is
    what Megatron's own options shard; the micro-batch is what a pipeline's stage takes; what a trainer fills
    in later (`auto`) is unknown.
    """
    given = {fact.name: fact for fact in facts}
    small = given.pop("pipeline_micro_batch", None)
    if small is not None:
        given["micro_batch"] = Fact(
            "micro_batch", small.value, small.path, small.line, small.column
        )
    sharding = given.pop("sharding", None)
    if sharding is not None and given.get("zero", sharding).value in ("none", sharding.value):
        given["zero"] = Fact("zero", sharding.value, sharding.path, sharding.line, sharding.column)
    return tuple(
        Fact(fact.name, _plan_word(fact.name, fact.value), fact.path, fact.line, fact.column)
        for fact in given.values()
    )


def _plan_word(name: str, value: Value | Unknown) -> Value | Unknown:
    if not isinstance(value, str):
        return value
    if "auto" in value.replace("=", "+").split("+"):
        return Unknown(f"`{value}` is filled in by the trainer")
    if value == "invalid":
        return Unknown("the degrees do not divide the GPUs")
    if name == "precision":
        parts = [part.removesuffix("=True") for part in value.split("+")]
        return parts[-1] if parts[-1] in ("fp8", "mxfp8", "nvfp4") else parts[0]
    return value
