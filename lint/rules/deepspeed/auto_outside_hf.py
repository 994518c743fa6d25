""""auto" is filled in by the Hugging Face Trainer, and only for keys that it knows. Megatron-DeepSpeed's
programs hand it on as it is.

Why:
`TypeError: '>' not supported between instances of 'str' and 'int'`; or, in a checked section, the default
is taken without a word: "stage": "auto" becomes 0.

Bad:
--- ds_config.json
{"train_batch_size": 64, "train_micro_batch_size_per_gpu": "auto", "zero_optimization": {"stage": 1}}
--- launch.sh
deepspeed --num_nodes 1 --num_gpus 8 pretrain_gpt.py --hidden-size 4096 --num-layers 24 \\
    --no-pipeline-parallel \\
    --deepspeed \\
    --deepspeed_config ds_config.json

Good:
--- ds_config.json
{"train_batch_size": 64, "train_micro_batch_size_per_gpu": 8, "zero_optimization": {"stage": 1}}
"""

from collections.abc import Iterator

from ....backends.deepspeed.option_rows import BATCH
from ....compiler.target import Effect
from ....dsl.diagnostics import did_you_mean
from ...facts.launched_job import LaunchedJob
from ...facts.release import TRANSFORMERS
from ...facts.trainer import compares_deepspeed
from ...finding import Complaint

CODE = "PAR408"
TITLE = '"auto" in a config that no Trainer fills in'
SEVERITY = "warning"
SOURCE = (
    "DeepSpeed 0.19.8 runtime/config.py; deepspeedai/Megatron-DeepSpeed#298; accelerate 1.15 "
    "utils/dataclasses.py, DeepSpeedPlugin.fill_match"
)
FILE = "ds_config.json"


#: What the Trainer or accelerate fills in (transformers 5.23 integrations/deepspeed.py, accelerate 1.15
#: accelerator.py, _prepare_deepspeed, and utils/dataclasses.py).
FILLED = frozenset(
    (
        *BATCH, "gradient_clipping", "steps_per_print", "fp16.enabled", "bf16.enabled", "fp16.auto_cast",
        *(f"optimizer.params.{name}" for name in ("lr", "betas", "eps", "weight_decay")),
        *(
            f"scheduler.params.{name}"
            for name in ("warmup_min_lr", "warmup_max_lr", "warmup_num_steps", "total_num_steps")
        ),
        *(
            f"zero_optimization.{name}"
            for name in (
                "stage", "reduce_bucket_size", "stage3_prefetch_bucket_size",
                "stage3_param_persistence_threshold", "stage3_gather_16bit_weights_on_model_save",
                "offload_optimizer.device", "offload_optimizer.nvme_path", "offload_param.device",
                "offload_param.nvme_path",
            )
        ),
    )
)  # fmt: skip


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if compares_deepspeed(launch):
        yield from _unfilled(launch)
    if not launch.kind.involves("megatron"):
        return
    for setting in launch.all("json"):
        if "auto" in setting.values:
            message = f'{setting.name} is "auto", and nothing fills it in'
            yield Complaint(message, setting, help="a number")


def _unfilled(launch: LaunchedJob) -> Iterator[Complaint]:
    """accelerate asks for a value of each "auto" that is left; earlier Trainers hand it on."""
    for setting in launch.all("json"):
        if setting.values == ("auto",) and setting.name not in FILLED:
            message = f'{setting.name} is "auto", which neither the Trainer nor accelerate fills in'
            yield Complaint(
                message, setting, help=did_you_mean(setting.name, FILLED) or "a value of its own",
                severity="error", effect=Effect.STOPS, since="4.29", framework=TRANSFORMERS,
            )  # fmt: skip
