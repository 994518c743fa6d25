"""SkyPilot's own parser takes what parc emits, and understands the same machines, files and restarts."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import yaml

from parc.backends import BACKENDS, LAUNCHERS
from parc.backends.skypilot.names import settings, volume
from parc.compiler.plan import Plan
from tests.acceptance.support.environments import environment
from tests.support.drawn_tasks import DRAWN, drawn_task
from tests.support.paths import ROOT

PROBE = ROOT / "tests" / "acceptance" / "probes" / "skypilot_tasks.py"


def written(plan: Plan, folder: Path) -> str:
    files = BACKENDS[plan.target].emit(plan)
    own = LAUNCHERS["skypilot"].emit(plan, BACKENDS[plan.target].entry, files)
    for path, text in {**files, **own}.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text)
    (path,) = own
    return path


def parsed(places: list[tuple[Path, str]], home: Path) -> list[dict[str, Any]]:
    """What SkyPilot makes of each task of a folder."""
    made = environment("skypilot")
    home.mkdir()
    done = subprocess.run(
        [str(made.python), str(PROBE)],
        input="".join(f"{folder}\t{path}\n" for folder, path in places),
        env=made.variables(HOME=str(home), SKYPILOT_DISABLE_USAGE_COLLECTION="1"),
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def test_a_hundred_drawn_tasks_are_understood(tmp_path: Path) -> None:
    plans = [drawn_task(seed) for seed in range(DRAWN)]
    folders = [tmp_path / f"out-{number}" for number in range(DRAWN)]
    places = [(folder, written(plan, folder)) for plan, folder in zip(plans, folders, strict=True)]
    found = parsed(places, tmp_path / "home")
    assert len(found) == DRAWN
    for plan, (folder, path), told in zip(plans, places, found, strict=True):
        assert "error" not in told, (path, told, (folder / path).read_text())
        launch, given = settings(plan.job), yaml.safe_load((folder / path).read_text())
        assert (told["name"], told["nodes"]) == (given["name"], plan.layout.nodes)
        assert list(told["accelerators"].values()) == [plan.job.cluster.gpus_per_node]
        assert told["spot"] == launch.spot
        assert told["recovery"]["max_restarts_on_errors"] == launch.restarts
        assert told["image"] == launch.image
        assert told["run"] == given["run"] and told["envs"] == given.get("envs", {})
        assert (told["setup"] or "") == given.get("setup", "")
        assert list(told["files"].values()) == [plan.target]
        mounted = {path: source for source, path in map(volume, launch.volumes)}
        buckets = {path: source for path, (source, _) in told["buckets"].items()}
        assert {**told["volumes"], **buckets} == mounted


def test_it_refuses_what_is_no_task(tmp_path: Path) -> None:
    """Its parser is asked: a field that it does not know, and GPUs that are no number."""
    plan = drawn_task(1)
    path = written(plan, tmp_path)
    good = (tmp_path / path).read_text()
    for name, text in (
        ("field.yaml", f"{good}runn: x\n"),
        ("nodes.yaml", good.replace("num_nodes: ", "num_nodes: x")),
    ):
        (tmp_path / name).write_text(text)
    errors = parsed([(tmp_path, "field.yaml"), (tmp_path, "nodes.yaml")], tmp_path / "home")
    assert all("error" in each for each in errors) and len(errors) == 2
