"""A job's model -> which of torchtitan's models it is, and what that one has of the language."""

from ...dsl.job import Job
from ..capability import HOPPER, older_nvidia
from ..render import identifier
from .releases import Family, release


def family(job: Job) -> Family:
    """The model of torchtitan that has these blocks.

    llama3 is plain: heads of hidden / heads, own output matrix (0.3.0 ties it too). qwen3 has any head size,
    per-head norms, tied embeddings and experts in every layer (Mixtral's blocks are Qwen3's without the
    norms). deepseek_v3 alone has latent attention, gpt_oss alone sinks.
    """
    model = job.model
    if model.mla:
        return "deepseek_v3"
    if model.attention_sinks:
        return "gpt_oss"
    tied = model.tied and not release(job).python
    odd = model.head_size * model.heads != model.hidden
    return "qwen3" if model.moe or tied or model.qk_norm or odd else "llama3"


def flavor(job: Job) -> str:
    return f"parc_{identifier(job.model.name or job.name)}"


ROUTER = {"router_sigmoid", "router_without_norm", "router_scale", "router_groups", "router_bias"}
#: Of gpt_oss alone, always there.
SINKS = {"sinks", "alternating_windows", "glu_clamp", "glu_offset"}
#: First weights are drawn by the emitted model.
WEIGHTS = {"init_std", "init_unscaled"}


def features(job: Job) -> set[str]:
    """Names of `model_features.FEATURES` that the job's model has in the job's release."""
    kind = family(job)
    rope = release(job).rope.get(kind, frozenset())
    return ROUTER | WEIGHTS | rope | (SINKS if kind == "gpt_oss" else set())


def has_grouped_matmul(job: Job) -> bool:
    """torch._grouped_mm: deepseek_v3 uses it from SM90 on (deepseek_v3/model/args.py:95), qwen3 always."""
    return not older_nvidia(job, HOPPER)
