"""FSDP as accelerate, the Trainer and axolotl have it: what a job shards, offloads and computes again."""

from __future__ import annotations

from typing import Any

import pytest

from parc.backends.launch_files import read_jobs
from parc.reading.facts import LaunchConfig, Unknown

HEAD = "distributed_type: FSDP\nmixed_precision: bf16\nnum_machines: 2\nnum_processes: 16\n"
SHAPE = {"nodes": 2, "gpus": 16, "gpus_per_node": 8, "precision": "bf16"}
ARGUMENTS = "--output_dir out --learning_rate 1e-5 --per_device_train_batch_size 2 --bf16 True"
AXOLOTL = "base_model: a/b\nmicro_batch_size: 1\nsequence_len: 4096\nfsdp_config:\n  {keys}\n"


def accelerate(block: str, launcher: str = "") -> LaunchConfig:
    command = f"accelerate launch --config_file acc.yaml {launcher} train.py\n"
    (job,) = read_jobs({"run.sh": command, "acc.yaml": HEAD + block})
    return job


def trainer(own: str, **files: str) -> LaunchConfig:
    texts = {name.replace("_json", ".json"): text for name, text in files.items()}
    command = f"torchrun --nproc-per-node 8 train.py {ARGUMENTS} {own}\n"
    return next(job for job in read_jobs({"run.sh": command, **texts}) if "run.sh" in job.texts)


def facts(job: LaunchConfig) -> dict[str, Any]:
    """The facts of sharding, offload and recomputation; `?` for what is unknown."""
    names = ("sharding", "offload", "recompute", "tp", "cp", "dp_shard", "dp_replicate")
    return {
        name: "?" if isinstance(value, Unknown) else value
        for name, value in job.values().items()
        if name in names
    }


def block(*keys: str) -> str:
    return "fsdp_config:\n" + "".join(f"  {key}\n" for key in keys)


#: Keys of the block, options of the launcher -> the facts. accelerate 1.15 utils/dataclasses.py:1823.
ACCELERATE: tuple[tuple[tuple[str, ...], str, dict[str, Any]], ...] = (
    (("fsdp_sharding_strategy: FULL_SHARD",), "", {"sharding": 3, "offload": "none"}),
    (("fsdp_sharding_strategy: 2",), "", {"sharding": 2, "offload": "none"}),
    (("sharding_strategy: NO_SHARD",), "", {"sharding": 0, "offload": "none"}),
    (
        ("fsdp_sharding_strategy: HYBRID_SHARD",),
        "",
        {"sharding": 3, "dp_shard": 8, "dp_replicate": 2, "offload": "none"},
    ),
    (
        ("fsdp_version: 2", "fsdp_reshard_after_forward: false", "fsdp_offload_params: true"),
        "",
        {"sharding": 2, "offload": "all"},
    ),
    # FSDP 2 reads no strategy, FSDP 1 none of true and false.
    (
        ("fsdp_version: 2", "fsdp_sharding_strategy: SHARD_GRAD_OP"),
        "",
        {"sharding": 3, "offload": "none"},
    ),
    (("fsdp_reshard_after_forward: false",), "", {"sharding": 3, "offload": "none"}),
    (
        ("fsdp_activation_checkpointing: true",),
        "",
        {"sharding": 3, "offload": "none", "recompute": "full"},
    ),
    (
        ("fsdp_offload_params: false",),
        "--fsdp_offload_params true --fsdp_sharding_strategy SHARD_GRAD_OP",
        {"sharding": 2, "offload": "all"},
    ),
    (("fsdp_sharding_strategy: FULL_SHARD",), "--multi_gpu", {}),
    (("fsdp_sharding_strategy: 9",), "", {"sharding": "?", "offload": "none"}),
)


@pytest.mark.parametrize(("keys", "launcher", "expected"), ACCELERATE)
def test_accelerate_s_block(keys: tuple[str, ...], launcher: str, expected: dict[str, Any]) -> None:
    job = accelerate(block(*keys), launcher)
    assert facts(job) == expected
    assert {name: job.value(name) for name in SHAPE} == SHAPE


def test_a_configuration_alone_and_its_degrees() -> None:
    degrees = "parallelism_config:\n" + "".join(
        f"  parallelism_config_{name}_size: {size}\n"
        for name, size in (("tp", 2), ("cp", 2), ("dp_shard", 2), ("dp_replicate", 2))
    )
    (job,) = read_jobs({"acc.yaml": HEAD + block("fsdp_version: 2") + degrees})
    assert facts(job) == {
        "sharding": 3, "offload": "none", "tp": 2, "cp": 2, "dp_shard": 2, "dp_replicate": 2
    }  # fmt: skip
    (place,) = ((each.line, each.column) for each in job.facts if each.name == "sharding")
    assert place == (1, 19)


#: Arguments of the Trainer, its JSON file -> the facts. transformers 4.57 and 5.23 training_args.py.
TRAINER: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("--fsdp 'shard_grad_op auto_wrap offload'", "{}", {"sharding": 2, "offload": "all"}),
    ("--fsdp full_shard --fsdp_config fsdp.json", "", {"sharding": 3, "offload": "?", "recompute": "?"}),
    (
        "--fsdp 'full_shard auto_wrap' --fsdp_config fsdp.json",
        '{\t"activation_checkpointing": true}',
        {"sharding": 3, "offload": "none", "recompute": "full"},
    ),
    (
        "--fsdp True --fsdp_config fsdp.json",
        '{"version": 2, "reshard_after_forward": false, "cpu_offload": true}',
        {"sharding": 2, "offload": "all"},
    ),
    (
        """--fsdp full_shard --fsdp_config '{"reshard_after_forward": false}'""",
        "{}",
        {"sharding": "?", "offload": "none"},
    ),
    ("--fsdp hybrid_shard --fsdp_config fsdp.json", '{"fsdp_version": 1}', {
        "sharding": 3, "dp_shard": 8, "dp_replicate": 1, "offload": "none"
    }),
    ("--fsdp ''", "{}", {}),
    ("--fsdp_config fsdp.json", '{"version": 2}', {}),
    ("--fsdp $HOW", "{}", {"sharding": "?", "offload": "none"}),
)  # fmt: skip


@pytest.mark.parametrize(("own", "json", "expected"), TRAINER)
def test_the_trainer_s_arguments(own: str, json: str, expected: dict[str, Any]) -> None:
    job = trainer(own, **({"fsdp_json": json} if json else {}))
    assert facts(job) == expected
    assert job.value("precision") == "bf16" and job.value("micro_batch") == 2
    assert [each.missing for each in job.unread] == ([] if json else [True])


def test_the_file_of_fsdp_is_none_of_deepspeed() -> None:
    """Its keys are settings of the job, by the names that a YAML has for them."""
    own = "--fsdp full_shard --fsdp_config fsdp.json"
    texts = {
        "run.sh": f"torchrun train.py {ARGUMENTS} {own}\n",
        "fsdp.json": '{"transformer_layer_cls_to_wrap": ["LlamaDecoderLayer"]}',
    }
    (job,) = read_jobs(texts)
    setting = job.setting("yaml", "fsdp_config.transformer_layer_cls_to_wrap.0")
    assert setting is not None and (setting.path, setting.values) == (
        "fsdp.json",
        ("LlamaDecoderLayer",),
    )


#: Keys of the block, other keys -> the facts. axolotl 0.19 utils/schemas/validation.py:1216.
KEYS = (
    ("reshard_after_forward: false", "fsdp_version: 2\n", {"sharding": 2, "offload": "none"}),
    ("fsdp_offload_params: true", "", {"sharding": 3, "offload": "all"}),
    (
        "fsdp_sharding_strategy: SHARD_GRAD_OP",
        "fsdp: [full_shard, auto_wrap]\n",
        {"sharding": 3, "offload": "none"},
    ),
    (
        "activation_checkpointing: true",
        "gradient_checkpointing: false\ntensor_parallel_size: 2\ncontext_parallel_size: 4\n",
        {"sharding": 3, "offload": "none", "recompute": "full", "tp": 2, "cp": 4},
    ),
)


@pytest.mark.parametrize(("keys", "more", "expected"), KEYS)
def test_axolotl_s_block(keys: str, more: str, expected: dict[str, Any]) -> None:
    text = AXOLOTL.format(keys=keys) + more
    (alone,) = read_jobs({"a.yaml": text})
    (launched,) = read_jobs({"run.sh": "axolotl train a.yaml\n", "a.yaml": text})
    assert facts(alone) == facts(launched) == expected


def test_deepspeed_goes_before_fsdp() -> None:
    """accelerate's own configuration is not asked where the command names DeepSpeed's."""
    command = "accelerate launch --config_file acc.yaml train.py --deepspeed ds.json\n"
    texts = {"run.sh": command, "acc.yaml": HEAD, "ds.json": '{"zero_optimization": {"stage": 2}}'}
    (job,) = read_jobs(texts)
    assert job.framework == "deepspeed" and job.value("zero") == 2
    assert job.value("sharding") is None
