"""accelerate's configuration names a DeepSpeed config, and says itself what only that config may say.

Why:
accelerate stops before the first step: "When using `deepspeed_config_file`, the following accelerate config
variables will be ignored". `mixed_precision` counts among them, even as "no", unless the command gives it.

Bad:
--- accelerate.yaml
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: ds_config.json
  zero_stage: 3
num_machines: 1
num_processes: 8
--- ds_config.json
{"train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 3}}
--- launch.sh
accelerate launch --config_file accelerate.yaml train.py --per_device_train_batch_size 4

Good:
--- accelerate.yaml
distributed_type: DEEPSPEED
deepspeed_config:
  deepspeed_config_file: ds_config.json
num_machines: 1
num_processes: 8
"""

from collections.abc import Iterator

from ....backends.huggingface.accelerate_keys import BESIDE_FILE
from ....backends.huggingface.option_rows import CONFIG_FILE, KIND
from ....reading.facts import text_of
from ...certainty import ITSELF
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR470"
TITLE = "accelerate's configuration repeats what the DeepSpeed config says"
SEVERITY = "error"
STOPS = ITSELF
SOURCE = "accelerate 1.15: utils/dataclasses.py:1507, commands/launch.py:1394"
FILE = "launch.sh"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    named = launch.setting("yaml", CONFIG_FILE)
    kind = launch.setting("yaml", KIND)
    if named is None or named.values == ("null",) or text_of(kind) != "DEEPSPEED":
        return
    told = [launch.setting("yaml", f"deepspeed_config.{name}") for name in BESIDE_FILE]
    if launch.setting("launcher", "--mixed-precision") is None:
        precision = launch.setting("yaml", "mixed_precision")
        told += [precision] if precision and precision.values != ("null",) else []
    given = [each for each in told if each is not None]
    if given:
        names = ", ".join(f"`{each.name.rpartition('.')[2]}`" for each in given)
        related = (Related("the DeepSpeed config", named),)
        message = f"{names} beside `deepspeed_config_file`: accelerate stops"
        yield Complaint(message, given[0], related, "set it in the DeepSpeed config only")
