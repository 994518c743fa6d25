"""Plans of two stages -> why Megatron-LM cannot load the weights of the first into the second."""

from ...compiler.plan import Plan


def unfollowed(previous: Plan, plan: Plan) -> tuple[str, str] | None:
    """torch_dist is loaded across tp, pp, ep and dp (checkpointing.py, load_checkpoint with `finetune`);
    Megatron-FSDP reads and writes fsdp_dtensor alone, which no other layout reads."""
    one, other = previous.layout, plan.layout
    if (one.zero >= 2) != (other.zero >= 2):
        wrote, reads = _format(one.zero), _format(other.zero)
        why = f"zero {one.zero} writes {wrote}, and zero {other.zero} reads {reads}"
        return (
            why,
            "`require zero <= 1` or `require zero >= 2` in the goal, which holds for each stage",
        )
    return None


def _format(zero: int) -> str:
    return "fsdp_dtensor" if zero >= 2 else "torch_dist"
