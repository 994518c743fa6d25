"""`parc import` of what `parc compile` wrote: the job compiles to the same files again."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

import pytest

from parc.api import emit, plan_targets
from parc.backends import BACKENDS
from parc.backends.launch_files import read_jobs
from parc.dsl import loads
from parc.lint.facts.launched_job import LaunchedJob
from parc.lint.imported import imported

OPTIONS = {name: backend.target.options for name, backend in BACKENDS.items()}
CLUSTER = "cluster pod from std.dgx_h100 { nodes = 1 }\n"
MODEL = (
    "model m { layers = 8; hidden = 1024; heads = 16; kv_heads = 8; ffn = 4096; vocab = 32000 }\n"
)
TRAIN = "seq_len = 2048; global_batch = 32; learning_rate = 3e-4; schedule = cosine; warmup = 10; steps = 500"
JOBS = {
    "megatron, all layers recomputed": (
        f"train {{ {TRAIN}; precision = fp8 }}\ngoal {{ require recompute == full; require tp == 2; "
        "require recompute_layers == 0 }\n"
        'target megatron { data = "/data/a"; eval_interval = 100; profile_start = 5; tp_overlap = true }'
    ),
    "megatron, some layers recomputed": (
        f"train {{ {TRAIN}; optimizer = muon }}\ngoal {{ require recompute == full; "
        "require recompute_layers == 3 }\ntarget megatron { save = false }"
    ),
    "megatron, the newest checkpoint of a run in sequences": (
        f"train {{ {TRAIN}; ramp_from = 8; ramp_tokens = 1048576; keep_checkpoints = 1; "
        'checkpoint_interval = 50 }\ngoal { require pp == 1 }\ntarget megatron { data = "/data/a" }'
    ),
    "megatron, a vocabulary that tp pads": (
        f"train {{ {TRAIN} }}\ngoal {{ require tp == 4 }}\n"
        'target megatron { data = "/data/a"; tokenizer = "org/m-1"; '
        "tokenizer_type = HuggingFaceTokenizer }"
    ),
    "deepspeed, sums in 16 bits, secondary partition": (
        f"train {{ {TRAIN} }}\ngoal {{ require zero == 3 }}\n"
        "target deepspeed { accumulate = compute; valid_data = synthetic; save = none }"
    ),
    "deepspeed, momentum": (
        f"train {{ {TRAIN}; optimizer = sgd; beta1 = 0.8 }}\ngoal {{ require zero == 1 }}\n"
        'target deepspeed { data = "/data/a" }'
    ),
    "torchtitan, replicas": (
        f"train {{ {TRAIN}; clip_grad = 0 }}\ngoal {{ require dp_replicate == 2; require zero == 3 }}\n"
        'target torchtitan { data = "/data/a"; validation = "c4_test"; eval_iters = 3; profile_start = 20;'
        ' wandb = "runs" }'
    ),
    "torchtitan, one replica": (
        f"train {{ {TRAIN} }}\ngoal {{ require dp_replicate == 1; require zero == 2 }}\n"
        "target torchtitan { data = synthetic }"
    ),
    "torchtitan 0.3": (
        f"train {{ {TRAIN}; min_learning_rate = 3e-5 }}\ngoal {{ require tp == 2 }}\n"
        'target torchtitan { version = "0.3"; data = "/data/a"; profile_start = 20; log_interval = 7 }'
    ),
    "deepspeed, adapters, groups that are not divided": (
        f'train {{ {TRAIN}; weights = "org/m-1"; tune = lora; adapter_rank = 8 }}\n'
        'goal { require zero == 1 }\ntarget deepspeed { model = hf; data = "/data/a" }'
    ),
    "accelerate, adapters": (
        f'train {{ {TRAIN}; weights = "./m 1"; tune = lora; adapter_targets = attention }}\n'
        'goal { require zero == 3 }\ntarget accelerate { data = "/data/a"; data_dtype = "uint32" }'
    ),
    "accelerate, adapters beside 4 bits": (
        f'train {{ {TRAIN}; weights = "here"; tune = qlora; adapter_rank = 4; adapter_dropout = 0.1 }}\n'
        "goal { require zero == 2; require dp_replicate == 2 }\ntarget accelerate { data = synthetic }"
    ),
    "accelerate, whole weights": (
        f"train {{ {TRAIN}; collective_timeout = 7 min }}\ngoal {{ require zero == 2 }}\n"
        "target accelerate { save = none }"
    ),
    "slurm, a part of a node": (
        f"train {{ {TRAIN} }}\ngoal {{ require zero == 3 }}\ntarget accelerate {{ data = synthetic }}\n"
        'launch slurm { time = 3 h; partition = "a b"; exclusive = false; gpu_request = gres; '
        'gpu_type = "h100"; requeue = 7; signal = 2 min; '
        'extra = { mail_user = "me@x.org"; nice = 5; contiguous = true } }'
    ),
}

BEFORE = (
    'launch slurm { signal = 0 s; env = { A = "1 2"; NCCL_DEBUG = "INFO" }; health_check = false; '
    'modules = ["cuda/12 nccl"]; setup = ["ulimit -l unlimited", "echo \'a b\'"]; requeue = 0 }'
)
JOBS |= {
    f"slurm, what runs before {name}": (
        f"train {{ {TRAIN} }}\ngoal {{ require zero == {zero} }}\n"
        f"target {name} {{ data = synthetic }}\n{BEFORE}"
    )
    for name, zero in (("megatron", 1), ("deepspeed", 1), ("torchtitan", 3), ("accelerate", 3))
}


def compiled(text: str) -> dict[str, str]:
    _, emitted = emit(plan_targets(loads(text, "m.par", targets=OPTIONS)))
    return emitted.files


def again(files: Mapping[str, str]) -> str:
    """The imported job on the same cluster; no launch file says which one that is in all its numbers."""
    (config,) = read_jobs(files)
    return imported(LaunchedJob(config), "std.dgx_h100").text


def settings(files: Mapping[str, str]) -> set[tuple[str, ...]]:
    (config,) = read_jobs(files)
    return {
        (each.scope, each.name, *(_of_any_run(str(value)) for value in each.values))
        for each in config.settings
    }


def decided(files: Mapping[str, str]) -> dict[str, object]:
    """What decides the training, beside the name of the run and what other settings imply."""
    (text,) = (text for path, text in files.items() if path.endswith("/run.json"))
    rates = ("train.learning_rate", "train.min_learning_rate")
    implied = ("model.head_dim", *rates, "megatron.fp8_recipe")
    return {
        name: value
        for name, value in json.loads(text).items()
        if "." in name and name not in implied and value != []
    }


def prepared_lines(files: Mapping[str, str]) -> list[str]:
    """Lines of the batch script before the job, and those that look at the nodes."""
    texts = "\n".join(text for path, text in files.items() if path.endswith((".sbatch", ".sh")))
    return re.findall(r"^(?:module load|ulimit|echo 'a|.*health\.py).*$", texts, re.M)


def _of_any_run(text: str) -> str:
    """Without the digest of the job, and the model's name, which is that of a file."""
    return re.sub(r"parc_\w+", "parc_", re.sub(r"runs/[\w.-]+", "runs/", text))


#: What a configuration in Python says in groups of parameters, which are not read.
UNREAD = {"torchtitan 0.3": {"optimizer.param_groups", "lr_scheduler.min_lr_factor"}}


@pytest.mark.parametrize("name", JOBS)
def test_the_same_files_are_written_again(name: str) -> None:
    files = compiled(MODEL + CLUSTER + JOBS[name])
    assert files
    text = again(files)
    (config,) = read_jobs(files)
    lost = {each.name for each in imported(LaunchedJob(config), "std.dgx_h100").lost}
    assert lost <= UNREAD.get(name, set())
    if name in UNREAD:
        text = text.replace(
            "train {", "train {\n  learning_rate = 3e-4\n  min_learning_rate = 3e-5", 1
        )
    other = compiled(text)
    assert settings(other) == settings(files)
    assert decided(other) == decided(files)
    assert prepared_lines(other) == prepared_lines(files)


def test_what_the_block_cannot_say_is_listed() -> None:
    """Variables that hang on the machine, and directives that count memory in another way than parc."""
    files = compiled(
        MODEL
        + CLUSTER
        + f"train {{ {TRAIN} }}\ngoal {{ maximize mfu }}\ntarget megatron {{ data = synthetic }}\n"
        + 'launch slurm { env = { SEEN = "$HOME/a" }; extra = { mem_per_cpu = "4G"; nice = 5 } }'
    )
    (config,) = read_jobs(files)
    found = imported(LaunchedJob(config), "std.dgx_h100")
    assert {each.name for each in found.lost} == {"SEEN", "--mem-per-cpu"}
    assert 'extra = { nice = "5" }' in " ".join(found.text.split())
