"""A YAML of a trainer's arguments gives a batch that is no whole number, or both half precisions.

Why:
TrainingArguments refuses fp16 beside bf16, and a batch that is a word stops the run at its first product;
axolotl checks its numbers before. Words that are filled in at the start are no fault.

Bad:
model_name_or_path: gpt2
per_device_train_batch_size: two
gradient_accumulation_steps: 8
learning_rate: 1.0e-4

Good:
model_name_or_path: gpt2
per_device_train_batch_size: 2
gradient_accumulation_steps: 8
learning_rate: 1.0e-4
"""

from collections.abc import Iterator

from ....backends.huggingface.option_rows import TRAINER
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR473"
TITLE = "a value that a trainer's YAML may not have"
SEVERITY = "error"
SOURCE = "transformers 4.57.6 training_args.py, __post_init__ and train_batch_size"
SINCE = "2026-12"
FILE = "train.yaml"

#: Whole numbers of the Trainer, of axolotl and of LLaMA-Factory, which count from 1.
NUMBERS = (
    TRAINER.fact("micro_batch").name, TRAINER.fact("microbatches").name, "micro_batch_size",
    "sequence_len", "cutoff_len",
)  # fmt: skip


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    settings = [setting for name in NUMBERS if (setting := launch.setting("yaml", name))]
    if launch.kind.program != "trainer" and launch.framework != "deepspeed":
        return
    for setting in settings:
        text = text_of(setting)
        if text is not None and _is_word(text):
            yield Complaint(
                f"{setting.name} takes a whole number of at least 1, not `{text}`", setting
            )
    half, brain = (launch.setting("yaml", name) for name in ("fp16", "bf16"))
    if half and brain and _on(half) and _on(brain):
        yield Complaint("fp16 and bf16 are both on", half, (Related("bf16", brain),), "keep one")


def _is_word(text: str) -> bool:
    """Whether a text is neither a number nor filled in later; null is the default."""
    if text.lower() in ("null", "auto", "none") or any(mark in text for mark in "${<"):
        return False
    try:
        number = float(text)
    except ValueError:
        return True
    return number < 1 or not number.is_integer()


def _on(setting: Setting) -> bool:
    return (text_of(setting) or "").lower() in ("true", "1")
