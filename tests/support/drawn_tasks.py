"""A seed -> a plan that SkyPilot starts, with settings by chance that agree with each other."""

from __future__ import annotations

import random
from typing import Any

from parc.backends import BACKENDS
from parc.compiler.plan import Layout, Plan
from parc.dsl.launchers import SkyPilot

from .sample_plans import sample_plan

#: How many of them tests draw.
DRAWN = 100
_LAYOUTS = (Layout(dp_shard=8, zero=3), Layout(dp_shard=16, zero=3), Layout(dp_shard=64, zero=3))


def drawn_task(seed: int) -> Plan:
    dice = random.Random(seed)
    volumes = ["runs:/runs", "s3://corpus/c4:/data", "gs://ours:/x/y", "a-1:/mnt/a"]
    choices: dict[str, Any] = {
        "job_name": dice.choice(["run", "a-run_2.b", "42"]),
        "infra": dice.choice(["aws", "gcp/us-central1", "k8s/ours", "aws/*/us-east-1a"]),
        "accelerators": dice.choice(["H100", "H100-SXM", "A100-80GB"]),
        "spot": dice.random() < 0.5,
        "network_tier": dice.choice(["standard", "best"]),
        "image": dice.choice(["nvcr.io/nvidia/pytorch:25.06-py3", "ours@sha256:0123"]),
        "volumes": tuple(dice.sample(volumes, dice.randrange(1, 4))),
        "setup": dice.choice([("pip install torch",), ('echo "$HOME: #1"', "set -e", "a: [b")]),
        "restarts": dice.randrange(20),
        "env": {"NCCL_DEBUG": "WARN", "TWO": 2},
    }
    kept = {key: value for key, value in choices.items() if dice.random() < 0.6}
    if dice.random() < 0.3:
        kept["runs"] = "/mnt/shared folder/runs"
    target = dice.choice(("megatron", "deepspeed", "torchtitan"))
    options = BACKENDS[target].target.options()
    layout = dice.choice(_LAYOUTS)
    return sample_plan(target, options, layout=layout, launch=SkyPilot(**kept))
