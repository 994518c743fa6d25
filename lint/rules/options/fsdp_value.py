"""A value in the Trainer's `fsdp_config` that Transformers stops for.

Why:
The file is read when the arguments are: on every rank, after the job has waited for its nodes. What it may
say depends on FSDP's version, which is 2 where the file names none.

Bad:
--- train.sh
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 2 --learning_rate 1e-5 \\
    --fsdp full_shard --fsdp_config fsdp.json
--- fsdp.json
{"activation_checkpointing": "selective"}
--- requirements.txt
transformers==5.23.0

Good:
--- train.sh
torchrun --nproc-per-node 8 train.py --output_dir out --per_device_train_batch_size 2 --learning_rate 1e-5 \\
    --fsdp full_shard --fsdp_config fsdp.json
--- fsdp.json
{"activation_checkpointing": true}
--- requirements.txt
transformers==5.23.0
"""

import json
from collections.abc import Iterator, Mapping

from ....backends.huggingface import fsdp_values
from ....backends.huggingface.fsdp import BLOCK
from ....dsl.syntax.quoting import shortened
from ....reading.facts import Setting, text_of
from ...facts.fsdp import CONFIG
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS
from ...facts.trainer import reads_training_arguments
from ...finding import Complaint

CODE = "PAR467"
TITLE = "a value of fsdp_config that the Trainer does not take"
SEVERITY = "error"
STOPS = TRANSFORMERS
SOURCE = (
    "transformers 5.23 training_args.py, _process_fsdp_args; accelerate 1.15 utils/dataclasses.py"
)
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    named, asked = launch.option(CONFIG), text_of(launch.option("--fsdp"))
    if named is None or asked in (None, "", "false", "False") or not _by_trainer(launch):
        return
    for key, expected in fsdp_values.wrong_values(_config(launch, named)):
        at = _setting(launch, key) or named
        message = f"{BLOCK}: {key} {shortened(json.dumps(_config(launch, named)[key]))}: {expected}"
        yield Complaint(message, at, since=fsdp_values.SINCE, framework=TRANSFORMERS)


def _by_trainer(launch: LaunchedJob) -> bool:
    """Whether it is read by a Trainer, of no release that is known to be an earlier one."""
    release = launch.release(TRANSFORMERS)
    if release.release and release.history.earlier(release.release, fsdp_values.SINCE):
        return False
    return reads_training_arguments(launch) or launch.kind.program == "trainer"


def _config(launch: LaunchedJob, named: Setting) -> Mapping[str, object]:
    """The keys of the file, or of the text in the command; none where it is no JSON."""
    text = text_of(named) or ""
    if not text.startswith("{"):
        path = next((each.path for each in launch.all("yaml") if _of_block(each)), "")
        text = launch.config.texts.get(path, "") if path.endswith(".json") else ""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _of_block(setting: Setting) -> bool:
    return setting.name.startswith(f"{BLOCK}.")


def _setting(launch: LaunchedJob, key: str) -> Setting | None:
    """The key, or the first element of its list."""
    name = f"{BLOCK}.{key}"
    found = (
        each for each in launch.all("yaml") if each.name == name or each.name.startswith(f"{name}.")
    )
    return next(found, None)
