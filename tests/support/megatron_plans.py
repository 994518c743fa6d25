"""Plans for the tests of the Megatron-LM backend: one per feature of its emitter."""

from __future__ import annotations

from collections.abc import Sequence

from parc.backends.megatron import BACKEND
from parc.backends.megatron.options import Options
from parc.compiler.plan import Layout, Plan
from parc.dsl.job import Gpu, Model
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
    (text,) = BACKEND.emit(plan).values()
    return text


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
        precision="fp8",
    ),
    "gpt3": plan_of(
        sample_plans.GPT3_175B,
        Layout(tp=8, pp=16, vpp=2, dp_replicate=8, microbatches=96),
        gpu=sample_plans.A100,
        precision="fp16",
        dropout=0.1,
    ),
    "qwen3": plan_of(sample_plans.QWEN3_8B, Layout(tp=2, dp_shard=4, zero=1, microbatches=8)),
    "blackwell": plan_of(
        layout=Layout(tp=2, dp_shard=4, zero=1, microbatches=8),
        gpu=sample_plans.B200,
        precision="mxfp8",
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
            extra={"init_method_std": "0.01", "manual-gc": True, "no-mmap-bin-files": False},
        )
    ),
}
