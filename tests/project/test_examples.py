"""Every example on every backend: golden files, reading back, clean text."""

from __future__ import annotations

import json
import subprocess
import tomllib
from pathlib import Path

import black
import pytest
import yaml

from parc.api import cautions
from parc.backends import BACKENDS, LAUNCHERS
from parc.compiler.plan import Plan
from tests.support.compiled_examples import EXAMPLES, Compiled, compiled
from tests.support.paths import ROOT
from tests.support.read_back import assert_plan_is_back

GOLDEN = ROOT / "tests" / "golden"
#: Examples that train ten times as long with DeepSpeed as with the best target, which is told.
HARDLY_TRAINS = {"llama3_405b", "llama3_405b_131k"}
every_example = pytest.mark.parametrize("example", EXAMPLES)


def files_of(result: Compiled, *suffixes: str) -> dict[str, str]:
    return {path: text for path, text in result.files.items() if path.endswith(suffixes)}


@every_example
def test_an_example_says_why_it_is_there(example: str) -> None:
    assert EXAMPLES[example].read_text().startswith("# ")


@every_example
def test_every_target_has_a_proven_plan(example: str) -> None:
    result = compiled(example)
    slow = [each for each in result.complaints if "PAR710" in each and "deepspeed" in each]
    assert len(result.complaints) == len(slow) == (example in HARDLY_TRAINS)
    assert {plan.target for plan in result.plans} == {
        spec.name for spec in result.plans[0].job.targets
    }
    assert {plan.proof.status for plan in result.plans} == {"OPTIMAL"}


@every_example
def test_an_example_names_its_data_and_balances_its_experts(example: str) -> None:
    job = compiled(example).plans[0].job
    assert [each.message for spec in job.targets for each in cautions(job, spec.name)] == []


@every_example
def test_golden(example: str, update: bool) -> None:
    folder, files = GOLDEN / example, compiled(example).files
    if update:
        _rewrite(folder, files)
    found = {
        str(path.relative_to(folder)): path.read_text()
        for path in folder.rglob("*")
        if path.is_file()
    }
    assert sorted(found) == sorted(files), "run `pytest --update` and read the diff"
    for path, text in files.items():
        assert (
            text == found[path]
        ), f"{example}/{path} has changed: run `pytest --update` and read the diff"


def _rewrite(folder: Path, files: dict[str, str]) -> None:
    for path in folder.rglob("*"):
        if path.is_file() and str(path.relative_to(folder)) not in files:
            path.unlink()
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def written_by(plan: Plan, files: dict[str, str]) -> dict[str, str]:
    return {path: text for path, text in files.items() if path.startswith(f"{plan.target}/")}


@every_example
def test_reading_gives_the_plan_back(example: str) -> None:
    result = compiled(example)
    for plan in result.plans:
        assert_plan_is_back(plan, written_by(plan, result.files))
        if plan.job.launch is not None:
            launcher = LAUNCHERS[plan.job.launch.kind]
            start = f"{launcher.name}/{plan.target}."
            (path,) = (path for path in result.files if path.startswith(start))
            assert launcher.read({path: result.files[path]}).values() == launcher.facts(plan)


@every_example
def test_facts_hold_the_numbers_of_the_plan(example: str) -> None:
    """A reader that undoes an emitter's mistake would pass unseen otherwise."""
    for plan in compiled(example).plans:
        facts = BACKENDS[plan.target].facts(plan)
        for name in ("tp", "pp", "micro_batch", "seq_len"):
            if name in facts:
                expected = (
                    plan.job.train.seq_len if name == "seq_len" else getattr(plan.layout, name)
                )
                assert facts[name] == expected


@every_example
def test_scripts_are_clean_bash(example: str, tmp_path: Path) -> None:
    scripts = files_of(compiled(example), ".sh", ".sbatch")
    assert scripts
    paths: list[Path] = []
    for name, text in scripts.items():
        assert text.startswith("#!/usr/bin/env bash\n")
        # The batch scripts read judge.sh once they are strict.
        assert "set -euo pipefail" in text or name == "slurm/judge.sh"
        paths.append(tmp_path / name.replace("/", "-"))
        paths[-1].write_text(text)
        subprocess.run(["bash", "-n", paths[-1]], check=True)
    command = ["shellcheck", "--severity=warning", "--shell=bash", *map(str, paths)]
    result = subprocess.run(command, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout


@every_example
def test_python_is_black_and_compiles(example: str) -> None:
    for path, text in files_of(compiled(example), ".py").items():
        compile(text, path, "exec")
        assert black.format_str(text, mode=black.Mode()) == text, path


@every_example
def test_json_and_toml_parse(example: str) -> None:
    result = compiled(example)
    assert all(isinstance(json.loads(text), dict) for text in files_of(result, ".json").values())
    assert all(tomllib.loads(text) for text in files_of(result, ".toml").values())


@every_example
def test_yaml_parses(example: str) -> None:
    for text in files_of(compiled(example), ".yaml").values():
        assert all(isinstance(each, dict) for each in yaml.load_all(text, yaml.CSafeLoader))


@every_example
def test_directives_stand_before_the_first_command(example: str) -> None:
    for text in files_of(compiled(example), ".sbatch").values():
        lines = text.splitlines()
        directives = [n for n, line in enumerate(lines) if line.startswith("#SBATCH")]
        commands = [n for n, line in enumerate(lines) if line and not line.startswith("#")]
        assert directives and max(directives) < min(commands)


@every_example
def test_files_name_their_job_and_no_place_of_this_machine(example: str) -> None:
    result = compiled(example)
    digest = result.plans[0].job.digest[:16]
    for path, text in result.files.items():
        assert str(ROOT) not in text, path
        if not path.endswith(".json"):
            assert digest in "\n".join(text.splitlines()[:10]), f"{path} has no header"
