"""The settings of `target megatron { ... }`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from ...dsl.job import Job
from ...dsl.settings import Data, Decides, Doc, Open
from ..observation import Observation


class Options(Observation):
    """Settings of `target megatron` beside the job. Paths become variables that the environment overrides."""

    version: Annotated[
        Literal["0.14", "0.15", "0.16", "0.17", "0.18", "0.19"],
        Doc("the release of Megatron-LM to write for, by its megatron-core"),
    ] = "0.19"
    path: Annotated[str, Doc("checkout of Megatron-LM, the folder of pretrain_gpt.py")] = (
        "/opt/megatron-lm"
    )
    data: Annotated[
        Data | None,
        Doc("prefixes of tokenised .bin/.idx files, divided by `split`"),
        Decides(),
    ] = None
    train_data: Annotated[
        Data | None,
        Doc("the same for training alone, instead of `data` and `split`"),
        Decides(),
    ] = None
    valid_data: Annotated[Data | None, Doc("for validation, beside `train_data`")] = None
    test_data: Annotated[Data | None, Doc("for the test at the end, beside `train_data`")] = None
    split: Annotated[
        str,
        Doc("shares of `data` for training, validation and test"),
        Decides(),
    ] = "99,1,0"
    sft: Annotated[
        bool,
        Doc("the data are .jsonl files of conversations, packed; only answers are learnt"),
        Decides(),
    ] = False
    prompt_format: Annotated[
        Literal["default", "identity", "nemotron-h-aligned", "nemotron-nano-v2"],
        Doc("sft: how a conversation becomes text; default is the tokenizer's chat template"),
        Decides(),
    ] = "default"
    data_cache: Annotated[
        str | None, Doc("folder for the index files that the data loader builds")
    ] = None
    tokenizer: Annotated[
        str | None,
        Doc("model name, folder or file; without it, token ids are taken as they are"),
        Decides(),
    ] = None
    tokenizer_type: Annotated[
        Literal[
            "HuggingFaceTokenizer", "SentencePieceTokenizer", "Llama2Tokenizer", "TikTokenizer"
        ],
        Doc("how `tokenizer` is read"),
        Decides(),
    ] = "HuggingFaceTokenizer"
    checkpoints: Annotated[str, Doc("folder to save to and resume from")] = "$RUN_DIR/checkpoints"
    save: Annotated[bool, Doc("write checkpoints at all")] = True
    attention_kernel: Annotated[
        Literal["cudnn", "fa2", "fa3"],
        Doc("of fused attention: cuDNN's (on AMD's GPUs their own), or a FlashAttention"),
        Open(
            (
                ("fa2", "needs flash-attn installed"),
                ("fa3", "needs FlashAttention 3 installed"),
            )
        ),
    ] = "cudnn"
    loss_kernel: Annotated[
        Literal["eager", "fused"] | None,
        Doc("steps of the loss one by one, or compiled together; that, but for fp16, unless given"),
    ] = None
    cp_comm: Annotated[
        Literal["p2p", "all_gather", "a2a", "hierarchical"] | None,
        Doc(
            "how context parallelism exchanges keys and values: around a ring, whole, by heads (Ulysses), by "
            "heads inside a ring; unless given, the first of them within 1 % of the fastest"
        ),
        Open(),
    ] = None
    dispatcher: Annotated[
        Literal["alltoall", "deepep", "hybridep"],
        Doc(
            "what carries tokens to experts: NCCL, a token once for each expert, or once for each rank"
        ),
        Open(
            (
                ("deepep", "needs DeepEP installed"),
                ("hybridep", "needs DeepEP's branch hybrid-ep installed"),
            )
        ),
    ] = "alltoall"
    moment_dtype: Annotated[
        Literal["fp32", "bf16"],
        Doc("ZeRO 1 with Adam: in which the optimizer keeps its moments"),
        Open((("bf16", "keeps moments in 16 bits"),)),
        Decides(),
    ] = "fp32"
    fp8_recipe: Annotated[
        Literal["delayed", "tensorwise", "blockwise"] | None,
        Doc(
            "how products in fp8 are scaled: by past maxima, by each tensor's, by blocks of it; unless given "
            "tensorwise from Hopper on (blockwise on it with latent attention and experts), else delayed"
        ),
        Decides(),
    ] = None
    fp8_params: Annotated[
        bool,
        Doc("ZeRO 1 in fp8 or mxfp8: weights are kept as their products read them"),
        Open(),
    ] = True
    cuda_graph: Annotated[
        bool,
        Doc("forward and backward pass of a step are one CUDA graph; no checks for NaN then"),
        Open((("true", "gives up checks for NaN"),)),
    ] = False
    grad_dtype: Annotated[
        Literal["fp32", "bf16"],
        Doc("in which gradients are added up and reduced"),
        Open((("bf16", "adds gradients up in 16 bits"),)),
        Decides(),
    ] = "fp32"
    sequence_parallel: Annotated[
        bool,
        Doc("norms and residuals are divided over tp as well, which experts need"),
        Open(),
    ] = True
    tp_overlap: Annotated[
        bool | None,
        Doc(
            "tensor-parallel traffic in pieces beside its products; dense models in bf16 and fp8 do behind "
            "NVLink switches that sum, unless given"
        ),
        Open(),
    ] = None
    ep_overlap: Annotated[
        bool,
        Doc(
            "tokens travel to experts and back beside another micro-batch's work; needs vpp with pp"
        ),
        Open(),
    ] = False
    dp_overlap: Annotated[
        bool,
        Doc("gradients and updated weights travel beside the computation"),
        Open(),
    ] = True
    extra: Annotated[
        dict[str, str | int | float | bool],
        Doc(
            "any other Megatron-LM option, by its long name; `true` is a switch, `false` leaves one out"
        ),
        Decides(),
    ] = {}


def options_of(job: Job) -> Options:
    """The job's `target megatron` settings, or their defaults."""
    given = job.options("megatron")
    return given if isinstance(given, Options) else Options()


def option_name(key: str) -> str:
    """The option of Megatron-LM that a key of `extra` stands for."""
    return "--" + key.replace("_", "-")


def asked(options: Options) -> Mapping[str, str | int | float | bool]:
    """Options that `extra` gives, by name; `false` leaves one out."""
    return {option_name(key): value for key, value in options.extra.items() if value is not False}
