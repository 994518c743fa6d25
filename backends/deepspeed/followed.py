"""Plans of two stages -> why DeepSpeed's engine cannot load the weights of the first into the second."""

from ...compiler.plan import Plan


def unfollowed(previous: Plan, plan: Plan) -> tuple[str, str] | None:
    """What `engine.load_checkpoint(..., load_module_only=True)` needs to be equal, and how it becomes so.

    ZeRO 3 has a file of weights for each rank, a pipeline one for each layer and the other stages one in all,
    of each rank of tensor parallelism (engine.py, _get_all_ckpt_names; pipe/module.py, ckpt_layer_path).
    """
    one, other = previous.layout, plan.layout
    if (one.zero == 3) != (other.zero == 3):
        return f"ZeRO {one.zero} wrote it, and ZeRO {other.zero} reads it", _require("zero <= 2")
    if one.zero == 3 and (one.gpus, one.hpz) != (other.gpus, other.hpz):
        wrote, reads = (f"{each.gpus} GPUs, hpz {each.hpz}" for each in (one, other))
        why = f"ZeRO 3 divided it over {wrote}, and reads it on {reads}"
        return (
            why,
            f"`require zero <= 2` in the goal, or one number of nodes and `require hpz == {one.hpz}`",
        )
    if (one.pp > 1) != (other.pp > 1):
        return f"pp {one.pp} wrote it, and pp {other.pp} reads it", _require("pp == 1")
    if one.tp != other.tp:
        return f"tp {one.tp} wrote it, and tp {other.tp} reads it", _require(f"tp == {one.tp}")
    return None


def _require(condition: str) -> str:
    return f"`require {condition}` in the goal, which holds for each stage"
