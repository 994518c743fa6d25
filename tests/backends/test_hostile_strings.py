"""Any text of a job reaches the emitted files as text: they parse, nothing of it runs, it arrives whole."""

from __future__ import annotations

import json
import subprocess
import tomllib
import typing
from pathlib import Path
from typing import Any

import pytest

from parc.backends import BACKENDS, LAUNCHERS
from parc.backends.languages import bash
from parc.compiler.plan import Plan
from parc.dsl.job import Launch
from parc.dsl.settings import Data
from tests.support.bash_launches import command, said
from tests.support.hostile_texts import LINES, PIECES, text_of
from tests.support.sample_plans import DP8, sample_plan

SEEDS = range(12)
TARGETS: dict[str, dict[str, str]] = {
    "megatron": {},
    "deepspeed": {},
    "torchtitan": {},
    "torchtitan-0.2.0": {"version": "0.2.0"},
    "torchtitan-0.3": {"version": "0.3"},
}


def hostile(target: str, text: str, name: str) -> Plan:
    """A plan whose paths are `text` and whose names are `name`."""
    backend = BACKENDS[target.partition("-")[0]]
    options = backend.target.options(**TARGETS[target], **texts_of(backend.target.options, text))
    mount = "".join(letter for letter in text if letter not in "\"',`")
    launch = Launch(container=mount, mounts=f"{mount}:/m", modules=(text, "a b"))
    layout = DP8.model_copy(update={"zero": 3 if target.startswith("torchtitan") else 1})
    plan = sample_plan(backend.target.name, options, layout=layout, launch=launch)
    model = plan.job.model.model_copy(update={"name": name})
    changed = {"name": name, "path": f"jobs/{name}.par", "model": model}
    return plan.model_copy(update={"job": plan.job.model_copy(update=changed)})


def texts_of(options: Any, text: str) -> dict[str, Any]:
    """Every setting that takes a text or data."""
    found: dict[str, Any] = {}
    for name, info in options.model_fields.items():
        shape = info.annotation
        if typing.get_origin(shape) is dict:
            continue
        kinds = {shape, *typing.get_args(shape)}
        if str in kinds:
            found[name] = text
        elif Data in kinds and name == "data":
            found[name] = Data(parts=((text, 1.0),))
    return found


def files_of(plan: Plan) -> dict[str, str]:
    backend = BACKENDS[plan.target]
    return backend.emit(plan) | LAUNCHERS["slurm"].emit(plan, backend.entry)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", TARGETS)
def test_files_parse(target: str, seed: int, tmp_path: Path) -> None:
    name = text_of(seed + 100, PIECES + LINES)
    for path, text in files_of(hostile(target, text_of(seed), name)).items():
        if path.endswith((".sh", ".sbatch")):
            script = tmp_path / "script"
            script.write_text(text)
            done = subprocess.run(["bash", "-n", str(script)], capture_output=True, text=True)
            assert done.returncode == 0, (path, done.stderr, text)
        elif path.endswith(".py"):
            compile(text, path, "exec")
        elif path.endswith(".toml"):
            tomllib.loads(text)
        elif path.endswith(".json"):
            json.loads(text)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("target", TARGETS)
def test_nothing_in_it_runs(target: str, seed: int, tmp_path: Path) -> None:
    """The script is run with a recorder in torchrun's place."""
    torchrun = tmp_path / "torchrun"
    torchrun.write_text("#!/bin/sh\nexit 0\n")
    torchrun.chmod(0o755)
    plan = hostile(target, text_of(seed), text_of(seed + 100, PIECES + LINES))
    backend = BACKENDS[plan.target]
    script = tmp_path / "script.sh"
    script.write_text(backend.emit(plan)[backend.entry])
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin", "HOME": str(tmp_path)}
    done = subprocess.run(
        ["bash", str(script)], cwd=tmp_path, env=environment, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert sorted(path.name for path in tmp_path.iterdir()) == ["script.sh", "torchrun"]


@pytest.mark.parametrize("seed", range(60))
def test_a_default_arrives_whole(seed: int) -> None:
    """Bash and parc's reader of bash give the text back."""
    text = text_of(seed, PIECES + LINES)
    script = f'set -euo pipefail\nX="${{X:-{bash.default(text)}}}"\nprintf %s "$X"\n'
    done = subprocess.run(["bash", "-c", script], capture_output=True, check=True)
    assert done.stdout.decode() == text
    launched = command(script.replace("printf %s", "torchrun train.py"))
    assert said(launched)[-1] == text
