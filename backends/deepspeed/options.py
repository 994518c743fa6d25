"""Settings of `target deepspeed { ... }`, and the configuration keys that they may add."""

from typing import Annotated, Literal

from ...dsl.job import Job
from ...dsl.settings import Data, Decides, Doc, Open
from ..huggingface.families import windowed
from ..observation import Observation
from ..written_options import WrittenOptions


class Options(Observation):
    """Settings of `target deepspeed` beside the layout. Paths become variables with these defaults."""

    version: Annotated[
        Literal["0.15", "0.16", "0.17", "0.18", "0.19"],
        Doc("the release of DeepSpeed to write for"),
    ] = "0.19"
    model: Annotated[
        Literal["native", "hf"],
        Doc(
            "parc's own PyTorch model, or a Llama (with tensor parallelism), Qwen2 or Qwen3 of transformers"
        ),
        Decides(),
    ] = "native"
    data: Annotated[
        Data | None,
        Doc("flat files of token ids to train on; made-up sequences unless given"),
        Decides(),
    ] = None
    valid_data: Annotated[
        Data | None, Doc("the same for evaluation, which does not happen unless given")
    ] = None
    data_dtype: Annotated[
        Literal["uint16", "uint32"] | None,
        Doc("type of the ids; from the vocabulary unless given"),
        Decides(),
    ] = None
    save: Annotated[
        str | None, Doc("folder for checkpoints, which a restart resumes from; `none` writes none")
    ] = "$RUN_DIR/checkpoints"
    accumulate: Annotated[
        Literal["fp32", "compute"],
        Doc("dtype that sums gradients over micro-batches: fp32, or that of the computation"),
        Open((("compute", "adds gradients up in 16 bits"),)),
        Decides(),
    ] = "fp32"
    adam: Annotated[
        Literal["fused", "torch"],
        Doc("Adam kernel: DeepSpeed's own, compiled at the first start, or PyTorch's"),
    ] = "fused"
    attention_kernel: Annotated[
        Literal["cudnn", "fa2"] | None,
        Doc("kernel of attention; PyTorch chooses among those that it has unless given"),
        Open(),
    ] = None
    norm_kernel: Annotated[
        Literal["eager", "fused"] | None,
        Doc("norms in one kernel or several; fused in parc's own model, eager in hf unless given"),
        Open(),
    ] = None
    loss_kernel: Annotated[
        Literal["eager", "fused"],
        Doc("the loss in PyTorch's kernels or compiled"),
        Open(),
    ] = "eager"
    grad_dtype: Annotated[
        Literal["fp32", "bf16"] | None,
        Doc("in which gradients are reduced; that of the computation unless given"),
        Open((("bf16", "reduces gradients in 16 bits"),)),
        Decides(),
    ] = None
    tp_overlap: Annotated[
        bool,
        Doc("hf: gradients that tensor parallelism adds up travel beside products"),
        Open(),
    ] = False
    dp_overlap: Annotated[
        bool,
        Doc("gradients of stages 2 and 3 and weights of stage 3 travel beside computation"),
        Open(),
    ] = True
    extra: Annotated[
        dict[str, str | int | float | bool],
        Doc("other keys of ds_config.json; a dot enters a section, as in `zero_optimization.x`"),
        Decides(),
    ] = {}


#: Settings that the text of train.py has made, and model.json names: whose model, and with which kernels.
CHOSEN = ("model", "attention_kernel", "norm_kernel", "loss_kernel")


def options_of(job: Job) -> Options:
    """The job's settings for DeepSpeed, or the defaults."""
    found = job.options("deepspeed")
    return found if isinstance(found, Options) else Options()


def written_options(job: Job) -> WrittenOptions:
    return WrittenOptions(job, "deepspeed", "DeepSpeed", options_of(job).version)


def hugging_face(job: Job) -> bool:
    """Whether the model is one of transformers."""
    return options_of(job).model == "hf"


def wide_gradients(job: Job) -> bool:
    """Whether gradients are reduced in fp32."""
    return options_of(job).grad_dtype == "fp32"


def sums_in_fp32(job: Job) -> bool:
    """Whether the gradients of several micro-batches are to be summed in fp32; stage 0 cannot."""
    return options_of(job).accumulate == "fp32"


def evaluates(job: Job) -> bool:
    """Whether the run measures its loss on data that it does not train on."""
    options = options_of(job)
    return options.valid_data is not None and options.eval_iters > 0


def alternating(job: Job) -> bool:
    """Whether some layers see all keys and others the window."""
    return windowed(job) and 1 < job.model.full_attention_every <= job.model.layers


def masked(job: Job) -> bool:
    """Whether attention takes a mask, which asks for as many key heads as query heads."""
    return job.train.attention == "unfused" or windowed(job) or job.model.attention_sinks


def mask_bytes(job: Job) -> int:
    """The cached mask of each kind of layer, a byte for each score, and its 16-bit form in the kernel."""
    if job.train.attention == "unfused" or not masked(job):
        return 0
    kinds = 2 if alternating(job) and job.model.attention_sinks else 1
    return (kinds + 2) * job.train.seq_len**2
