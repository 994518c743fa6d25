"""A stage's plan -> what a layout needs so that DeepSpeed's engine loads its weights into the next stage."""

from ...compiler.plan import Plan
from ...dsl.job import Job
from ..following import Need


def needs(previous: Plan, job: Job) -> tuple[Need, ...]:
    """Degrees that `engine.load_checkpoint` needs to be equal, for the weights alone or for the moments too.

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
    if job.train.carry == "all" and wrote.zero < 3:
        # backends/deepspeed/resume.py: stages 1 and 2 save the same shards, of as many ranks.
        shards = "files of a rank's moments"
        zero = Need("zero", "==", 0, shards) if wrote.zero == 0 else Need("zero", ">=", 1, shards)
        below = Need("zero", "<=", 2, "files that ZeRO 3 does not read")
        equal = (("pp", wrote.pp), ("gpus", wrote.gpus))
        return (zero, below, *(Need(name, "==", value, shards) for name, value in equal), *whole)
    if wrote.zero < 3:
        return (Need("zero", "<=", 2, "files that ZeRO 3 does not read"), *whole)
    divided = "a file for each rank of ZeRO 3"
    ranks = (("gpus", wrote.gpus), ("hpz", wrote.hpz))
    own = Need("zero", "==", 3, "files that ZeRO 3 alone reads")
    return (own, *(Need(name, "==", value, divided) for name, value in ranks), *whole)
