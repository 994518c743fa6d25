"""How many wrong edits of launch files the rules find: seeded single mutations of those that parc writes,
and of jobs in the other formats that it reads.

    python benchmarks/lint/lint_mutations.py [--count 500] [--seed 1] [--json FILE]

Each mutation changes one option, key or directive of a job's files so that the framework, or SLURM, would
refuse them. It is found when a rule says something that it does not say of the files as they were.
"""

from __future__ import annotations

import argparse
import json
import random
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # so that it runs by its path
from benchmarks.lint.mutations import (
    foundry,
    kubernetes,
    megatron_yaml,
    nanotron,
    nemo,
    trainer,
    verl,
)
from benchmarks.lint.mutations.deepspeed import DEEPSPEED
from benchmarks.lint.mutations.megatron import MEGATRON
from benchmarks.lint.mutations.mutation import Files, Mutation
from benchmarks.lint.mutations.slurm import SLURM
from benchmarks.lint.mutations.torchtitan import TORCHTITAN
from parc.backends.launch_files import read_jobs
from parc.lint.judging import LintOptions, judge

ROOT = Path(__file__).resolve().parents[2]
GOLDEN = ROOT / "tests" / "golden"
MUTATIONS: Mapping[str, tuple[Mutation, ...]] = {
    "megatron": MEGATRON,
    "deepspeed": DEEPSPEED,
    "torchtitan": TORCHTITAN,
    "slurm": SLURM,
    "kubernetes": kubernetes.KUBERNETES,
    "megatron-yaml": megatron_yaml.MEGATRON_YAML,
    "trainer": trainer.TRAINER,
    "verl": verl.VERL,
    "nemo-python": nemo.NEMO,
    "nanotron": nanotron.NANOTRON,
    "foundry": foundry.FOUNDRY,
}
#: Jobs in the formats that parc reads and does not write, by format and name.
OTHERS: Mapping[str, Mapping[str, Files]] = {
    "kubernetes": kubernetes.JOBS,
    "megatron-yaml": megatron_yaml.JOBS,
    "trainer": trainer.JOBS,
    "verl": verl.JOBS,
    "nemo-python": nemo.JOBS,
    "nanotron": nanotron.JOBS,
    "foundry": foundry.JOBS,
}
#: The releases that the emitted files are for.
VERSIONS = {"megatron": "0.19", "deepspeed": "0.19"}


@dataclass(frozen=True)
class Survivor:
    example: str
    kind: str
    what: str


def jobs(backend: str) -> dict[str, Files]:
    """The emitted files of every example that has the backend, its batch script with them; of a format that
    parc does not write the jobs beside its mutations."""
    if backend in OTHERS:
        return dict(OTHERS[backend])
    found: dict[str, Files] = {}
    for example in sorted(GOLDEN.iterdir()):
        for target in ("megatron", "deepspeed", "torchtitan"):
            if backend not in (target, "slurm") or not (example / target).is_dir():
                continue
            paths = sorted(path for path in (example / target).iterdir() if path.is_file())
            batch = example / "slurm" / f"{target}.sbatch"
            if batch.exists():
                paths[:0] = [batch, batch.with_name("judge.sh")]
            elif backend == "slurm":
                continue
            name = f"{example.name}/{target}"
            found[name] = {str(path.relative_to(example)): path.read_text() for path in paths}
    return found


def said(files: Files) -> set[tuple[str, str]]:
    """Errors and warnings of the rules on a job, at their own levels."""
    configs = read_jobs(files, folder=files.get)
    found = (
        each
        for one in judge(configs, LintOptions(versions=VERSIONS, own_levels=True))
        for each in one.findings
    )
    return {(each.code, each.diagnostic.message) for each in found if each.severity != "info"}


def survivors(backend: str, count: int, seed: int) -> list[Survivor]:
    """The mutations, of so many, of which nothing new is said."""
    chance = random.Random(f"{backend} {seed}")
    files = jobs(backend)
    before = {name: said(each) for name, each in files.items()}
    left: list[Survivor] = []
    done = 0
    while done < count:
        name = chance.choice(sorted(files))
        mutation = chance.choice(MUTATIONS[backend])
        changed = mutation(files[name], chance)
        if changed is None or changed[0] == files[name]:
            continue
        done += 1
        if not said(changed[0]) - before[name]:
            left.append(Survivor(name, mutation.__name__, changed[1]))
    return left


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--count", type=int, default=500, help="mutations of each backend")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path, metavar="FILE")
    given = parser.parse_args(argv)
    left = {backend: survivors(backend, given.count, given.seed) for backend in MUTATIONS}
    for backend, alive in left.items():
        share = 1 - len(alive) / given.count
        print(f"{backend:<13} {given.count - len(alive)} of {given.count} found ({share:.1%})")
        for each in alive:
            print(f"    {each.example}: {each.kind}: {each.what}")
    if given.json:
        found = {
            name: {"count": given.count, "found": given.count - len(alive)}
            for name, alive in left.items()
        }
        given.json.write_text(json.dumps(found, indent=2) + "\n", encoding="utf-8")
    return int(any(len(alive) > 0.05 * given.count for alive in left.values()))


if __name__ == "__main__":
    sys.exit(main())
