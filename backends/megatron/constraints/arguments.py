"""Megatron-LM's rules for its options: a row a rule, with the line of its source."""

from ....compiler.target import Codes, Effect
from ...constraints import AtMost, Clash, Constraints, Ignored, Multiple, Need, OneOf, Range, Words
from .. import context_ways
from ..option_rows import ROWS

_SHARDED = ("--use-distributed-optimizer", "--use-megatron-fsdp", "--use-torch-fsdp2")
_FP8 = ("--fp8-format", "--fp8-hybrid", "--fp8-e4m3", "--fp8")
_NARROW = (*_FP8, "--fp4-format")
_PRECISE = ("--use-precision-aware-optimizer",)
_LAYOUT = "--pipeline-model-parallel-layout"
_FIRST = "--decoder-first-pipeline-num-layers"
_LAST = "--decoder-last-pipeline-num-layers"
_EMBEDDING = "--account-for-embedding-in-pipeline-split"
_LOSS = "--account-for-loss-in-pipeline-split"
_CHUNK_LAYERS = "--num-layers-per-virtual-pipeline-stage"
_CHUNKS = "--num-virtual-stages-per-pipeline-rank"
_INTERLEAVED = (_CHUNKS, _CHUNK_LAYERS, _LAYOUT)
_GROWING = ("--weight-decay-incr-style linear", "--weight-decay-incr-style cosine")
_ALL_TO_ALL = ("--moe-token-dispatcher-type alltoall", "--moe-token-dispatcher-type flex")
_BIASED = ("--moe-router-score-function sigmoid", "--moe-router-score-function sqrtsoftplus")
_INFERENCE = ("--transformer-impl inference_optimized",)

NEEDS = (
    Need("--overlap-param-gather", (*_SHARDED[:2], "--optimizer dist_muon"), "arguments.py:1026"),
    Need("--overlap-param-gather", ("--overlap-grad-reduce",), "arguments.py:1028"),
    Need("--tp-comm-overlap", ("--sequence-parallel",), "arguments.py:1442"),
    Need("--overlap-param-gather-with-optimizer-step", _SHARDED[:1], "arguments.py:1067"),
    Need("--overlap-param-gather-with-optimizer-step", ("--overlap-param-gather",), "arguments.py:1069"),
    Need("--optimizer-cpu-offload", _PRECISE, "arguments.py:1885"),
    Need("--main-grads-dtype", _PRECISE, "optimizer_config.py:470", Range.NOT_FP32),
    Need("--main-params-dtype", _PRECISE, "optimizer_config.py:470", Range.NOT_FP32),
    Need("--exp-avg-dtype", _PRECISE, "optimizer_config.py:472", Range.NOT_FP32),
    Need("--exp-avg-sq-dtype", _PRECISE, "optimizer_config.py:476", Range.NOT_FP32),
    Need("--fp8-param-gather", ("--fp8-format",), "transformer_config.py:1567"),
    Need("--fp8-param-gather", _SHARDED, "arguments.py:1096"),
    Need("--moe-ffn-hidden-size", ("--num-experts",), "transformer_config.py:1702"),
    Need("--expert-model-parallel-size", ("--num-experts",), "arguments.py:1656", Range.ABOVE_ONE),
    Need(
        "--moe-shared-expert-overlap", _ALL_TO_ALL, "transformer_config.py:1824",
        where="--moe-shared-expert-intermediate-size",
    ),
    Need("--delay-wgrad-compute", ("--overlap-moe-expert-parallel-comm",), "transformer_config.py:3075"),
    Need(
        "--moe-expert-capacity-factor", (_ALL_TO_ALL[0], f"{_ALL_TO_ALL[0]}_seq"),
        "core_v0.11.0 transformer_config.py:508", since="0.7", until="0.12",
    ),
    Need(
        "--moe-pad-expert-input-to-capacity", ("--moe-expert-capacity-factor",), "transformer_config.py:1865"
    ),
    Need(
        "--moe-router-topk", ("--moe-router-pre-softmax", "--moe-router-score-function sigmoid"),
        "transformer_config.py:2669", "1", "softmax over one expert is always 1", since="0.9",
    ),
    Need("--moe-enable-deepep", _ALL_TO_ALL[1:], "transformer_config.py:1591"),
    Need("--moe-router-enable-expert-bias", _BIASED, "transformer_config.py:2287"),
    Need("--position-embedding-type", ("--mrope-section",), "arguments.py:1589", "mrope", since="0.12"),
    Need("--cp-comm-type", ("--hierarchical-context-parallel-sizes",), "arguments.py:582", "a2a+p2p"),
    Need(
        "--recompute-granularity", ("--recompute-method", "--activations-checkpoint-method"),
        "transformer_config.py:1916", "full",
    ),
    Need(
        "--recompute-granularity", ("--recompute-num-layers",), "transformer_config.py:1920", "full",
        since="0.4",
    ),
    Need(
        "--distribute-saved-activations", ("--recompute-granularity full",), "arguments.py:1411"
    ),
    Need("--use-megatron-fsdp", ("--ckpt-format fsdp_dtensor",), "arguments.py:1144", since="0.14"),
    Need("--ckpt-format", ("--use-megatron-fsdp",), "arguments.py:1664", "fsdp_dtensor"),
    Need("--ckpt-format", ("--use-torch-fsdp2",), "arguments.py:1670", "torch_dcp"),
    Need("--fsdp-manual-registration", ("--use-megatron-fsdp",), "arguments.py:1190"),
    Need("--fsdp-manual-registration", ("--use-nccl-ub",), "arguments.py:1190"),
    Need("--save", ("--save-interval",), "arguments.py:1362"),
    Need(
        "--async-save", ("--use-persistent-ckpt-worker",), "arguments.py",
        why="without it Megatron-LM saves synchronously", since="0.17", effect=Effect.WORSE,
    ),
    Need("--hybrid-context-parallel", ("--calculate-per-token-loss",), "arguments.py:1449"),
    Need("--hybrid-context-parallel", ("--dataloader-type single",), "arguments.py:1448"),
    Need(
        "--cuda-graph-impl", ("--no-check-for-nan-in-loss-and-grad",), "arguments.py:1236", "full_iteration"
    ),
    Need("--overlap-param-gather-with-optimizer-step", _INTERLEAVED, "arguments.py:1072"),
    Need("--overlap-p2p-communication-warmup-flush", _INTERLEAVED, "model_parallel_config.py:573"),
    Need(
        "--defer-embedding-wgrad-compute", ("--pipeline-model-parallel-size",), "model_parallel_config.py:547"
    ),
    Need("--sharp-enabled-group", ("--use-sharp",), "parallel_state.py:791", since="0.14"),
    Need(
        "--reuse-grad-buf-for-mxfp8-param-ag", ("--fp8-param-gather",),
        "distributed_data_parallel_config.py:260", since="0.14",
    ),
    Need("--fp4-param-gather", ("--fp4-format",), "arguments.py:1105", since="0.15"),
    Need("--fp8-output-proj", ("--fp8-format",), "transformer_config.py:1571", since="0.18"),
    Need("--fp16-lm-cross-entropy", ("--fp16",), "arguments.py:1373"),
    Need(
        "--batch-invariant-mode", ("--attention-backend flash",), "transformer_config.py:3218", since="0.16"
    ),
    Need(
        "--fine-grained-activation-offloading", ("--offload-modules",), "transformer_config.py:2131",
        since="0.16",
    ),
    Need(
        "--offload-modules", ("--offload-modules core_attn",), "transformer_config.py:2150", "attn_proj",
        since="0.16", where="--fine-grained-activation-offloading",
    ),
    *(
        Need(
            "--cuda-graph-modules", ("--num-experts",), "transformer_config.py:2829", part,
            since="0.18", where="--cuda-graph-impl",
        )
        for part in ("moe", "moe_router")
    ),
    Need(
        "--use-te-activation-func", ("--no-bias-swiglu-fusion", "--no-bias-gelu-fusion"),
        "transformer_config.py:2448", since="0.15",
    ),
    Need("--mla-down-proj-fusion", ("--multi-latent-attention",), "arguments.py:1977", since="0.17"),
    Need(
        "--experimental-attention-variant", ("--linear-attention-freq",), "transformer_config.py:1477",
        "gated_delta_net", since="0.16",
    ),
    Need("--moe-latent-size", ("--num-experts",), "arguments.py:1982", since="0.16"),
    Need("--moe-single-grouped-weight", ("--moe-grouped-gemm",), "transformer_config.py:1710", since="0.18"),
    Need("--moe-single-grouped-bias", ("--moe-grouped-gemm",), "transformer_config.py:1710", since="0.18"),
    Need(
        "--moe-expert-rank-capacity-factor",
        ("--moe-flex-dispatcher-backend hybridep", "--moe-flex-dispatcher-backend ncclep"),
        "transformer_config.py:1871", since="0.18",
    ),
    Need(
        "--moe-paged-stash", ("--moe-expert-rank-capacity-factor",), "transformer_config.py:2215",
        since="0.18",
    ),
    *(
        Need(f"--moe-router-padding-for-{what}", needs, f"transformer_config.py:{line}", since=first)
        for what, first in (("fp8", "0.14"), ("quantization", "0.16"))
        for needs, line in ((_NARROW, 2652), (_ALL_TO_ALL, 2322))
    ),
    Need(
        "--moe-router-group-topk", ("--moe-router-num-groups",), "transformer_config.py:2344", since="0.14"
    ),
    Need(
        "--overlap-moe-expert-parallel-comm", ("--expert-model-parallel-size",), "transformer_config.py:3015",
        since="0.14",
    ),
    Need(
        "--ep-overlap-early-attn-memory-release", ("--overlap-moe-expert-parallel-comm",),
        "transformer_config.py:3097", since="0.16",
    ),
    Need("--start-weight-decay", _GROWING, "arguments.py:1394"),
    Need("--end-weight-decay", _GROWING, "arguments.py:1395"),
    *(
        Need("--weight-decay-incr-style", (other,), "arguments.py:1399", style)
        for style in ("linear", "cosine")
        for other in ("--start-weight-decay", "--end-weight-decay")
    ),
    Need("--inference-fuse-tp-communication", _INFERENCE, "transformer_config.py:3181", since="0.16"),
    Need("--inference-disable-triton-nvls-kernels", _INFERENCE, "transformer_config.py:3190", since="0.17"),
    Need(
        "--inference-batch-times-seqlen-threshold", ("--pipeline-model-parallel-size",), "arguments.py:1857"
    ),
    *(
        Need(
            "--inference-cuda-graph-scope", ("--cuda-graph-impl local",), "arguments.py:651", scope,
            since="0.18",
        )
        for scope in ("layer", "block")
    ),
    *(
        Need("--use-torch-fsdp2", (other,), "arguments.py:1039-1044")
        for other in (
            "--no-gradient-accumulation-fusion", "--untie-embeddings-and-output-weights",
        )
    ),
    Need("--load-main-params-from-ckpt", ("--no-load-optim",), "arguments.py:1812", since="0.14"),
    Need("--logits-save-dir", ("--logits-save-top-k",), "arguments.py:1826", since="0.19"),
    Need("--replication", ("--replication-jump",), "arguments.py:1897", since="0.12"),
    Need("--replication", ("--non-persistent-ckpt-type local",), "arguments.py:1898", since="0.12"),
    Need(
        "--non-persistent-ckpt-type", ("--non-persistent-local-ckpt-dir",), "arguments.py:1895", "local",
        since="0.12",
    ),
    Need("--ckpt-convert-format", ("--ckpt-convert-save",), "arguments.py:393"),
    *(
        Need(
            "--fp8-recipe", _FP8, "core/fp8_utils.py, get_fp8_context", recipe,
            "without a format products stay in 16 bits", effect=Effect.IGNORES,
        )
        for recipe in ("tensorwise", "blockwise", "mxfp8")
    ),
)  # fmt: skip

EXCLUDES = (
    Clash("--group-query-attention", "--multi-latent-attention", "arguments.py:1974", since="0.16"),
    Clash("--step-batch-size-schedule", "--global-batch-size", "arguments.py:699"),
    Clash("--train-iters", "--train-samples", "arguments.py:1279"),
    Clash("--train-iters", "--lr-decay-samples", "arguments.py:1282", "--lr-decay-iters"),
    Clash("--train-iters", "--lr-warmup-samples", "arguments.py:1284", "--lr-warmup-iters"),
    Clash("--train-samples", "--lr-decay-iters", "arguments.py:1293", "--lr-decay-samples"),
    Clash("--train-samples", "--lr-warmup-iters", "arguments.py:1295", "--lr-warmup-samples"),
    Clash("--lr-warmup-fraction", "--lr-warmup-iters", "arguments.py:1287"),
    Clash("--lr-warmup-fraction", "--lr-warmup-samples", "arguments.py:1300"),
    Clash("--fp8-format", "--fp4-format", "arguments.py:1101"),
    Clash(_FIRST, _EMBEDDING, "transformer_config.py:2235"),
    Clash(_FIRST, _LOSS, "transformer_config.py:2235"),
    Clash(_LAST, _EMBEDDING, "transformer_config.py:2235"),
    Clash(_LAST, _LOSS, "transformer_config.py:2235"),
    Clash(_FIRST, _CHUNK_LAYERS, "arguments.py:955", _CHUNKS),
    Clash(_LAST, _CHUNK_LAYERS, "arguments.py:955", _CHUNKS),
    *(Clash(_LAYOUT, other, "transformer_config.py:2253") for other in (_FIRST, _LAST, _EMBEDDING, _LOSS)),
    Clash(_LAYOUT, _CHUNK_LAYERS, "arguments.py:928"),
    Clash(_LAYOUT, _CHUNKS, "arguments.py:928"),
    Clash(_CHUNKS, _CHUNK_LAYERS, "arguments.py:928"),
    Clash(
        "--use-distributed-optimizer", "--optimizer sgd", "optimizer/distrib_optimizer.py:689",
        "--optimizer adam",
    ),
    Clash(
        "--recompute-granularity selective", "--recompute-method", "arguments.py:1426",
        "drop it, or --recompute-granularity full",
    ),
    Clash(
        "--recompute-granularity selective", "--recompute-num-layers", "transformer_config.py:1929",
        "drop it, or --recompute-granularity full",
    ),
    Clash(
        "--recompute-activations", "--recompute-method", "arguments.py:1426", "--recompute-granularity full"
    ),
    Clash("--sequence-parallel", "--distribute-saved-activations", "transformer_config.py:1937"),
    Clash("--use-torch-fsdp2", "--pipeline-model-parallel-size > 1", "arguments.py:1033"),
    Clash("--use-torch-fsdp2", "--expert-model-parallel-size > 1", "arguments.py:1035"),
    Clash("--use-torch-fsdp2", "--use-distributed-optimizer", "arguments.py:1037"),
    Clash("--use-torch-fsdp2", "--fp16", "arguments.py:1045"),
    *(
        Clash("--use-torch-fsdp2", f"--ckpt-format {form}", "arguments.py:1041")
        for form in ("torch", "zarr", "fsdp_dtensor")
    ),
    Clash("--use-megatron-fsdp", "--use-torch-fsdp2", "arguments.py:1144"),
    Clash(
        "--cpu-offloading-num-layers", "--pipeline-model-parallel-size > 1", "transformer_config.py:1890"
    ),
    Clash("--cpu-offloading-num-layers", "--recompute-granularity", "transformer_config.py:1895"),
    Clash(
        "--cross-entropy-loss-fusion", "--cross-entropy-fusion-impl te", "arguments.py:1698", since="0.19"
    ),
    *(
        Clash("--overlap-moe-expert-parallel-comm", other, "transformer_config.py:3003-3050")
        for other in ("--moe-shared-expert-overlap", "--recompute-granularity full")
    ),
    *(
        Clash("--recompute-granularity full", f"--cuda-graph-impl {impl}", "transformer_config.py:2858")
        for impl in ("local", "transformer_engine")
    ),
    *(
        Clash("--recompute-granularity full", older, "transformer_config.py:2858", since="0.16")
        for older in ("--enable-cuda-graph", "--external-cuda-graph")
    ),
    Clash("--enable-cuda-graph", "--external-cuda-graph", "arguments.py:593"),
    *(
        Clash(older, f"--cuda-graph-impl {impl}", "arguments.py:589", "drop the former", since="0.15")
        for older in ("--enable-cuda-graph", "--external-cuda-graph")
        for impl in ("local", "transformer_engine", "full_iteration")
    ),
    Clash("--cuda-graph-impl full_iteration", "--cuda-graph-modules", "transformer_config.py:2796"),
    Clash(
        "--defer-embedding-wgrad-compute", "--no-gradient-accumulation-fusion", "model_parallel_config.py:550"
    ),
    Clash(
        _INFERENCE[0], "--swiglu", "transformer_config.py:1491", since="0.18", until="0.20",
        where="--num-experts",
    ),
    Clash("--deterministic-mode", "--cross-entropy-loss-fusion", "determinism.py:24"),
    Clash("--deterministic-mode", "--tp-comm-overlap", "determinism.py:24", since="0.19"),
    Clash("--num-layers", "--encoder-num-layers", "arguments.py:1306", "drop the latter"),
    Clash("--seq-length", "--encoder-seq-length", "arguments.py:1347", "drop the latter"),
    *(
        Clash(
            "--overlap-param-gather-with-optimizer-step", f"--ckpt-format {form}", "arguments.py:1074",
            "--ckpt-format torch",
        )
        for form in ("torch_dist", "zarr", "fsdp_dtensor")
    ),
    Clash("--overlap-param-gather", "--save-params-interval", "arguments.py:1368", since="0.16"),
    Clash(
        "--data-parallel-sharding-strategy optim_grads_params",
        "--check-weight-hash-across-dp-replicas-interval", "arguments.py:1163", where="--use-megatron-fsdp",
    ),
    Clash("--mock-data", "--fim-data", "arguments.py:1692", since="0.16"),
    Clash("--hybrid-context-parallel", "--pipeline-model-parallel-size > 1", "arguments.py:1445"),
    Clash("--hybrid-context-parallel", "--use-megatron-fsdp", "arguments.py:1447"),
)  # fmt: skip

#: The data of training has one source.
SOURCES = OneOf(
    (
        "--mock-data",
        "--data-path",
        "--train-data-path",
        "--data-args-path",
        "--per-split-data-args-path",
    ),
    "data source",
    "arguments.py:1679",
)

MULTIPLES = (
    Multiple("--save-retain-interval", "--save-interval", "arguments.py:1366", since="0.14"),
    Multiple("--log-memory-interval", "--log-interval", "arguments.py:1370", since="0.16"),
    Multiple(
        "--tensor-parallel-num-weight-shards",
        "--tensor-model-parallel-size",
        "model_parallel_config.py:33",
        since="0.19",
    ),
)

#: Accepted and ignored by the validators of 0.18.0, 0.19.2 and 0.20.
IGNORED = (
    Ignored("--rampup-batch-size", "0.18", "--step-batch-size-schedule", "global_vars.py"),
    Ignored("--use-mcore-models", "0.8"),
    Ignored("--use-dist-ckpt", "0.9"),
    Ignored("--dist-ckpt-format", "0.9", "--ckpt-format"),
    Ignored("--ckpt-fully-parallel-save", "0.9"),
    Ignored("--disable-msc", "0.19"),
    Ignored("--enable-cuda-graph", "0.17", "--cuda-graph-impl local"),
    Ignored("--external-cuda-graph", "0.17", "--cuda-graph-impl transformer_engine"),
)

#: What its configuration looks at, and its parser takes as any text.
WORDS = tuple(
    Words(row.name, row.checked, "arguments.py, transformer_config.py")
    for row in ROWS.rows
    if row.checked
)

#: Codes of rows about options that `extra` may say.
CODES: Codes = {
    "PAR303": ("option-needs", "an option without another one that it needs"),
    "PAR312": ("options-exclude", "two options that exclude each other"),
    "PAR331": ("interval-multiple", "an interval that is not a multiple of another"),
}

CONSTRAINTS: Constraints = {
    "PAR132": (
        AtMost("--seq-length", "--max-position-embeddings", "arguments.py:1354", raised=True),
    ),
    "PAR303": (*NEEDS, *context_ways.NEEDS),
    "PAR312": (*EXCLUDES, *context_ways.CLASHES, SOURCES),
    "PAR313": IGNORED,
    "PAR316": (AtMost("--min-lr", "--lr", "arguments.py:1360"),),
    "PAR317": (AtMost("--moe-router-topk", "--num-experts", "moe_utils.py, topk_routing"),),
    "PAR331": MULTIPLES,
    "PAR373": WORDS,
}
