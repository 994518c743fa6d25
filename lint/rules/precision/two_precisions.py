"""fp16 and bf16 are both switched on.

Why:
DeepSpeed stops: "bfloat16 and fp16 modes cannot be simultaneously enabled". Megatron-LM has a bare
assertion. axolotl drops fp16 beside bf16, and is spared.

Bad:
{
  "train_micro_batch_size_per_gpu": 1,
  "fp16": {"enabled": true},
  "bf16": {"enabled": true}
}

Good:
{
  "train_micro_batch_size_per_gpu": 1,
  "bf16": {"enabled": true}
}
"""

from collections.abc import Iterator

from ....backends.huggingface.option_rows import BASE
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...facts.trainer import is_on, training_arguments
from ...finding import Complaint, Related
from ...rows import complaints

CODE = "PAR501"
TITLE = "fp16 and bf16 are both on"
SEVERITY = "error"
STOPS = "own"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/config.py:511; transformers 4.55.4 training_args.py; "
    "hiyouga/LlamaFactory#10273"
)
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    yield from complaints("deepspeed", CODE, launch)
    half, brain = (launch.setting("yaml", name) for name in ("fp16", "bf16"))
    if _of_trainer(launch) and is_on(half) and is_on(brain) and half and brain:
        yield Complaint("fp16 and bf16 are both on", brain, (Related("fp16", half),), "keep one")
    options = [launch.option(f"--{name}") for name in ("fp16", "bf16")]
    one, other = options
    if one and other and _on(one) and _on(other):
        yield Complaint(
            "--fp16 and --bf16 are both given", one, (Related(other.name, other),), "keep one"
        )


def _of_trainer(launch: LaunchedJob) -> bool:
    """Whether the Trainer reads the YAML; axolotl's builder hands it one of the two precisions."""
    read = launch.kind.program == "trainer" or bool(training_arguments(launch))
    return read and launch.setting("yaml", BASE) is None


def _on(setting: Setting) -> bool:
    return (text_of(setting) or "True").lower() in ("true", "1")
