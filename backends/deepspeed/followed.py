"""Plans of two stages -> why DeepSpeed's engine cannot load the weights of the first into the second."""

from ...compiler.plan import Plan


def unfollowed(previous: Plan, plan: Plan) -> str | None:
    """What `engine.load_checkpoint(..., load_module_only=True)` needs to be equal.

    ZeRO 3 has a file of weights for each rank, a pipeline one for each layer and the other stages one in all,
    of each rank of tensor parallelism (engine.py, _get_all_ckpt_names; pipe/module.py, ckpt_layer_path).
    """
    one, other = previous.layout, plan.layout
    if (one.zero == 3) != (other.zero == 3):
        return f"it is written by ZeRO {one.zero}, and read by ZeRO {other.zero}"
    if one.zero == 3 and (one.gpus, one.hpz) != (other.gpus, other.hpz):
        return f"ZeRO 3 divides it over {one.gpus} GPUs, and reads it on {other.gpus}"
    if (one.pp > 1) != (other.pp > 1):
        return f"it is written by pp {one.pp}, and read by pp {other.pp}"
    if one.tp != other.tp:
        return f"it is written by tp {one.tp}, and read by tp {other.tp}"
    return None
