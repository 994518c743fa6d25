"""torchtitan's TOML in its three schemas, overrides on the command line, and Python configs -> jobs."""

from __future__ import annotations

import pytest

from parc.backends.launch_files import read_jobs
from tests.reading.test_reading import values

TOMLS: dict[str, dict[str, object]] = {
    "[training]\nbatch_size = 2\ndata_parallel_degree = -1\ntensor_parallel_degree = 4\n"
    "[experimental]\npipeline_parallel_degree = 2": {
        "micro_batch": 2,
        "tp": 4,
        "pp": 2,
        "dp_shard": -1,
        "dp": "?",
    },
    "[training]\ndata_parallel_replicate_degree = 2\ndata_parallel_shard_degree = 4\n"
    "[experimental]\ncontext_parallel_degree = 2": {"dp": 8, "cp": 2, "gpus": 16},
    "[training]\nlocal_batch_size = 1\nglobal_batch_size = 64\n[parallelism]\ntensor_parallel_degree = 8": {
        "micro_batch": 1,
        "global_batch": 64,
        "tp": 8,
    },
    '[model]\nname = "llama3"\nflavor = "70B"\nconverters = ["float8"]\n[training]\nseq_len = 8192': {
        "layers": 80,
        "kv_heads": 8,
        "precision": "bf16+fp8",
        "global_batch": None,
    },
    "[float8]\nenable_float8_linear = true\n[training]\nseq_len = 64": {"precision": "bf16+fp8"},
    '[activation_checkpoint]\nmode = "full"\n[training]\nmixed_precision_param = "float32"': {
        "recompute": "full",
        "precision": "fp32",
    },
}


@pytest.mark.parametrize("text", TOMLS)
def test_torchtitans_schemas(text: str) -> None:
    (job,) = read_jobs({"train.toml": text})
    wanted = TOMLS[text]
    assert str(job.kind) == "torchtitan-toml" and values(job, *wanted) == list(wanted.values())


def test_old_names_stay_as_written_in_settings() -> None:
    (job,) = read_jobs({"train.toml": "[training]\nseq_len = 8\n  batch_size = 2\n"})
    setting = next(s for s in job.settings if s.values == (2,))
    assert (setting.name, setting.line, setting.column) == ("training.batch_size", 3, 3)


def test_the_command_overrides_the_toml() -> None:
    files = {
        "train.toml": "[parallelism]\ntensor_parallel_degree = 2\n[training]\nseq_len = 8192\n",
        "run.sh": "CONFIG=${CONFIG:-./train.toml}\ntorchrun --nnodes 2 --nproc_per_node 8 -m torchtitan.train"
        " --job.config_file $CONFIG --parallelism.tensor_parallel_degree=8\n",
    }
    (job,) = read_jobs(files)
    assert values(job, "tp", "seq_len", "gpus", "dp", "nodes") == [8, 8192, 16, 2, 2]
    fact = next(fact for fact in job.facts if fact.name == "tp")
    assert (fact.path, fact.line) == ("run.sh", 2)


PYTHON = """
def base() -> Trainer.Config:
    spec = model_registry("8B", converters=[Float8LinearConverter.Config()])
    return Trainer.Config(
        model_spec=spec,
        training=TrainingConfig(local_batch_size=1, seq_len=8 * 1024),
        parallelism=ParallelismConfig(tensor_parallel_degree=8),
        activation_checkpoint=FullAC.Config(),
    )


def larger() -> Trainer.Config:
    config = base()
    config.parallelism.pipeline_parallel_degree = 2
    if os.environ.get("LONG"):
        config.training.seq_len = 1
    return config
"""


def test_python_configs_are_read_from_their_syntax() -> None:
    first, second = read_jobs({"torchtitan/models/llama3/config_registry.py": PYTHON})
    assert str(first.kind) == "torchtitan-python"
    assert values(first, "tp", "pp", "seq_len", "recompute", "precision", "layers") == [
        8, 1, 8192, "full", "bf16+fp8", 32,
    ]  # fmt: skip
    assert values(second, "tp", "pp", "seq_len") == [8, 2, "?"]


def test_a_module_is_found_by_its_name() -> None:
    files = {
        "parc_job.py": PYTHON,
        "run.sh": "torchrun --nproc_per_node 8 -m torchtitan.train --module parc_job --config base\n",
    }
    job = next(job for job in read_jobs(files) if job.kind.carrier == "bash")
    assert values(job, "tp", "gpus", "seq_len") == [8, 8, 8192]
