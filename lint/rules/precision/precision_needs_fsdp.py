"""torchtitan turns mixed precision off where tensor or pipeline parallelism run without FSDP.

Why:
The log says so once; the job trains in fp32, at half the speed and twice the memory.

Bad:
[training]
local_batch_size = 8

[parallelism]
data_parallel_shard_degree = 1
tensor_parallel_degree = 8

Good:
[training]
local_batch_size = 8

[parallelism]
data_parallel_shard_degree = 2
tensor_parallel_degree = 8
"""

from collections.abc import Iterator

from ...compiler_predicates import enforced
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Skipped

CODE = "PAR341"
TITLE = "tp or pp without FSDP trains in fp32"
SEVERITY = "warning"
SOURCE = "torchtitan 0.2.2 distributed/utils.py:253"
FILE = "train.toml"


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.framework == "torchtitan" and launch.number("gpus") != 1:
        yield from enforced(CODE, launch)
