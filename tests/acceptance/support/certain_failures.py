"""Working launches with one seeded edit each: whether the framework stops, and whether `parc lint` does.

python -m tests.acceptance.support.certain_failures FRAMEWORK [--seed N] [--count N] [--jobs N]
"""

from __future__ import annotations

import argparse
import contextlib
import io
import random
import re
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from parc.__main__ import main as parc
from parc.backends.released_options import ReleasedOption, released_options
from parc.lint.facts.release import TRANSFORMERS
from parc.lint.releases.history import history
from tests.acceptance.support.generated_jobs import batch
from tests.acceptance.support.probe_runs import probe
from tests.acceptance.support.recorded_launches import write
from tests.acceptance.support.spoilt_documents import EDITS as DOCUMENT_EDITS
from tests.acceptance.support.spoilt_documents import Document
from tests.acceptance.support.spoilt_options import EDITS, Table
from tests.acceptance.support.started_launches import Launch, started
from tests.acceptance.support.working_launches import Working, by_hand, emitted, examples
from tests.acceptance.test_torchtitan_accepts import assets

#: Errors of what the start of a framework takes: what stops in the first step or after it, and what is not
#: done as the files say.
LATER = {
    "PAR131": "Megatron-core's mappings.py asserts it where the first step scatters a sequence",
    "PAR136": "Transformer Engine's attention asserts that query groups divide heads",
    "PAR366 toml-value: lr_scheduler.decay_type": "torchtitan compares the word when the rate begins to fall",
    "PAR405": "DeepSpeed moves nothing",
    "PAR485": "DeepSpeed reads no key there",
}
#: Groups of more ranks take Megatron-LM too long to make; what it checks before is checked.
MOST_RANKS = 256
Changed = tuple[Working, str] | None


@dataclass(frozen=True)
class Framework:
    """The environment and the probe that judge, how a case is made of what a script starts, and the edits."""

    environment: str
    program: str
    case: Callable[[Working, Launch, Path], dict[str, Any]]
    edit: Callable[[Working, random.Random], Changed]
    generated: str = ""
    further: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Tried:
    """`what` was edited, empty for a launch as it works; `stops` is the framework's complaint, empty where it
    starts; `code` is the exit code of `parc lint`, and `said` its errors."""

    name: str
    what: str
    stops: str
    stage: str
    code: int
    said: tuple[str, ...] = ()

    @property
    def verdict(self) -> str:
        if self.stops:
            return "found" if self.code == 1 else "missed"
        if self.code and any(f" error {code} " in line for line in self.said for code in LATER):
            return "later"
        return "false" if self.code else "clean"


def lint(folder: Path) -> tuple[int, tuple[str, ...]]:
    """Of `parc lint .` in a folder."""
    printed = io.StringIO()
    quiet = contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed)
    with contextlib.chdir(folder), quiet[0], quiet[1]:
        code = parc(["lint", ".", "--format", "concise", "--hints"])
    return code, tuple(printed.getvalue().splitlines())


def drawn(framework: Framework, working: Sequence[Working], count: int, seed: int) -> list[Changed]:
    """So many edits, each of a launch of its own draw."""
    chance = random.Random(seed)
    found: list[Changed] = []
    while len(found) < count:
        changed = framework.edit(chance.choice(working), chance)
        if changed is not None:
            found.append(changed)
    return found


def judged(
    framework: Framework, launches: Sequence[tuple[Working, str]], folder: Path
) -> list[Tried]:
    """What the framework and lint say of each; one that bash itself ends is left out."""
    cases, of = [], []
    for number, (working, what) in enumerate(launches):
        here = folder / str(number)
        with contextlib.suppress(subprocess.CalledProcessError, ValueError, FileNotFoundError):
            launch = started(working.files, working.script, folder / f"{number}.run", working.nodes)
            case = framework.case(working, launch, folder / f"{number}.run")
            cases.append({"name": str(number), **case})
            of.append((working, what, write(working.files, here)))
    answers = probe(framework.environment, framework.program, cases, folder)
    tried = [
        Tried(working.name, what, *_stopped(answer), *lint(here))
        for (working, what, here), answer in zip(of, answers, strict=True)
    ]
    return _asked_again(framework, cases, tried, folder)


def _asked_again(
    framework: Framework, cases: Sequence[dict[str, Any]], tried: list[Tried], folder: Path
) -> list[Tried]:
    """What lint fails and the start took: a start that goes as far as the model, where there is one."""
    doubtful = [index for index, each in enumerate(tried) if each.verdict == "false"]
    if not doubtful or not framework.further:
        return tried
    (folder / "again").mkdir()
    asked = [{**cases[index], **framework.further} for index in doubtful]
    answers = probe(framework.environment, framework.program, asked, folder / "again")
    for index, answer in zip(doubtful, answers, strict=True):
        stops, stage = _stopped(answer)
        tried[index] = replace(tried[index], stops=stops, stage=stage)
    return tried


def _stopped(answer: dict[str, Any]) -> tuple[str, str]:
    stage = answer["stage"]
    return ("" if stage == "accepted" else answer.get("error", stage), stage)


def working_launches(name: str, seed: int, jobs: int) -> list[Working]:
    framework = FRAMEWORKS[name]
    target = framework.generated
    if not target:
        return by_hand(name)
    generated = batch(target, seed, jobs).jobs if jobs else ()
    return [*by_hand(name), *examples(target), *map(emitted, generated)]


def run(
    name: str, seed: int, count: int, jobs: int, folder: Path
) -> tuple[list[Tried], list[Tried]]:
    """The launches as they work, and the edited ones."""
    framework, working = FRAMEWORKS[name], working_launches(name, seed, jobs)
    edited = drawn(framework, working, count, seed)
    tried = judged(framework, [*((each, "") for each in working), *filter(None, edited)], folder)
    return [each for each in tried if not each.what], [each for each in tried if each.what]


def _megatron_case(working: Working, launch: Launch, folder: Path) -> dict[str, Any]:
    return {
        "arguments": launch.program[1:],
        "environment": launch.environment,
        "world": launch.world,
        "capability": working.capability,
        "build": False,
        "starts": launch.world <= MOST_RANKS,
    }


def _trainer_case(working: Working, launch: Launch, folder: Path) -> dict[str, Any]:
    return {
        "launcher_name": launch.name,
        "launcher": launch.launcher,
        "program": launch.program,
        "environment": launch.environment,
        "world": launch.world,
        "folder": str((folder / working.script).parent),
    }


def _torchtitan_case(working: Working, launch: Launch, folder: Path) -> dict[str, Any]:
    """The first rank's start; the configuration by its whole path."""
    here = [str(folder / word) if (folder / word).is_file() else word for word in launch.program]
    return {
        "program": here,
        "search": launch.environment.get("PYTHONPATH", str(folder)),
        "world": launch.world,
        "rank": 0,
        "capability": working.capability,
        "assets": str(assets(folder.parent / "assets")),
    }


def _documents_edit(
    edits: Mapping[str, Table], options: Callable[[Working, random.Random], Changed]
) -> Callable[[Working, random.Random], Changed]:
    """Of a file in one of the languages, whose keys `edits` has, or of the options of the script."""

    def edit(working: Working, chance: random.Random) -> Changed:
        found = [path for path in sorted(working.files) if language_of(working, path) in edits]
        if not found or chance.random() < 0.3:
            return options(working, chance)
        path = chance.choice(found)
        language = language_of(working, path)
        document = Document(path, language, working.files[path], edits[language])
        changed = chance.choice(DOCUMENT_EDITS)(document, chance)
        if changed is None:
            return None
        text, what = changed
        return replace(working, files={**working.files, path: text}), f"{path}: {what}"

    return edit


def language_of(working: Working, path: str) -> str:
    """Of a file's keys; a script that writes JSON holds them too."""
    if path == working.script:
        return "json" if re.search(r"<<-?'?\w*JSON", working.files[path]) else ""
    suffix = path.rpartition(".")[2]
    return "" if path.endswith(("model.json", "run.json")) else suffix


def _torchtitan_options() -> Table:
    """Settings of the release as options of its command."""
    found = released_options("torchtitan", "0.2.2").values()
    return {f"--{each.name}": replace(each, name=f"--{each.name}") for each in found}


def _accelerate_keys() -> Table:
    """Keys of its configuration that may be added, with what they hold."""
    kinds = {
        "mixed_precision": "fp16|bf16|no|fp8",
        "num_machines": "int",
        "main_process_ip": "10.0.0.4",
        "deepspeed_config.deepspeed_config_file": "ds.json",
        "deepspeed_config.zero_stage": "int",
        "deepspeed_config.offload_optimizer_device": "cpu|nvme|none",
        "deepspeed_config.offload_optimizer_nvme_path": "/nvme",
        "deepspeed_config.gradient_clipping": "float",
        "deepspeed_config.zero_hpz_partition_size": "int",
        "fsdp_config.fsdp_version": "int",
        "fsdp_config.fsdp_reshard_after_forward": "true|false|FULL_SHARD",
        "fsdp_config.fsdp_transformer_layer_cls_to_wrap": "LlamaDecoderLayer|LlamaLayer",
        "fsdp_config.fsdp_min_num_params": "int",
        "fsdp_config.fsdp_state_dict_type": "FULL_STATE_DICT|SHARDED_STATE_DICT|WHOLE",
        "fsdp_config.fsdp_limit_all_gathers": "bool",
        "parallelism_config.parallelism_config_tp_size": "int",
    }
    return {name: _of_kind(name, kind) for name, kind in kinds.items()}


def _of_kind(name: str, kind: str) -> ReleasedOption:
    plain = kind in ("int", "float", "bool")
    return ReleasedOption(
        name, kind if plain else "", "", () if plain else tuple(kind.split("|")), "", ""
    )


def _options_edit(table: Table) -> Callable[[Working, random.Random], Changed]:
    def edit(working: Working, chance: random.Random) -> Changed:
        changed = chance.choice(EDITS)(working.files[working.script], table, chance)
        if changed is None:
            return None
        text, what = changed
        return replace(working, files={**working.files, working.script: text}), what

    return edit


FRAMEWORKS = {
    "megatron": Framework(
        "megatron",
        "megatron_probe",
        _megatron_case,
        _options_edit(released_options("megatron", "0.19")),
        "megatron",
    ),
    "torchtitan": Framework(
        "torchtitan-0.2.2",
        "torchtitan_probe",
        _torchtitan_case,
        _documents_edit(
            {"toml": released_options("torchtitan", "0.2.2")}, _options_edit(_torchtitan_options())
        ),
        "torchtitan",
    ),
    "trainer": Framework(
        "deepspeed-peft",
        "trainer_probe",
        _trainer_case,
        _documents_edit(
            {"json": released_options("deepspeed", "0.19"), "yaml": _accelerate_keys()},
            _options_edit(history(TRANSFORMERS).at("5.10")),
        ),
    ),
}


def table(clean: Sequence[Tried], edited: Sequence[Tried]) -> Iterator[str]:
    for each in (*clean, *edited):
        if each.verdict in ("missed", "false") or (not each.what and each.stops):
            yield f"{each.verdict:<7}{each.name}: {each.what or 'as it works'}"
            if each.stops:
                yield f"         {each.stage}: {each.stops[:300]}"
            yield from (f"         {line[:200]}" for line in _relevant(each))
    found = Counter(each.verdict for each in edited)
    stops = found["found"] + found["missed"]
    yield f"working: {len(clean)}, of which lint fails {sum(each.code != 0 for each in clean)}"
    starts = f"start: {len(edited) - stops}, false {found['false']}, later {found['later']}"
    yield f"stop: {stops}, found {found['found']}; {starts}"


def _relevant(each: Tried) -> list[str]:
    if each.verdict == "false":
        return [line for line in each.said if " error " in line]
    return [line for line in each.said if re.search(r" (warning|info|error) PAR", line)][:6]


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("framework", choices=FRAMEWORKS)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--count", type=int, default=50)
    parser.add_argument("--jobs", type=int, default=6)
    given = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as folder:
        found = run(given.framework, given.seed, given.count, given.jobs, Path(folder))
    print("\n".join(table(*found)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
