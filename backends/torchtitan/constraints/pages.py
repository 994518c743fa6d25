"""Pages of rules that rows of torchtitan are: what, why, a file that fails and one that passes."""

from collections.abc import Mapping

PAGES: Mapping[str, str] = {
    "PAR341": """\
torchtitan turns mixed precision off where tensor or pipeline parallelism run without FSDP.

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
""",
}
