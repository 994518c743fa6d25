"""Megatron-LM: the options of each feature."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.plan import Layout
from parc.dsl import std_model
from parc.dsl.diagnostics import JobError
from parc.dsl.hardware import Gpu
from tests.support import sample_plans
from tests.support.megatron_plans import (
    DENSE,
    MOE,
    PLANS,
    arguments,
    plan_of,
    script_of,
    with_model,
)

#: Plan -> runs of words that its arguments hold, and options that they lack.
EXPECTED = {
    "one_gpu": (
        [
            "--position-embedding-type learned_absolute",
            "--normalization LayerNorm",
            "--mock-data",
            "--max-position-embeddings 1024",
        ],
        "--swiglu --disable-bias-linear --untie-embeddings-and-output-weights --overlap-grad-reduce "
        "--rotary-base --tensor-model-parallel-size --recompute-granularity --num-experts",
    ),
    "plain_dp": (["--overlap-grad-reduce"], "--use-distributed-optimizer --overlap-param-gather"),
    "dp": (
        [
            "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
            "--group-query-attention --num-query-groups 8",
            "--ckpt-format torch_dist",
            "--lr 0.0003 --lr-decay-style cosine --min-lr 3e-05",
            "--lr-decay-iters 10000 --lr-warmup-iters 500",
        ],
        "--use-megatron-fsdp --sequence-parallel --kv-channels",
    ),
    "zero2": (["--data-parallel-sharding-strategy optim_grads"], "--init-model-with-meta-device"),
    "zero3": (
        [
            "--use-megatron-fsdp --data-parallel-sharding-strategy optim_grads_params",
            "--no-gradient-accumulation-fusion --init-model-with-meta-device",
            "--ckpt-format fsdp_dtensor",
            "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1",
        ],
        "--recompute-modules",
    ),
    "tp_pp": (
        [
            "--tensor-model-parallel-size 4 --sequence-parallel --tp-comm-overlap",
            "--pipeline-model-parallel-size 2",
            "--recompute-granularity selective --recompute-modules core_attn",
        ],
        "--pipeline-model-parallel-layout --num-virtual-stages-per-pipeline-rank --recompute-method",
    ),
    "fine": (
        ["--recompute-granularity selective --recompute-modules layernorm moe_act"],
        "mla_up_proj core_attn --recompute-method",
    ),
    "whole_moe": (
        ["--recompute-granularity selective --recompute-modules layernorm moe"],
        "moe_act core_attn --recompute-method",
    ),
    "whole_moe_latent": (["--recompute-modules layernorm mla_up_proj mlp moe"], "moe_act"),
    "fine_latent": (["--recompute-modules layernorm mla_up_proj mlp moe_act"], "core_attn"),
    "fine_delayed": (["--recompute-modules mla_up_proj mlp"], "layernorm moe_act"),
    "fine_sequential": (["--recompute-modules layernorm"], "moe_act"),
    "odd_sequence": (["--tensor-model-parallel-size 2"], "--sequence-parallel"),
    "vpp": (["--num-virtual-stages-per-pipeline-rank 2"], "--pipeline-model-parallel-layout"),
    "context": (["--context-parallel-size 8 --cp-comm-type a2a"], "--sequence-parallel"),
    "layout_string": (
        ["--pipeline-model-parallel-layout Et*2|(t*3|)*6t*2|(t*3|)*3tL"],
        "--num-virtual-stages-per-pipeline-rank",
    ),
    "llama3_405b": (
        [
            "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
            "--num-query-groups 8",
        ],
        "--decoder-first-pipeline-num-layers",
    ),
    "mixtral": (
        [
            "--num-experts 8 --moe-router-topk 2 --moe-ffn-hidden-size 14336",
            "--moe-token-dispatcher-type alltoall --moe-grouped-gemm",
            "--expert-model-parallel-size 8 --expert-tensor-parallel-size 1",
        ],
        "--moe-layer-freq --moe-shared-expert-intermediate-size",
    ),
    "llama3_1": (
        ["--rotary-base 500000 --use-rope-scaling --rope-scaling-factor 8.0"],
        "--rotary-scaling-factor --rope-type",
    ),
    "linear_rope": (
        [
            "--position-embedding-type rope --rotary-base 500000",
            "--rotary-seq-len-interpolation-factor 4",
        ],
        "--use-rope-scaling",
    ),
    "deepseek_v2": (
        [
            "--position-embedding-type rope",
            "--rope-type yarn --rotary-scaling-factor 40.0 --mscale 0.707 --mscale-all-dim 0.707",
            "--moe-router-pre-softmax --moe-router-topk-scaling-factor 16.0",
            "--moe-router-load-balancing-type seq_aux_loss --moe-aux-loss-coeff 0.001",
        ],
        "--no-rope-fusion --kv-channels",
    ),
    "gpt_oss": (
        [
            "--position-embedding-type yarn --rotary-base 150000 --rotary-scaling-factor 32.0",
            "--yarn-original-max-position-embeddings 4096 --yarn-beta-fast 32.0 --yarn-beta-slow 1.0",
            "--no-yarn-correction-range-round-to-int --mscale 1.0 --mscale-all-dim 0.0",
            "--window-size 127,0 --window-attn-skip-freq 2 --softmax-type learnable",
            "--quick-geglu",
            "--moe-grouped-gemm --moe-permute-fusion --no-bias-dropout-fusion",
            "--glu-linear-offset 1.0 --activation-func-clamp-value 7.0",
        ],
        "--swiglu --disable-bias-linear --no-bias-gelu-fusion --rope-type",
    ),
    "sequential_experts": (
        ["--num-experts 8", "--moe-token-dispatcher-type alltoall"],
        "--moe-grouped-gemm --moe-permute-fusion",
    ),
    "clamped_swiglu": (
        ["--glu-linear-offset 1.0 --activation-func-clamp-value 7.0 --no-bias-swiglu-fusion"],
        "--quick-geglu",
    ),
    "weights": (
        [f"--pretrained-checkpoint=runs/{PLANS['weights'].run.folder}/checkpoints-first"],
        "--finetune",
    ),
    "odd_heads": (["--kv-channels 128"], "--num-query-groups"),
    "expert_tp": (
        ["--expert-model-parallel-size 4 --expert-tensor-parallel-size 4"],
        "--mtp-num-layers",
    ),
    "deepseek_v3": (
        [
            "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128",
            "--qk-pos-emb-head-dim 64 --v-head-dim 128 --rope-type rope --no-rope-fusion",
            "--mtp-num-layers 1",
            "--moe-layer-freq ([0]*3+[1]*58)",
            "--moe-shared-expert-intermediate-size 2048",
            "--bf16 --fp8-format hybrid --fp8-recipe delayed",
            "--moe-router-padding-for-quantization",
            "--recompute-granularity full --recompute-method block --recompute-num-layers 2",
        ],
        "--group-query-attention --kv-channels",
    ),
    "gpt3": (
        ["--fp16 --accumulate-allreduce-grads-in-fp32", "--hidden-dropout 0.1"],
        "--bf16 --disable-bias-linear --use-distributed-optimizer",
    ),
    "qwen3": (["--qk-layernorm", "--norm-epsilon 1e-06", "--rotary-base 1000000"], "--kv-channels"),
    "blackwell": (["--fp8-format e4m3 --fp8-recipe mxfp8"], "--fp8-amax-history-len"),
    "fp4_experts": (
        [
            "--bf16 --fp4-format e2m1 --fp4-recipe nvfp4",
            "--moe-router-padding-for-quantization",
        ],
        "--fp8-format --fp8-recipe",
    ),
    "muon": (["--optimizer muon --muon-momentum 0.9"], "--use-distributed-optimizer"),
    "wsd": (
        [
            "--lr-decay-style WSD --min-lr 3e-05 --lr-decay-iters 10000 --lr-warmup-iters 100",
            "--lr-wsd-decay-style minus_sqrt --lr-wsd-decay-iters 1500",
        ],
        "--lr-decay-samples --train-samples",
    ),
    "ramp": (
        [
            "--step-batch-size-schedule 0:8 1228800:16 2457600:24 3686400:32",
            "--eval-global-batch-size 32 --train-samples 30680",
            "--lr-decay-samples 30680 --lr-warmup-samples 80",
            "--lr-wsd-decay-style linear --lr-wsd-decay-samples 3200",
        ],
        "--global-batch-size --train-iters --lr-decay-iters --rampup-batch-size",
    ),
    "blend": (
        [
            "--data-path 0.7 /data/web text 0.3 /data/code --split 99,1,0",
            "--save-interval 327 --ckpt-format torch_dist --save-retain-interval 10137",
            "--async-save --use-persistent-ckpt-worker --async-strategy mcore",
            "--distributed-timeout-minutes 31",
        ],
        "--mock-data",
    ),
    "splits": (
        [
            "--train-data-path 1 /data/a 1 /data/b --valid-data-path=/data/v --test-data-path=/data/t",
            f"--eval-iters 10 --tensorboard-dir=runs/{PLANS['splits'].run.folder}/tensorboard",
            "--profile --use-pytorch-profiler --profile-step-start 10 --profile-step-end 13",
            "--profile-ranks 0",
        ],
        "--mock-data --split --data-path",
    ),
    "train_data_alone": (["--train-data-path=/data/a", "--eval-iters 0"], "--split --mock-data"),
    "conversations": (
        [
            "--data-path=/data/chats.jsonl --split 99,1,0",
            "--sft --sft-tokenizer-prompt-format default --tokenizer-type SFTTokenizer",
        ],
        "--mock-data",
    ),
    "data_in_extra": (["--split 99,1,0", "--data-args-path /data/list.txt"], "--mock-data"),
    "splits_in_extra": (["--per-split-data-args-path /data/splits.json"], "--mock-data --split"),
    "every_option": (
        [
            "--data-path=/data/c4_text_document --split 99,1,0 --data-cache-path=/data/cache",
            "--tokenizer-type HuggingFaceTokenizer --tokenizer-model=meta-llama/Meta-Llama-3-8B",
            "--padded-vocab-size 128256",
            '--save=ckpt/a "b" --load=ckpt/a "b"',
            "--wandb-project project --wandb-exp-name llama3_8b",
            "--num-workers 4 --manual-gc",
        ],
        "--mock-data --vocab-size --no-mmap-bin-files",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_options_of_each_feature(name: str) -> None:
    present, absent = EXPECTED[name]
    words = arguments(PLANS[name])
    text = f" {' '.join(words)} "
    assert [wanted for wanted in present if f" {wanted} " not in text] == []
    options = [word.partition("=")[0] for word in words if word.startswith("--")]
    assert [option for option in absent.split() if option in options] == []
    assert len(options) == len(set(options)), "an option is given twice"


def test_head_size_apart_from_hidden() -> None:
    assert "--kv-channels 256" in " ".join(arguments(plan_of(with_model(DENSE, head_dim=256))))


def test_window_counts_the_token_itself() -> None:
    assert "--window-size 1023,0" in " ".join(arguments(plan_of(with_model(DENSE, window=1024))))


def test_clamped_gates_of_dense_and_sequential_blocks_leave_the_kernel_of_grouped_experts() -> None:
    gated = with_model(DENSE, activation="quick_gelu", glu_clamp=7.0)
    assert "--no-bias-gelu-fusion" in arguments(plan_of(gated))
    experts = with_model(MOE, activation="quick_gelu", glu_clamp=7.0)
    assert "--no-bias-gelu-fusion" not in arguments(plan_of(experts))
    older = plan_of(experts, gpu=sample_plans.V100, precision="fp16", attention="unfused")
    assert "--no-bias-gelu-fusion" in arguments(older)


def test_weights_become_a_checkpoint_before_the_first_start_alone(tmp_path: Path) -> None:
    """torchrun is stood in for by a recorder of the programs that it is given."""
    for path, text in BACKEND.emit(PLANS["weights"]).items():
        (tmp_path / path).parent.mkdir(exist_ok=True)
        (tmp_path / path).write_text(text)
    recorder = tmp_path / "torchrun"
    heard = 'case $word in *.py) echo "$HF_WEIGHTS: $word";; esac'
    recorder.write_text(f"#!/bin/sh\nfor word; do {heard}; done\n")
    recorder.chmod(0o755)

    def started() -> list[str]:
        done = subprocess.run(
            ["bash", "megatron/pretrain.sh"],
            cwd=tmp_path,
            env={
                "PATH": f"{tmp_path}:/usr/bin:/bin",
                "MEGATRON_PATH": "/m",
                "RUN_DIR": str(tmp_path / "run"),
            },
            capture_output=True,
            text=True,
            check=True,
        )
        return done.stdout.splitlines()[1:]  # the line of the run comes first

    source = "/models/llama $3"
    convert = tmp_path / "megatron" / "convert.py"
    assert started() == [f"{source}: {convert}", f"{source}: /m/pretrain_gpt.py"]
    done = tmp_path / "run" / "checkpoints-first" / "latest_checkpointed_iteration.txt"
    done.parent.mkdir(parents=True)
    done.touch()
    assert started() == [": /m/pretrain_gpt.py"]


def test_router_of_deepseek_v3() -> None:
    model = with_model(std_model("deepseek_v3"), rope_scaling="none", z_loss=1e-3)
    text = " ".join(arguments(plan_of(model, PLANS["deepseek_v2"].layout)))
    assert (
        "--moe-router-score-function sigmoid --moe-router-topk-scaling-factor 2.5 "
        "--moe-router-num-groups 8 --moe-router-group-topk 4 --moe-router-dtype fp32 "
        "--moe-router-enable-expert-bias --moe-router-bias-update-rate 0.001 "
        "--moe-router-load-balancing-type seq_aux_loss --moe-aux-loss-coeff 0.0001 "
        "--moe-z-loss-coeff 0.001"
    ) in text
    assert "--mtp-loss-scaling-factor 0.3" in text and "--init-method-std 0.006" in text


def test_padded_vocabulary_follows_tp() -> None:
    options = Options(tokenizer="t")
    plan = plan_of(sample_plans.GPT3_175B, Layout(tp=8, dp_shard=1, microbatches=4), options)
    assert "--padded-vocab-size 51200" in " ".join(arguments(plan))


def test_short_runs_keep_the_warm_up() -> None:
    words = " ".join(arguments(plan_of(steps=100, warmup=2000)))
    assert "--train-iters 100 " in words
    assert "--lr-decay-iters 2001 --lr-warmup-iters 2000" in words


def test_garbage_is_collected_together_unless_extra_says_how() -> None:
    assert "--manual-gc --manual-gc-interval 100" in " ".join(arguments(plan_of()))
    own = arguments(plan_of(options=Options(extra={"manual-gc": True, "manual_gc_interval": 7})))
    assert own.count("--manual-gc") == 1
    assert own[own.index("--manual-gc-interval") + 1] == "7"


def test_extra_may_not_repeat_what_parc_writes() -> None:
    plan = plan_of(options=Options(extra={"micro_batch_size": 4, "manual_gc": True}))
    with pytest.raises(JobError) as caught:
        BACKEND.emit(plan)
    assert [problem.code for problem in caught.value.diagnostics] == ["PAR330"]
    assert "`micro_batch_size`" in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("layout", "gpu", "line"),
    [
        (Layout(tp=2, microbatches=4), sample_plans.H100, "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (Layout(cp=2, microbatches=4), sample_plans.A100, "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (Layout(tp=2, microbatches=4), sample_plans.MI300X, "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (Layout(tp=2, microbatches=4), sample_plans.B200, None),
        (Layout(pp=2, microbatches=4), sample_plans.H100, None),
        (
            Layout(tp=2, dp_shard=2, zero=3, microbatches=4),
            sample_plans.B200,
            "unset CUDA_DEVICE_MAX_CONNECTIONS",
        ),
    ],
)
def test_connections_as_megatron_demands(layout: Layout, gpu: Gpu, line: str | None) -> None:
    lines = [
        x for x in script_of(plan_of(layout=layout, gpu=gpu)).splitlines() if "CONNECTIONS" in x
    ]
    assert lines == ([line] if line else [])


@pytest.mark.parametrize(("zero", "strategy"), [(1, "mcore"), (2, "nvrx"), (3, "nvrx")])
def test_checkpoints_of_fsdp_are_written_by_another_package(zero: int, strategy: str) -> None:
    layout = Layout(dp_shard=8, zero=zero, microbatches=4)
    words = arguments(plan_of(layout=layout, async_checkpoints=True))
    assert words[words.index("--async-strategy") + 1] == strategy


def test_fsdp_names_its_checkpoint_format_even_where_nothing_is_saved() -> None:
    """arguments.py:1146 of megatron-core 0.19.2 asks for it before it asks for a folder."""
    plan = plan_of(layout=Layout(dp_shard=8, zero=3, microbatches=4), options=Options(save=False))
    words = arguments(plan)
    assert words[words.index("--ckpt-format") + 1] == "fsdp_dtensor"
    assert not [word for word in words if word.startswith("--save")]


@pytest.mark.parametrize(("keep", "retained"), [(None, "1308"), (0, None), (1, "10137")])
def test_about_ten_checkpoints_of_the_run_stay(keep: int | None, retained: str | None) -> None:
    """31 in 10,000 steps, every 327: one in four stays unless the job keeps all or the newest."""
    words = arguments(plan_of(keep_checkpoints=keep))
    given = dict(zip(words, words[1:], strict=False))
    assert (given["--save-interval"], given.get("--save-retain-interval")) == ("327", retained)
