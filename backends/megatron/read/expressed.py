"""Options of Megatron-LM that `parc import` understands, and those that train the same without a word."""

from collections.abc import Callable, Iterator, Mapping

from ....compiler.checkpoints import KEPT, spread
from ....reading.facts import LaunchConfig, Setting, dashed, number_of, text_of
from ..emit.schedule import STYLES
from ..stack import WHOLE_STEP
from ..transformer_engine import FORMATS
from . import spelling
from .ramp import batch_ramp
from .target_block import distributed_optimizer, options

#: Sizes and shape of the model.
_MODEL = """
    --num-layers --hidden-size --ffn-hidden-size --num-attention-heads --num-query-groups --kv-channels
    --group-query-attention --max-position-embeddings --position-embedding-type --seq-length
    --vocab-size --padded-vocab-size --normalization --norm-epsilon --swiglu --squared-relu
    --quick-geglu --glu-linear-offset --activation-func-clamp-value --disable-bias-linear --add-qkv-bias
    --qk-layernorm --init-method-std --untie-embeddings-and-output-weights --rotary-base
    --use-rotary-position-embeddings --rope-type --use-rope-scaling --rope-scaling-factor
    --rotary-scaling-factor --rotary-seq-len-interpolation-factor --mscale --mscale-all-dim
    --yarn-beta-fast --yarn-beta-slow --yarn-original-max-position-embeddings
    --no-yarn-correction-range-round-to-int --softmax-type --window-size --window-attn-skip-freq
    --multi-latent-attention --q-lora-rank --kv-lora-rank --qk-head-dim --qk-pos-emb-head-dim
    --v-head-dim --mtp-num-layers --mtp-loss-scaling-factor --attention-head-type
"""
_EXPERTS = """
    --num-experts --moe-router-topk --moe-ffn-hidden-size --moe-layer-freq
    --moe-shared-expert-intermediate-size --moe-aux-loss-coeff --moe-z-loss-coeff
    --moe-router-score-function --moe-router-pre-softmax --moe-router-enable-expert-bias
    --moe-router-bias-update-rate --moe-router-num-groups --moe-router-group-topk
    --moe-router-topk-scaling-factor --moe-router-load-balancing-type
"""
_LAYOUT = """
    --tensor-model-parallel-size --pipeline-model-parallel-size --context-parallel-size --zero-stage
    --expert-model-parallel-size --expert-tensor-parallel-size --num-virtual-stages-per-pipeline-rank
    --num-layers-per-virtual-pipeline-stage --sequence-parallel --use-distributed-optimizer
    --use-megatron-fsdp --data-parallel-sharding-strategy --use-torch-fsdp2
    --optimizer-cpu-offload --optimizer-offload-fraction --use-precision-aware-optimizer
    --overlap-cpu-optimizer-d2h-h2d
    --torch-fsdp2-no-reshard-after-forward --micro-batch-size --recompute-granularity
    --recompute-activations --recompute-method --recompute-num-layers --recompute-modules --deepspeed
    --deepspeed-config --ds-config
"""
_TRAINING = """
    --global-batch-size --step-batch-size-schedule --rampup-batch-size --train-iters --train-samples
    --bf16 --fp16 --fp8-recipe --fp4-format --fp4-recipe
    --optimizer --adam-beta1 --adam-beta2 --sgd-momentum --muon-momentum --lr
    --min-lr --weight-decay --clip-grad --hidden-dropout --attention-dropout --attention-backend --seed
    --lr-decay-style --lr-decay-iters --lr-decay-samples --lr-warmup-iters --lr-warmup-samples
    --lr-warmup-fraction --lr-wsd-decay-style --lr-wsd-decay-iters --lr-wsd-decay-samples
    --save-interval --save-retain-interval --async-save --distributed-timeout-minutes
"""
_TARGET = """
    --data-path --train-data-path --valid-data-path --test-data-path --mock-data --split
    --data-cache-path --tokenizer-type --tokenizer-model --sft --sft-tokenizer-prompt-format --save
    --tensorboard-dir --wandb-project --log-interval --eval-interval --eval-iters --profile
    --use-pytorch-profiler --profile-step-start --profile-step-end
    --flash-attention-version --cross-entropy-loss-fusion --cross-entropy-fusion-impl --cuda-graph-impl
    --te-rng-tracker --no-check-for-nan-in-loss-and-grad --overlap-grad-reduce --overlap-param-gather
    --moe-flex-dispatcher-backend --moe-enable-deepep --exp-avg-dtype --exp-avg-sq-dtype
    --overlap-moe-expert-parallel-comm --tp-comm-overlap --grad-reduce-in-bf16 --fp8-param-gather
    --reuse-grad-buf-for-mxfp8-param-ag
"""
#: Where things are written, loaded and shown, and how often.
_WATCHED = """
    --load --ckpt-format --async-strategy --use-persistent-ckpt-worker --ckpt-fully-parallel-load
    --ckpt-assume-constant-structure --dist-ckpt-strictness --auto-detect-ckpt-format
    --dist-ckpt-optim-fully-reshardable
    --exit-signal-handler --eval-global-batch-size --log-throughput --log-timers-to-tensorboard
    --log-params-norm --log-num-zeros-in-grad --log-memory-to-tensorboard
    --log-validation-ppl-to-tensorboard --log-world-size-to-tensorboard --log-batch-size-to-tensorboard
    --log-loss-scale-to-tensorboard --log-progress --timing-log-level --timing-log-option
    --tensorboard-queue-size --tensorboard-log-interval --wandb-exp-name --wandb-save-dir --wandb-entity
    --flight-recorder-dump-path --flight-recorder-include-stack-trace
    --profile-ranks --no-barrier-with-level-1-timing --logging-level
"""
#: Kernels, transfers and placement, which parc chooses by itself: the same is trained with any of them.
_CHOSEN = """
    --use-mcore-models --transformer-impl --use-flash-attn --cp-comm-type
    --no-gradient-accumulation-fusion --init-model-with-meta-device
    --no-rope-fusion --no-masked-softmax-fusion --no-bias-gelu-fusion --no-bias-swiglu-fusion
    --no-bias-dropout-fusion --no-persist-layer-norm --moe-grouped-gemm --moe-permute-fusion
    --moe-router-fusion --moe-token-dispatcher-type --moe-router-padding-for-quantization
    --no-create-attention-mask-in-dataloader
    --num-workers --dataloader-type --manual-gc --manual-gc-interval --distributed-backend --local-rank
    --ddp-bucket-size --fp8-amax-history-len --fp8-amax-compute-algo --moe-router-dtype
    --accumulate-allreduce-grads-in-fp32 --distributed-timeout-seconds-after-init
"""

EXPRESSED = frozenset(
    " ".join([_MODEL, _EXPERTS, _LAYOUT, _TRAINING, _TARGET, _WATCHED, _CHOSEN]).split()
) | frozenset((
    spelling.ULYSSES, spelling.RECOMPUTE_METHOD, *spelling.NAMES, *spelling.KV_HEADS, *spelling.FP8,
    *spelling.RECOMPUTE_ALL, *spelling.RECOMPUTE_GRANULARITY,
))  # fmt: skip
"""Names of options that a job says, that parc decides, or that only concern logs and places."""


def _other_dropout(config: LaunchConfig, setting: Setting) -> bool:
    """The language has one dropout; Megatron-LM's two are 0.1 unless given."""
    hidden = text_of(config.option("--hidden-dropout")) or "0.1"
    return _number(text_of(setting)) != _number(hidden)


def _flash_of_no_version(config: LaunchConfig) -> bool:
    """Whichever FlashAttention is installed, which no job says."""
    flash = text_of(config.option("--attention-backend")) == "flash"
    return flash and not config.given("--flash-attention-version")


def _other_span(config: LaunchConfig, setting: Setting) -> bool:
    """The rate falls until the run ends."""
    unit = dashed(setting.name).removeprefix("--lr-decay-")
    total = number_of(config.option(f"--train-{unit}"))
    constant = text_of(config.option("--lr-decay-style")) == "constant"
    return not constant and number_of(setting) != total


def _not_read(name: str) -> Callable[[LaunchConfig, Setting], bool]:
    return lambda config, setting: name not in options(config)


def _other_retention(config: LaunchConfig, setting: Setting) -> bool:
    """Neither the newest alone, nor those that stay unless a job says how many."""
    steps, interval = (
        number_of(config.option(name)) for name in ("--train-iters", "--save-interval")
    )
    retained = number_of(setting) or 0
    if not steps or not interval or retained > steps:
        return False
    return retained != spread(int(steps), int(interval), KEPT)


#: Options that are expressed with some of their values alone, and whether theirs is another.
OTHER: Mapping[str, Callable[[LaunchConfig, Setting], bool]] = {
    "--lr-decay-style": lambda config, setting: text_of(setting) not in STYLES.values(),
    "--lr-decay-iters": _other_span,
    "--lr-decay-samples": _other_span,
    "--step-batch-size-schedule": lambda config, setting: batch_ramp(config) is None,
    "--rampup-batch-size": lambda config, setting: batch_ramp(config) is None,
    "--attention-dropout": _other_dropout,
    "--optimizer": lambda config, setting: text_of(setting) not in ("adam", "sgd", "muon"),
    "--save-retain-interval": _other_retention,
    "--tokenizer-type": lambda config, setting: (
        text_of(setting) not in ("NullTokenizer", "SFTTokenizer", "HuggingFaceTokenizer")
        and "tokenizer_type" not in options(config)
    ),
    "--data-path": _not_read("data"),
    "--train-data-path": _not_read("train_data"),
    "--valid-data-path": _not_read("valid_data"),
    "--test-data-path": _not_read("test_data"),
    "--profile": _not_read("profile_start"),
    "--attention-backend": lambda config, setting: (
        text_of(setting) == "local" or _flash_of_no_version(config)
    ),
    "--transformer-impl": lambda config, setting: text_of(setting) != "transformer_engine",
    "--flash-attention-version": lambda config, setting: "attention_kernel" not in options(config),
    "--cross-entropy-fusion-impl": lambda config, setting: text_of(setting) == "te",
    "--cuda-graph-impl": lambda config, setting: text_of(setting) not in ("none", WHOLE_STEP),
    "--fp8-recipe": lambda config, setting: text_of(setting) not in FORMATS,
    "--fp8-param-gather": lambda config, setting: not distributed_optimizer(config),
    "--optimizer-offload-fraction": lambda config, setting: _number(text_of(setting)) != 1,
    "--use-precision-aware-optimizer": lambda config, setting: (
        not config.given("--optimizer-cpu-offload") and "moment_dtype" not in options(config)
    ),
    "--moe-flex-dispatcher-backend": lambda config, setting: (
        text_of(setting) not in ("deepep", "hybridep")
    ),
    "--exp-avg-dtype": _not_read("moment_dtype"),
    "--exp-avg-sq-dtype": _not_read("moment_dtype"),
    "--fp4-recipe": lambda config, setting: text_of(setting) != "nvfp4",
}


def unexpressed(config: LaunchConfig) -> Iterator[Setting]:
    """Options of a launched command that no job says, in their order; the last of a name counts."""
    last = {dashed(setting.name): setting for setting in config.all("argument")}
    for name, setting in last.items():
        if not name.startswith("--"):
            continue
        if name not in EXPRESSED or (name in OTHER and OTHER[name](config, setting)):
            yield setting


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None
