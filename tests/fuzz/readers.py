"""Everything that parc reads: sound texts to start from, and what is done with a text of that kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

import parc
from benchmarks.accuracy.rows import csv_rows
from benchmarks.lint.mutations import kubernetes, verl
from benchmarks.lint.mutations.mutation import Files
from parc.calibrate.log_files import log_of, text_of
from parc.calibrate.probe.measured import measured
from parc.calibrate.probe.rows import read_probe
from parc.calibrate.trial_files import LISTED, logs_of
from parc.dsl.diagnostics import JobError, Source
from parc.dsl.formatting.canonical import formatted
from parc.dsl.job import Job
from parc.lint.accepted.baseline import load_baseline
from parc.lint.accepted.exceptions import load_exceptions
from parc.lint.facts.launched_job import LaunchedJob
from parc.lint.fix import fixes
from parc.lint.formats import FORMATS
from parc.lint.formats.fact_table import facts_text
from parc.lint.imported import imported
from parc.lint.judging import LintOptions
from parc.lint.project_settings import load_project_settings
from parc.lint.run import lint_texts
from parc.writing.output_folder import MANIFEST, changes
from tests.backends.nemo.test_nemo import BRIDGE, DIRECT, RECIPE
from tests.reading.test_skypilot import TASK as _SKYPILOT
from tests.support import measured_rows, simulated_logs, simulated_probe
from tests.support.paths import CASES, ROOT

#: Characters of a text to start from; longer ones take longer and hold nothing else.
MOST = 6_000
#: What is done with a text: it ends, with an answer or with complaints that can be printed.
Answer = Callable[[str, Path], None]


@dataclass(frozen=True)
class Reader:
    seeds: Callable[[Path], Sequence[str]]
    answer: Answer


def of_file(name: str, read: Callable[[Path], object]) -> Answer:
    """Reads the text from a file of this name; complaints are an answer."""

    def answer(text: str, folder: Path) -> None:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        told(read, path)

    return answer


def told(read: Callable[[Path], object], path: Path) -> None:
    try:
        read(path)
    except JobError as error:
        assert error.diagnostics and str(error)
        assert json.dumps([each.to_json() for each in error.diagnostics])


def override(text: str, folder: Path) -> None:
    with suppress(JobError):
        parc.load(ROOT / "examples/gpt_125m.par", [text])


HEAD = "torchrun --nproc-per-node 8 --nnodes 2 "
#: The command beside a configuration that it names.
COMMANDS: Mapping[str, str] = {
    "ds_config.json": HEAD + "train.py --deepspeed --deepspeed_config ds_config.json\n",
    "train.toml": HEAD + "-m torchtitan.train --job.config_file train.toml\n",
    "config_registry.py": HEAD + "-m torchtitan.train --module config_registry --config train\n",
    "train.yaml": "NNODES=2 llamafactory-cli train train.yaml --bf16 true\n",
}


def launch_file(name: str) -> Answer:
    """Reading, judging, printing, mending and importing a launch file."""

    def answer(text: str, folder: Path) -> None:
        texts = {name: text.encode(errors="replace").decode()}
        if name in COMMANDS:
            texts["run.sh"] = COMMANDS[name]
        judged = lint_texts(texts, LintOptions(), {})
        printed = [FORMATS[each](judged) for each in FORMATS] + [facts_text(judged)]
        assert all(isinstance(each, str) for each in printed)
        assert all(fixed.after != fixed.before for fixed in fixes(judged))
        for job in (LaunchedJob(each.config) for each in judged if each.config.facts):
            text = imported(job, None).text
            assert formatted(Source("job.par", text)) == text

    return answer


@cache
def _calibrated(folder: Path) -> Job:
    """The job whose logs are read; written beside logs of each framework."""
    here = folder / "simulated"
    here.mkdir()
    simulated_logs.record(here, ["tp1", "fsdp", "zero3"])
    return simulated_logs.job_of(simulated_logs.RUNS["tp1"], here)


def _logs(folder: Path) -> list[str]:
    _calibrated(folder)
    written = [*(folder / "simulated").glob("*.log"), *(CASES / "logs").glob("*.log")]
    return [path.read_text()[:MOST] for path in sorted(written)]


def _log(text: str, folder: Path) -> None:
    of_file("run.log", lambda path: log_of([_calibrated(folder)], str(path), text_of(str(path))))(
        text, folder
    )


def _probe(folder: Path) -> list[str]:
    simulated_probe.record(folder / "seed.jsonl")
    return [(folder / "seed.jsonl").read_text()[:MOST]]


def _rows(folder: Path) -> list[str]:
    return [measured_rows.write(folder / "seed.csv", measured_rows.GOOD).read_text()]


def _table(path: Path) -> None:
    with suppress(csv_rows.Unreadable):
        list(csv_rows.rows(path))


def given(*texts: str) -> Callable[[Path], Sequence[str]]:
    return lambda folder: texts


_JOBS = tuple(path.read_text() for path in sorted((ROOT / "examples").glob("*.par")))
_PART = 'import "part.par"\nmodel m from there { }\ncluster c from std.dgx_h100 { nodes = 2 }\n'
_SETTINGS = 'ignore = ["PAR111"]\nfail-on = "warning"\n[env]\nTP = "8"\n'
_TRIALS = json.dumps({"trials": [{"target": "megatron", "layout": {"tp": 2, "pp": 1}}]})
_PLAN = json.dumps({"files": {"megatron/pretrain.sh": "0" * 64}, "plans": []})
_SCRIPTS = tuple(path.read_text() for path in sorted((CASES / "bash").glob("*.sh")))
_SBATCH = (
    "#!/bin/bash\n#SBATCH --nodes=2 --time=1:00:00 --signal=B:USR1@60\n#SBATCH --gres=gpu:h100:8\n"
    '#SBATCH --job-name="a b" --mem=0 # all\nsrun torchrun --nproc-per-node 8 train.py\n'
)
_DEEPSPEED = (
    '{"train_batch_size": 64, "zero_optimization": {"stage": 2, "offload_param": {"device": "cpu"}},\n'
    ' "bf16": {"enabled": true}, "scheduler": {"params": {"warmup_num_steps": 10}}}\n'
)
_TORCHTITAN = (
    '[model]\nname = "llama3"\nflavor = "8B"\n[training]\nlocal_batch_size = 8\nseq_len = 8192\n'
    "[parallelism]\ntensor_parallel_degree = 2\npipeline_parallel_degree = 2\n"
)
_PYTHON = (
    "def train():\n    config = llama3_8b()\n    config.training.seq_len = 8192\n"
    "    return Trainer.Config(training=TrainingConfig(local_batch_size=2, steps=10))\n"
)
_MEGATRON = (
    HEAD + "pretrain_gpt.py --num-layers 8 --hidden-size 64 --seq-length 64 --global-batch-size 8\n"
)

_YAML = (
    "distributed_type: DEEPSPEED\ndeepspeed_config: {zero_stage: 3}\nnum_machines: 2\nnum_processes: 16\n",
    "model: &m {tensor_model_parallel_size: 4, num_layers: 32}\ntrainer: {devices: 8, num_nodes: ${N:2}}\n",
    "model_name_or_path: a/b\nper_device_train_batch_size: 2\ndeepspeed: z.json\nbf16: auto\n",
)
_EXCEPTIONS = (
    '[[exception]]\nrule = "PAR655"\npath = "a/*.sh"\nreason = "so it is"\nuntil = 2027-01-01\n'
)
_BASELINE = json.dumps({"version": 1, "findings": [{"fingerprint": "0" * 64, "path": "a.sh"}]})


def _of(format: ModuleType) -> list[str]:
    """The files of a format that parc reads and does not write."""
    jobs: Mapping[str, Files] = format.JOBS
    return [files[format.PATH] for files in jobs.values()]


READERS: Mapping[str, Reader] = {
    "job": Reader(given(*_JOBS), of_file("job.par", parc.load)),
    "import": Reader(
        given(
            "model there { layers = 4; hidden = 512; heads = 8; ffn = 8; vocab = 320 }\nlet a = 2 GiB\n"
        ),
        of_file("part.par", lambda path: parc.load(_importing(path))),
    ),
    "override": Reader(
        given("train.seq_len=4096", "goal.require=tp == 2", 'target.megatron.data="/d"'), override
    ),
    "parc.toml": Reader(
        given(_SETTINGS), of_file("a/parc.toml", lambda path: load_project_settings(path.parent))
    ),
    "pyproject.toml": Reader(
        given(f"[tool.parc]\n{_SETTINGS.replace('[env]', '[tool.parc.env]')}"),
        of_file("b/pyproject.toml", lambda path: load_project_settings(path.parent)),
    ),
    "bash": Reader(given(*_SCRIPTS, _MEGATRON), launch_file("train.sh")),
    "sbatch": Reader(given(_SBATCH), launch_file("train.sbatch")),
    "deepspeed": Reader(given(_DEEPSPEED), launch_file("ds_config.json")),
    "torchtitan": Reader(given(_TORCHTITAN), launch_file("train.toml")),
    "python": Reader(given(_PYTHON), launch_file("config_registry.py")),
    "yaml": Reader(given(*_YAML), launch_file("config.yaml")),
    "kubernetes": Reader(given(*_of(kubernetes)), launch_file(kubernetes.PATH)),
    "skypilot": Reader(given(_SKYPILOT), launch_file("task.yaml")),
    "verl": Reader(given(*_of(verl)), launch_file(verl.PATH)),
    "recipe": Reader(given(DIRECT, RECIPE, BRIDGE), launch_file("recipe.py")),
    "trainer": Reader(given(*_YAML[-1:]), launch_file("train.yaml")),
    "exceptions": Reader(given(_EXCEPTIONS), of_file("accepted.toml", load_exceptions)),
    "baseline": Reader(given(_BASELINE), of_file("known.json", load_baseline)),
    "log": Reader(_logs, _log),
    "probe": Reader(_probe, of_file("rows.jsonl", lambda path: measured(read_probe(path)))),
    "trials": Reader(
        given(_TRIALS), of_file(f"c/{LISTED}", lambda path: logs_of([str(path.parent)], {}))
    ),
    "plan": Reader(given(_PLAN), of_file(f"d/{MANIFEST}", lambda path: changes(path.parent, {}))),
    "rows": Reader(_rows, of_file("rows.csv", _table)),
}


def _importing(part: Path) -> Path:
    job = part.with_name("importing.par")
    job.write_text(
        _PART + "train { seq_len = 64; global_batch = 8; steps = 9 }\ntarget megatron { }\n"
    )
    return job
