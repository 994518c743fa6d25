"""Plans for the tests of the Megatron-LM backend: one per feature of its emitter."""

from __future__ import annotations

from collections.abc import Sequence

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.plan import Layout, Plan
from parc.dsl import std_model
from parc.dsl.hardware import Gpu
from parc.dsl.model import Model
from parc.dsl.settings import Data
from tests.support import sample_plans
from tests.support.bash_launches import command
from tests.support.sample_plans import train_of

DENSE = sample_plans.LLAMA3_8B
MOE = sample_plans.MIXTRAL_8X7B


def with_model(model: Model, **changes: object) -> Model:
    return model.model_copy(update=changes)


def plan_of(
    model: Model = DENSE,
    layout: Layout = sample_plans.DP8,
    options: Options | None = None,
    split: Sequence[Sequence[int]] | None = None,
    gpu: Gpu = sample_plans.H100,
    **train: object,
) -> Plan:
    sequences = layout.micro_batch * layout.microbatches * layout.dp
    return sample_plans.sample_plan(
        "megatron",
        options or Options(),
        model=model,
        layout=layout,
        train=train_of(**{"global_batch": sequences, "steps": 10_000, **train}),
        gpu=gpu,
        split=split,
    )


def script_of(plan: Plan) -> str:
    return BACKEND.emit(plan)["megatron/pretrain.sh"]


def arguments(plan: Plan) -> list[str]:
    words = [str(word.text) for word in command(script_of(plan))]
    return words[next(i for i, word in enumerate(words) if word.endswith(".py")) + 1 :]


#: One plan per feature of the emitter.
PLANS = {
    "dp": plan_of(),
    "one_gpu": plan_of(sample_plans.GPT_125M, Layout(micro_batch=8, microbatches=4), seq_len=1024),
    "plain_dp": plan_of(
        sample_plans.GPT_125M, Layout(dp_replicate=2, microbatches=4), gpu=sample_plans.A100
    ),
    "zero2": plan_of(layout=Layout(dp_shard=8, zero=2, microbatches=4)),
    "zero3": plan_of(layout=Layout(dp_shard=16, zero=3, microbatches=4, recompute=2)),
    "tp_pp": plan_of(layout=Layout(tp=4, pp=2, dp_shard=2, zero=1, microbatches=32, recompute=1)),
    "odd_sequence": plan_of(layout=Layout(tp=2, dp_shard=4, zero=1, microbatches=8), seq_len=1023),
    "vpp": plan_of(layout=Layout(tp=2, pp=4, vpp=2, dp_shard=2, zero=1, microbatches=16)),
    "context": plan_of(layout=Layout(cp=8, dp_shard=2, zero=1, microbatches=8), seq_len=131_072),
    "layout_string": plan_of(
        layout=Layout(pp=4, vpp=3, dp_shard=2, zero=1, microbatches=16),
        split=[[2, 3, 3], [3, 3, 3], [3, 3, 3], [3, 2, 1]],
    ),
    "llama3_405b": plan_of(
        sample_plans.LLAMA3_405B,
        Layout(tp=8, pp=16, dp_shard=128, zero=1, microbatches=16),
        seq_len=8192,
    ),
    "mixtral": plan_of(MOE, Layout(pp=4, ep=8, dp_shard=16, zero=1, microbatches=16)),
    "expert_tp": plan_of(MOE, Layout(tp=4, pp=2, ep=4, etp=4, dp_shard=8, zero=1, microbatches=16)),
    "deepseek_v3": plan_of(
        sample_plans.DEEPSEEK_V3,
        Layout(
            pp=16, ep=64, dp_shard=128, zero=1, microbatches=32, recompute=2, recompute_layers=2
        ),
        options=Options(fp8_recipe="delayed"),
        precision="fp8",
    ),
    "gpt3": plan_of(
        sample_plans.GPT3_175B,
        Layout(tp=8, pp=16, vpp=2, dp_replicate=8, microbatches=96),
        gpu=sample_plans.A100,
        precision="fp16",
        dropout=0.1,
    ),
    "llama3_1": plan_of(std_model("llama3_1_8b")),
    "deepseek_v2": plan_of(
        std_model("deepseek_v2"), Layout(ep=8, dp_shard=8, zero=1, microbatches=8)
    ),
    "gpt_oss": plan_of(std_model("gpt_oss_20b"), Layout(ep=8, dp_shard=8, zero=1, microbatches=8)),
    "weights": plan_of(weights="/models/llama $3"),
    "linear_rope": plan_of(with_model(DENSE, rope_scaling="linear", rope_factor=4.0)),
    "sequential_experts": plan_of(
        MOE,
        Layout(ep=8, dp_shard=8, zero=1, microbatches=8),
        gpu=sample_plans.V100,
        precision="fp16",
        attention="unfused",
    ),
    "clamped_swiglu": plan_of(with_model(DENSE, glu_clamp=7.0, glu_offset=1.0)),
    "odd_heads": plan_of(
        with_model(sample_plans.DEEPSEEK_V3, hidden=7000, heads=112, rope_scaling="none"),
        Layout(ep=8, dp_shard=8, zero=1, microbatches=8),
    ),
    "qwen3": plan_of(sample_plans.QWEN3_8B, Layout(tp=2, dp_shard=4, zero=1, microbatches=8)),
    "blackwell": plan_of(
        layout=Layout(tp=2, dp_shard=4, zero=1, microbatches=8),
        gpu=sample_plans.B200,
        precision="mxfp8",
    ),
    "fp4_experts": plan_of(
        MOE,
        Layout(ep=8, dp_shard=8, zero=1, microbatches=8),
        gpu=sample_plans.B200,
        precision="nvfp4",
    ),
    "fine": plan_of(MOE, Layout(ep=8, dp_shard=8, zero=1, microbatches=8, recompute=3)),
    "whole_moe": plan_of(MOE, Layout(ep=8, dp_shard=8, zero=1, microbatches=8, recompute=4)),
    "whole_moe_latent": plan_of(
        sample_plans.DEEPSEEK_V3,
        Layout(pp=16, ep=64, dp_shard=128, zero=1, microbatches=32, recompute=4),
        options=Options(fp8_recipe="blockwise"),
        precision="fp8",
    ),
    "fine_latent": plan_of(
        sample_plans.DEEPSEEK_V3,
        Layout(pp=16, ep=64, dp_shard=128, zero=1, microbatches=32, recompute=3),
        options=Options(fp8_recipe="blockwise"),
        precision="fp8",
    ),
    "fine_delayed": plan_of(
        sample_plans.DEEPSEEK_V3,
        Layout(pp=16, ep=64, dp_shard=128, zero=1, microbatches=32, recompute=3),
        options=Options(fp8_recipe="delayed"),
        precision="fp8",
    ),
    "fine_sequential": plan_of(
        MOE,
        Layout(ep=8, dp_shard=8, zero=1, microbatches=8, recompute=3),
        gpu=sample_plans.V100,
        precision="fp16",
        attention="unfused",
    ),
    "muon": plan_of(layout=Layout(tp=2, dp_replicate=4, microbatches=8), optimizer="muon"),
    "wsd": plan_of(schedule="wsd", warmup=100, decay_steps=1500, decay_style="sqrt"),
    "ramp": plan_of(
        layout=Layout(tp=2, dp_shard=4, zero=1, microbatches=8),
        steps=1000,
        warmup=10,
        schedule="wsd",
        decay_steps=100,
        ramp_from=8,
        ramp_tokens=4096 * 900,
    ),
    "blend": plan_of(
        options=Options(data=Data(parts=(("/data/web text", 0.7), ("/data/code", 0.3)))),
        keep_checkpoints=1,
        async_checkpoints=True,
        collective_timeout=1830.0,
    ),
    "splits": plan_of(
        options=Options(
            train_data=Data(parts=(("/data/a", 1.0), ("/data/b", 1.0))),
            valid_data=Data(parts=(("/data/v", 1.0),)),
            test_data=Data(parts=(("/data/t", 1.0),)),
            profile_start=10,
        )
    ),
    "train_data_alone": plan_of(options=Options(train_data=Data(parts=(("/data/a", 1.0),)))),
    "conversations": plan_of(
        options=Options(
            data=Data(parts=(("/data/chats.jsonl", 1.0),)), sft=True, tokenizer="/models/llama"
        )
    ),
    "data_in_extra": plan_of(options=Options(extra={"data_args_path": "/data/list.txt"})),
    "splits_in_extra": plan_of(
        options=Options(extra={"per-split-data-args-path": "/data/splits.json"})
    ),
    "every_option": plan_of(
        options=Options(
            path="/src/Ann's Megatron LM",
            data=Data(parts=(("/data/c4_text_document", 1.0),)),
            data_cache="/data/cache",
            tokenizer="meta-llama/Meta-Llama-3-8B",
            checkpoints='ckpt/a "b"',
            tensorboard="tb",
            wandb="project",
            extra={"num_workers": "4", "manual-gc": True, "no-mmap-bin-files": False},
        )
    ),
}
