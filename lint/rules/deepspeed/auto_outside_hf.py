""""auto" is filled in by the Hugging Face Trainer. Megatron-DeepSpeed's programs hand it on as it is.

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

from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR408"
TITLE = '"auto" in a config that no Trainer fills in'
SEVERITY = "warning"
SOURCE = "DeepSpeed 0.19.8 runtime/config.py; deepspeedai/Megatron-DeepSpeed#298"
FILE = "ds_config.json"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if not launch.kind.involves("megatron"):
        return
    for setting in launch.all("json"):
        if "auto" in setting.values:
            message = f'{setting.name} is "auto", and nothing fills it in'
            yield Complaint(message, setting, help="a number")
