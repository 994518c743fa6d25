"""A stage's plan -> what a layout needs so that DeepSpeed's engine loads its weights into the next stage."""

from ...compiler.plan import Plan
from ..following import Need


def needs(previous: Plan) -> tuple[Need, ...]:
    """What `engine.load_checkpoint(..., load_module_only=True)` needs to be equal.

    ZeRO 3 has a file of weights for each rank, a pipeline one for each layer and the other stages one in all,
    of each rank of tensor parallelism (engine.py, _get_all_ckpt_names; pipe/module.py, ckpt_layer_path).
    """
    wrote = previous.layout
    whole = (
        (
            Need("pp", ">=", 2, "a pipeline's files, one a layer")
            if wrote.pp > 1
            else Need("pp", "==", 1, "files of a model without a pipeline")
        ),
        Need("tp", "==", wrote.tp, "a file for each rank of tensor parallelism"),
    )
    if wrote.zero < 3:
        return (Need("zero", "<=", 2, "files that ZeRO 3 does not read"), *whole)
    divided = "a file for each rank of ZeRO 3"
    ranks = (("gpus", wrote.gpus), ("hpz", wrote.hpz))
    own = Need("zero", "==", 3, "files that ZeRO 3 alone reads")
    return (own, *(Need(name, "==", value, divided) for name, value in ranks), *whole)
