"""Megatron-LM: its rules, the emitted script, the options of each feature, and reading the script back."""

from __future__ import annotations

import random
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import samples

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.backends.megatron.pipeline import stage_count
from parc.backends.megatron.target import domains
from parc.backends.shell import read_script
from parc.compiler.plan import Layout, Plan
from parc.compiler.target import NEUTRAL, Predicate, holds
from parc.dsl.diagnostics import JobError
from parc.dsl.job import Job, Train

DENSE = samples.LLAMA3_8B
MOE = samples.MIXTRAL_8X7B
PREDICATES = {predicate.name: predicate for predicate in BACKEND.target.predicates}


def plan_of(
    model=DENSE, layout=samples.DP8, options=None, split=None, gpu=samples.H100, **train
) -> Plan:
    sequences = layout.micro_batch * layout.microbatches * layout.dp
    settings = {"seq_len": 4096, "global_batch": sequences, "steps": 10_000} | train
    return samples.sample_plan(
        "megatron",
        options or Options(),
        model=model,
        layout=layout,
        train=Train(**settings),
        gpu=gpu,
        split=split,
    )


def script_of(plan: Plan) -> str:
    (text,) = BACKEND.emit(plan).values()
    return text


def arguments(plan: Plan) -> list[str]:
    words = [str(word.text) for word in read_script(script_of(plan)).command]
    return words[next(i for i, word in enumerate(words) if word.endswith(".py")) + 1 :]


#: One plan per feature of the emitter.
PLANS = {
    "dp": plan_of(),
    "one_gpu": plan_of(samples.GPT_125M, Layout(micro_batch=8, microbatches=4), seq_len=1024),
    "plain_dp": plan_of(samples.GPT_125M, Layout(dp_replicate=2, microbatches=4), gpu=samples.A100),
    "zero2": plan_of(layout=Layout(dp_shard=8, zero=2, microbatches=4)),
    "zero3": plan_of(layout=Layout(tp=2, dp_shard=8, zero=3, microbatches=4, recompute=2)),
    "tp_pp": plan_of(layout=Layout(tp=4, pp=2, dp_shard=2, zero=1, microbatches=32, recompute=1)),
    "vpp": plan_of(layout=Layout(tp=2, pp=4, vpp=2, dp_shard=2, zero=1, microbatches=16)),
    "context": plan_of(layout=Layout(cp=8, dp_shard=2, zero=1, microbatches=8), seq_len=131_072),
    "layout_string": plan_of(
        layout=Layout(pp=4, vpp=3, dp_shard=2, zero=1, microbatches=16),
        split=[[2, 3, 3], [3, 3, 3], [3, 3, 3], [3, 2, 1]],
    ),
    "llama3_405b": plan_of(
        samples.LLAMA3_405B,
        Layout(tp=8, pp=16, dp_shard=128, zero=1, microbatches=16),
        seq_len=8192,
    ),
    "mixtral": plan_of(MOE, Layout(pp=4, ep=8, dp_shard=16, zero=1, microbatches=16)),
    "expert_tp": plan_of(MOE, Layout(tp=4, pp=2, ep=4, etp=4, dp_shard=8, zero=1, microbatches=16)),
    "deepseek_v3": plan_of(
        samples.DEEPSEEK_V3,
        Layout(
            pp=16, ep=64, dp_shard=128, zero=1, microbatches=32, recompute=2, recompute_layers=2
        ),
        precision="fp8",
    ),
    "gpt3": plan_of(
        samples.GPT3_175B,
        Layout(tp=8, pp=16, vpp=2, dp_replicate=8, microbatches=96),
        gpu=samples.A100,
        precision="fp16",
        dropout=0.1,
    ),
    "qwen3": plan_of(samples.QWEN3_8B, Layout(tp=2, dp_shard=4, zero=1, microbatches=8)),
    "blackwell": plan_of(
        layout=Layout(tp=2, dp_shard=4, zero=1, microbatches=8), gpu=samples.B200, precision="mxfp8"
    ),
    "muon": plan_of(layout=Layout(tp=2, dp_replicate=4, microbatches=8), optimizer="muon"),
    "every_option": plan_of(
        options=Options(
            path="/src/Megatron LM",
            data="/data/c4_text_document",
            data_cache="/data/cache",
            tokenizer="meta-llama/Meta-Llama-3-8B",
            checkpoints='/ckpt/a "b"',
            tensorboard="tb",
            wandb="project",
            extra={"init_method_std": 0.01, "manual-gc": True, "no-mmap-bin-files": False},
        )
    ),
}


def job_of(model=DENSE, seq_len=4096, **train) -> Job:
    settings = Train(seq_len=seq_len, global_batch=128, steps=100, **train)
    return samples.sample_job("megatron", Options(), model=model, train=settings, nodes=(8,))


def with_model(model, **changes):
    return model.model_copy(update=changes)


#: Rule -> job, columns of a layout that it lets through and of one that it refuses.
RULES = {
    "heads-tp": (job_of(), {"tp": 8}, {"tp": 3}),
    "kv-heads-tp": (job_of(with_model(DENSE, heads=36, kv_heads=12)), {"tp": 36}, {"tp": 9}),
    "ffn-tp": (job_of(with_model(DENSE, ffn=14_340)), {"tp": 4}, {"tp": 8}),
    "fp8-shapes": (job_of(with_model(DENSE, ffn=14_352), precision="fp8"), {"tp": 1}, {"tp": 2}),
    "experts-ep": (job_of(MOE), {"ep": 4}, {"ep": 3}),
    "expert-ffn-etp": (job_of(with_model(MOE, expert_ffn=1028)), {"etp": 4}, {"etp": 8}),
    "etp-one-or-tp": (job_of(MOE), {"tp": 4, "etp": 4}, {"tp": 4, "etp": 2}),
    "expert-bias-etp": (job_of(with_model(MOE, bias=True)), {"etp": 1}, {"etp": 2}),
    "expert-world": (
        job_of(MOE),
        {"pp": 2, "ep": 8, "etp": 4, "gpus": 64},
        {"pp": 4, "ep": 8, "etp": 4, "gpus": 64},
    ),
    "seq-cp": (job_of(seq_len=4100), {"cp": 2}, {"cp": 4}),
    "seq-tp-cp": (job_of(seq_len=4104), {"tp": 4, "cp": 2}, {"tp": 8, "cp": 2}),
    "window-cp": (job_of(with_model(DENSE, window=1024)), {"cp": 1}, {"cp": 2}),
    "unfused-cp": (job_of(attention="unfused"), {"cp": 1}, {"cp": 2}),
    "layers-pp": (job_of(), {"pp": 17, "vpp": 2}, {"pp": 5, "vpp": 7}),
    "vpp-needs-pp": (job_of(), {"pp": 2, "vpp": 2}, {"pp": 1, "vpp": 2}),
    "vpp-microbatches": (
        job_of(),
        {"pp": 4, "vpp": 2, "microbatches": 8},
        {"pp": 4, "vpp": 2, "microbatches": 6},
    ),
    "recompute-chunk": (
        job_of(),
        {"pp": 2, "vpp": 2, "recompute": 2, "recompute_layers": 7},
        {"pp": 2, "vpp": 2, "recompute": 2, "recompute_layers": 8},
    ),
    "zero-shard": (job_of(), {"zero": 1, "dp_shard": 8}, {"zero": 0, "dp_shard": 8}),
    "zero-replicate": (job_of(), {"zero": 0, "dp_replicate": 8}, {"zero": 1, "dp_replicate": 8}),
    "fsdp-pp": (job_of(), {"zero": 3, "pp": 1}, {"zero": 2, "pp": 2}),
    "muon-zero": (job_of(optimizer="muon"), {"zero": 0}, {"zero": 1}),
}


def test_every_rule_has_a_case():
    assert set(RULES) == set(PREDICATES)
    assert len(PREDICATES) == len(BACKEND.target.predicates)


@pytest.mark.parametrize("name", RULES)
def test_rule(name):
    job, passing, failing = RULES[name]
    predicate = PREDICATES[name]
    assert bool(holds(predicate, job, passing))
    assert not bool(holds(predicate, job, failing))
    message = predicate.message(job, **failing)
    numbers = [str(value) for key, value in failing.items() if key not in ("recompute", "dp_shard")]
    assert all(number in message for number in numbers if number != "1"), message
    assert message[0].islower() and not message.endswith(".")
    assert predicate.code.startswith("PAR") and predicate.source


@pytest.mark.parametrize("name", RULES)
def test_rule_is_vectorised(name):
    """Arrays give what one layout at a time gives."""
    predicate, job = PREDICATES[name], RULES[name][0]
    columns = random_columns(predicate, random.Random(7))
    together = holds(predicate, job, columns)
    alone = [bool(holds(predicate, job, row)) for row in transposed(columns)]
    assert together.tolist() == alone


def random_columns(predicate: Predicate, source: random.Random) -> dict[str, np.ndarray]:
    choices = {"zero": range(4), "recompute": range(3), "gpus": (8, 64, 96)}
    return {
        name: np.array([source.choice(choices.get(name, (1, 2, 3, 4, 8, 12))) for _ in range(60)])
        for name in predicate.of
    }


def transposed(columns):
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def test_predicates_know_the_variables_and_stay_small():
    known = {*NEUTRAL, "dp", "microbatches", "gpus", "nodes"}
    for predicate in BACKEND.target.predicates:
        assert set(predicate.of) <= known and len(predicate.of) <= 4


def test_domains_of_a_dense_job():
    found = domains(job_of())
    assert found["tp"] == (1, 2, 4, 8)
    assert found["pp"] == (1, 2, 4, 8, 16, 32)
    assert found["cp"] == (1, 2, 4)
    assert found["ep"] == found["etp"] == (1,)
    assert found["zero"] == (0, 1, 2, 3)
    assert 64 in found["dp_shard"] and all(128 % dp == 0 for dp in found["dp_shard"])
    assert set(found) == set(NEUTRAL) - {"offload", "hpz"}


def test_domains_of_other_jobs():
    deepseek = domains(job_of(samples.DEEPSEEK_V3))
    assert deepseek["ep"] == (1, 2, 4, 8, 16, 32, 64) and deepseek["etp"] == deepseek["tp"]
    assert domains(job_of(optimizer="muon"))["zero"] == (0,)
    assert max(domains(job_of(seq_len=131_072))["cp"]) == 64
    single = job_of().model_copy(
        update={"cluster": samples.sample_job("x", gpus_per_node=1).cluster}
    )
    assert domains(single)["vpp"] == (1,) and domains(single)["tp"] == (1,)


@pytest.mark.parametrize(
    ("model", "train", "gpu", "code"),
    [
        (DENSE, {}, samples.TPU_V5P, "PAR320"),
        (DENSE, {"optimizer": "adam8bit"}, samples.H100, "PAR321"),
        (with_model(DENSE, activation="gelu"), {}, samples.H100, "PAR322"),
        (with_model(DENSE, causal=False), {}, samples.H100, "PAR323"),
        (with_model(DENSE, rope_theta=1e4 + 0.5), {}, samples.H100, "PAR324"),
        (DENSE, {"precision": "fp16"}, samples.V100, "PAR325"),
        (MOE, {"precision": "fp16", "attention": "unfused"}, samples.V100, "PAR326"),
        (DENSE, {"precision": "mxfp8"}, samples.H100, "PAR327"),
        (DENSE, {"precision": "fp8"}, samples.A100, "PAR328"),
        (with_model(samples.GPT_125M, mtp_layers=1), {}, samples.H100, "PAR329"),
    ],
)
def test_refusals(model, train, gpu, code):
    plan = plan_of(model, gpu=gpu, **train)
    assert [found.code for found in BACKEND.target.refuses(plan.job)] == [code]
    with pytest.raises(JobError, match=code):
        BACKEND.emit(plan)


def test_nothing_is_refused_without_reason():
    for plan in PLANS.values():
        assert BACKEND.target.refuses(plan.job) == []


@pytest.mark.parametrize("name", PLANS)
def test_reading_gives_the_plan_back(name):
    plan = PLANS[name]
    found = BACKEND.read(BACKEND.emit(plan))
    assert found.values() == BACKEND.facts(plan)
    assert found.kind == "megatron" and found.unread == ()


@pytest.mark.parametrize("name", PLANS)
def test_bash_passes_what_the_reader_sees(name, tmp_path):
    """A recorder stands in for torchrun: the words that bash gives it are those of `read_script`."""
    recorder = tmp_path / "torchrun"
    recorder.write_text("#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n")
    recorder.chmod(0o755)
    script = tmp_path / "pretrain.sh"
    script.write_text(script_of(PLANS[name]))
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    done = subprocess.run(
        ["bash", str(script), "--extra"],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    expected = [str(word.text) for word in read_script(script.read_text()).command[1:]]
    assert done.stdout.split("\0")[:-1] == [*expected, "--extra"]


def test_scripts_pass_bash_and_shellcheck(tmp_path):
    paths = []
    for name, plan in PLANS.items():
        paths.append(tmp_path / f"{name}.sh")
        paths[-1].write_text(script_of(plan))
        subprocess.run(["bash", "-n", str(paths[-1])], check=True)
    shellcheck = shutil.which("shellcheck", path=str(Path(sys.executable).parent)) or "shellcheck"
    done = subprocess.run(
        [shellcheck, "-S", "warning", *map(str, paths)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout


def test_wrong_node_count_stops(tmp_path):
    script = tmp_path / "pretrain.sh"
    script.write_text(script_of(PLANS["tp_pp"]))
    environment = {"PATH": "/usr/bin:/bin", "NNODES": "3"}
    done = subprocess.run(["bash", str(script)], env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert "16 GPUs" in done.stderr and "NNODES=3" in done.stderr


@pytest.mark.parametrize("name", PLANS)
def test_scripts_are_reproducible(name):
    assert script_of(PLANS[name]) == script_of(PLANS[name])
    text = script_of(PLANS[name])
    assert text.splitlines()[1].startswith("# Generated by parc ")
    assert text.endswith('"$@"\n') and "\n\n\n" not in text and " \n" not in text


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
            "--lr-decay-iters 10000 --lr-warmup-iters 2000",
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
            "--tensor-model-parallel-size 4 --sequence-parallel --pipeline-model-parallel-size 2",
            "--recompute-granularity selective --recompute-modules core_attn",
        ],
        "--pipeline-model-parallel-layout --num-virtual-stages-per-pipeline-rank --recompute-method",
    ),
    "vpp": (["--num-virtual-stages-per-pipeline-rank 2"], "--pipeline-model-parallel-layout"),
    "context": (["--context-parallel-size 8 --cp-comm-type p2p"], "--sequence-parallel"),
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
    "muon": (["--optimizer muon --muon-momentum 0.9"], "--use-distributed-optimizer"),
    "every_option": (
        [
            "--data-path /data/c4_text_document --split 99,1,0 --data-cache-path /data/cache",
            "--tokenizer-type HuggingFaceTokenizer --tokenizer-model meta-llama/Meta-Llama-3-8B",
            "--padded-vocab-size 128256",
            '--save /ckpt/a "b" --load /ckpt/a "b"',
            "--wandb-project project --wandb-exp-name llama3_8b",
            "--init-method-std 0.01 --manual-gc",
        ],
        "--mock-data --vocab-size --no-mmap-bin-files",
    ),
}


@pytest.mark.parametrize("name", PLANS)
def test_options_of_each_feature(name):
    present, absent = EXPECTED[name]
    words = arguments(PLANS[name])
    text = f" {' '.join(words)} "
    assert [wanted for wanted in present if f" {wanted} " not in text] == []
    assert [option for option in absent.split() if option in words] == []
    options = [word for word in words if word.startswith("--")]
    assert len(options) == len(set(options)), "an option is given twice"


def test_head_size_apart_from_hidden():
    assert "--kv-channels 256" in " ".join(arguments(plan_of(with_model(DENSE, head_dim=256))))


def test_window_counts_the_token_itself():
    assert "--window-size 1023,0" in " ".join(arguments(plan_of(with_model(DENSE, window=1024))))


def test_padded_vocabulary_follows_tp():
    options = Options(tokenizer="t")
    plan = plan_of(samples.GPT3_175B, Layout(tp=8, dp_shard=1, microbatches=4), options)
    assert "--padded-vocab-size 51200" in " ".join(arguments(plan))


def test_short_runs_keep_the_warm_up():
    words = " ".join(arguments(plan_of(steps=100, warmup=2000)))
    assert "--train-iters 100 " in words
    assert "--lr-decay-iters 2001 --lr-warmup-iters 2000" in words


def test_extra_may_not_repeat_what_parc_writes():
    plan = plan_of(options=Options(extra={"micro_batch_size": 4, "manual_gc": True}))
    with pytest.raises(JobError) as caught:
        BACKEND.emit(plan)
    assert [problem.code for problem in caught.value.diagnostics] == ["PAR330"]
    assert "`--micro-batch-size`" in caught.value.diagnostics[0].message


@pytest.mark.parametrize(
    ("layout", "gpu", "line"),
    [
        (Layout(tp=2, microbatches=4), samples.H100, "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (Layout(cp=2, microbatches=4), samples.A100, "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (Layout(tp=2, microbatches=4), samples.MI300X, "export CUDA_DEVICE_MAX_CONNECTIONS=1"),
        (Layout(tp=2, microbatches=4), samples.B200, None),
        (Layout(pp=2, microbatches=4), samples.H100, None),
        (
            Layout(tp=2, dp_shard=2, zero=3, microbatches=4),
            samples.H100,
            "unset CUDA_DEVICE_MAX_CONNECTIONS",
        ),
    ],
)
def test_connections_as_megatron_demands(layout, gpu, line):
    lines = [
        x for x in script_of(plan_of(layout=layout, gpu=gpu)).splitlines() if "CONNECTIONS" in x
    ]
    assert lines == ([line] if line else [])


def placed(words: list[str], layers: int, pp: int) -> list[list[int]]:
    """Layers of each rank's chunks, as Megatron-LM's get_num_layers_to_build deals them."""
    given = dict(zip(words, [*words[1:], ""], strict=True))
    if text := given.get("--pipeline-model-parallel-layout"):
        stages = [stage.count("t") for stage in unrolled(text).split("|")]
        return [stages[rank::pp] for rank in range(pp)]
    vpp = int(given.get("--num-virtual-stages-per-pipeline-rank", 1))
    first, last = (given.get(f"--decoder-{end}-pipeline-num-layers") for end in ("first", "last"))
    embedding = "--account-for-embedding-in-pipeline-split" in given
    loss = "--account-for-loss-in-pipeline-split" in given
    ends = {rank: int(n) for rank, n in ((0, first), (pp - 1, last)) if n}
    rest = layers + embedding + loss - sum(ends.values())
    assert rest % max(1, pp - len(ends)) == 0
    totals = [ends.get(rank, rest // max(1, pp - len(ends))) for rank in range(pp)]
    assert all(total % vpp == 0 for total in totals)
    chunks = [[total // vpp] * vpp for total in totals]
    chunks[0][0] -= embedding
    chunks[-1][-1] -= loss
    return chunks


def unrolled(text: str) -> str:
    import re

    text = re.sub(r"\(([^)]+)\)\*(\d+)", lambda match: match[1] * int(match[2]), text)
    return re.sub(r"(.)\*(\d+)", lambda match: match[1] * int(match[2]), text)


@pytest.mark.parametrize(
    "split",
    [
        [[8], [8], [8], [8]],
        [[5], [9], [9], [9]],
        [[9], [9], [9], [5]],
        [[7], [9], [9], [7]],
        [[6], [9], [9], [8]],
        [[7], [8], [9], [8]],
        [[4, 4], [4, 4], [4, 4], [4, 4]],
        [[3, 3], [4, 4], [4, 4], [5, 5]],
        [[2, 3, 3], [3, 3, 3], [3, 3, 3], [3, 2, 1]],
        [[7], [8], [8], [8]],
        [[8], [8], [8], [7]],
        [[0, 1], [1, 1], [1, 0]],
        [[0, 2], [1, 2], [1, 0]],
        [[3], [1]],
    ],
)
def test_layer_split_means_the_plan(split):
    pp, vpp, layers = len(split), len(split[0]), sum(map(sum, split))
    layout = Layout(pp=pp, vpp=vpp, dp_shard=2, zero=1, microbatches=4 * pp)
    plan = plan_of(with_model(DENSE, layers=layers), layout, split=split)
    assert placed(arguments(plan), layers, pp) == split
    assert BACKEND.read(BACKEND.emit(plan)).value("vpp") == vpp


def test_prediction_layers_stand_before_the_loss():
    split = [[5], [4], [4], [3]]
    model = with_model(samples.DEEPSEEK_V3, layers=16, mtp_layers=2)
    plan = plan_of(model, Layout(pp=4, dp_shard=2, zero=1, microbatches=8), split=split)
    assert "--decoder-first-pipeline-num-layers 5 --decoder-last-pipeline-num-layers 3" in " ".join(
        arguments(plan)
    )
    plan = plan_of(model, plan.layout, split=[[5], [3], [4], [4]])
    assert "--pipeline-model-parallel-layout Et*5|t*3|t*4|t*4m*2L" in " ".join(arguments(plan))


def test_stage_count():
    assert stage_count("Et*7|(t*8|)*14t*7L") == 16
    assert stage_count("E|t|L") == 3
