"""The settings of `target megatron { ... }`."""

from typing import Annotated, Literal

from pydantic import Field

from ...dsl.job import Doc, Frozen, Unit, Zero

Interval = Annotated[int, Unit("1"), Field(ge=1, le=10**9)]


class Options(Frozen):
    """What the script needs beside the job. Paths become variables that the environment overrides."""

    path: Annotated[str, Doc("checkout of Megatron-LM, the folder of pretrain_gpt.py")] = (
        "/opt/megatron-lm"
    )
    data: Annotated[
        str | None, Doc("prefix of the tokenised .bin/.idx files; without it, synthetic data")
    ] = None
    split: Annotated[str, Doc("shares of the data for training, validation and test")] = "99,1,0"
    data_cache: Annotated[
        str | None, Doc("folder for the index files that the data loader builds")
    ] = None
    tokenizer: Annotated[
        str | None, Doc("model name, folder or file; without it, token ids are taken as they are")
    ] = None
    tokenizer_type: Annotated[
        Literal[
            "HuggingFaceTokenizer", "SentencePieceTokenizer", "Llama2Tokenizer", "TikTokenizer"
        ],
        Doc("how `tokenizer` is read"),
    ] = "HuggingFaceTokenizer"
    checkpoints: Annotated[
        str | None, Doc("folder to save to and resume from; checkpoints/<model> unless given")
    ] = None
    save: Annotated[bool, Doc("write checkpoints at all")] = True
    log_interval: Annotated[Interval, Doc("steps between two log lines")] = 10
    eval_interval: Annotated[Interval, Doc("steps between two evaluations")] = 1000
    eval_iters: Annotated[Zero, Doc("steps of one evaluation; 0 for none")] = 10
    tensorboard: Annotated[str | None, Doc("folder for TensorBoard")] = None
    wandb: Annotated[str | None, Doc("Weights & Biases project")] = None
    aux_loss: Annotated[
        float, Unit("1"), Field(ge=0, le=10), Doc("weight of the loss that balances experts")
    ] = 0.01
    mtp_loss: Annotated[
        float, Unit("1"), Field(ge=0, le=10), Doc("weight of the multi-token-prediction loss")
    ] = 0.1
    extra: Annotated[
        dict[str, str | int | bool], Doc("any other Megatron-LM option, by its long name")
    ] = {}
