"""What `parc import` writes is its own canonical form, whatever the launch files are."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from pathlib import Path
from random import Random

import pytest

import parc
from benchmarks.lint.lint_mutations import OTHERS
from parc.__main__ import main
from parc.dsl.diagnostics import Source
from parc.dsl.formatting.canonical import formatted
from parc.dsl.formatting.drafts import draft
from parc.dsl.formatting.layout import WIDTH
from parc.dsl.syntax.naming import FROM, block_name
from parc.lint.facts.launched_job import LaunchedJob
from parc.lint.imported import imported
from parc.lint.rules import RULES
from parc.lint.run import read_configs
from tests.fuzz.readers import READERS
from tests.lint.test_import_yaml import FILES
from tests.support.compiled_examples import EXAMPLES, compiled
from tests.support.hostile_texts import LINES, PIECES, text_of
from tests.support.linted import Captured
from tests.support.paths import ROOT

FAILURES = ROOT / "benchmarks" / "data" / "failures"
#: Texts of the readers that fuzzing starts from, each with a name of such a file.
SEEDS = {"bash": "train.sh", "sbatch": "train.sbatch", "yaml": "config.yaml", "recipe": "recipe.py"}


def assert_canonical(texts: Mapping[str, str]) -> int:
    """The number of jobs in the files, each imported with and without a cluster, and twice."""
    found = [LaunchedJob(each) for each in read_configs(texts, {}) if each.facts]
    for launch in found:
        for cluster in (None, "std.dgx_h100"):
            text = imported(launch, cluster).text
            assert formatted(Source("job.par", text)) == text
            assert imported(launch, cluster).text == text
            assert not any(map(too_long, text.splitlines()))
    return len(found)


def too_long(line: str) -> bool:
    """Whether a comment on a line of its own could have been broken."""
    words = line.removeprefix("#").split()
    return line.startswith("#") and len(line) > WIDTH and len(words) > 1


@pytest.mark.parametrize("example", EXAMPLES)
def test_files_that_parc_emits(example: str) -> None:
    files = compiled(example).files
    assert sum(assert_canonical({path: files[path]}) for path in sorted(files)) > 0


def pages() -> Iterator[Mapping[str, str]]:
    for rule in RULES:
        yield rule.example("Bad")
        yield rule.example("Good")


def reported() -> Iterator[Mapping[str, str]]:
    for folder in sorted(FAILURES.iterdir()):
        files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
        yield {path.relative_to(folder).as_posix(): path.read_text() for path in files}


def written_elsewhere(folder: Path) -> Iterator[Mapping[str, str]]:
    """Files of the formats that parc reads and does not write."""
    yield from ({"run.yaml": text} for text, *_ in FILES.values())
    for jobs in OTHERS.values():
        yield from jobs.values()
    for kind, name in SEEDS.items():
        yield from ({name: text} for text in READERS[kind].seeds(folder))


def test_examples_of_the_rules() -> None:
    assert sum(map(assert_canonical, pages())) > len(RULES)


def test_reported_failures() -> None:
    assert sum(map(assert_canonical, reported())) > 50


def test_files_of_other_programs(tmp_path: Path) -> None:
    assert sum(map(assert_canonical, written_elsewhere(tmp_path))) > 20


WORDS = (
    "--seq-length 4096", "--swiglu", "--lr 3e-4", "--lr nan", "--clip-grad inf", "--seed -4",
    "--train-iters 1e9", "--norm-epsilon 1e-400", "--use-flash-attn", "--moe-z-loss-coeff 0.001",
    "--num-experts 8", "--data-path 1 a 2 b", "--tensor-model-parallel-size 2",
    "--pipeline-model-parallel-size 4", "--fp16", "--unheard-of", "--eval-iters 10",
    "--normalization RMSNorm", "--reset-position-ids", "--recompute-activations",
)  # fmt: skip


def drawn(seed: int) -> tuple[str, str]:
    """A name and a script: any options, some with hostile values, lists of a hundred, and directives."""
    dice = Random(f"imported {seed}")

    def hostile() -> str:
        return text_of(dice.randrange(10**6), PIECES + LINES)

    options = dice.sample(WORDS, dice.randint(3, len(WORDS)))
    options += [f"--lost-{n} {shlex.quote(hostile())}" for n in range(dice.randint(0, 4))]
    options += [f"--many {' '.join(['word'] * dice.randint(1, 100))}"]
    directives = [f"#SBATCH --job-name={dice.choice(['a b', 'from', '7b', '%x', '-', 'é'])}"]
    directives += [f"#SBATCH --comment={'x' * dice.randint(1, 200)}", "#SBATCH --nodes=2"]
    exports = [f"export NCCL_{n}={shlex.quote(hostile())}" for n in range(dice.randint(0, 3))]
    command = f"srun torchrun --nproc-per-node 8 pretrain_gpt.py {' '.join(options)}"
    name = dice.choice(["train.sh", "from.sh", "a b.sh", "7b.sbatch", f"{'long_' * 30}.sh"])
    return name, "\n".join(["#!/bin/bash", *directives, *exports, command, ""])


@pytest.mark.parametrize("seed", range(60))
def test_drawn_scripts(seed: int) -> None:
    name, text = drawn(seed)
    assert assert_canonical({name: text}) == 1


def test_fmt_finds_nothing_to_change(capsys: Captured) -> None:
    Path("from.sh").write_text(drawn(1)[1])
    assert main(["import", "from.sh", "--cluster", "std.dgx_h100", "-o", "job.par"]) == 0
    assert main(["fmt", "--check", "job.par"]) == 0
    capsys.readouterr()


def test_a_block_that_the_language_does_not_read_is_written_as_it_is() -> None:
    text = draft(["model from {\n  layers=4\n}", "train {\n  seq_len=8\n  steps=4\n}", "# why"])
    assert (
        text == "model from {\n  layers=4\n}\n\ntrain {\n  seq_len = 8\n  steps   = 4\n}\n\n# why\n"
    )


def test_a_script_of_any_name_names_its_model(capsys: Captured) -> None:
    shape = "--num-layers 4 --hidden-size 512 --num-attention-heads 8 --vocab-size 32000"
    for stem in ("from", "7b", "é", "model"):
        Path(f"{stem}.sh").write_text(
            f"torchrun --nproc-per-node 8 pretrain_gpt.py {shape} --seq-length 64 --train-iters 9 "
            "--micro-batch-size 1 --global-batch-size 8\n"
        )
        assert main(["import", f"{stem}.sh", "--cluster", "std.dgx_h100", "-o", f"{stem}.par"]) == 0
        assert parc.load(f"{stem}.par").model.name == block_name(stem, "job") != FROM
    capsys.readouterr()
