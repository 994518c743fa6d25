"""A step's batch is made of micro-batches on dp replicas, so micro-batch * dp must divide the global batch.

Why:
Megatron-LM and torchtitan stop at start; the message of recent Megatron-LM speaks of the evaluation batch.

Bad:
torchrun --nnodes 3 --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 1024

Good:
torchrun --nnodes 3 --nproc-per-node 8 pretrain_gpt.py --micro-batch-size 1 --global-batch-size 1008
"""

from collections.abc import Iterator

from ....backends.torchtitan.option_rows import LOCAL_BATCH, PIPELINE_MICRO_BATCH
from ....reading.facts import number_of
from ...compiler_predicates import enforced, legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped

CODE = "PAR201"
TITLE = "micro_batch * dp does not divide the global batch"
SEVERITY = "error"
STOPS = "itself"
SOURCE = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/core/num_microbatches_calculator.py:381; torchtitan "
    "0.2.2 train.py:206; mosaicml/llm-foundry@0.22 llmfoundry/utils/config_utils.py:437"
)
TRAINING = True


# A module, and no row: it asks options that no layout of the compiler has: evaluation, local batches.
def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.framework == "torchtitan":
        yield from _micro_batches(launch)
    yield from _evaluation(launch)
    if any((launch.number(name) or 1) < 1 for name in ("global_batch", "micro_batch")):
        return  # no batch: a value that stands for none, or that its own parser refuses
    if launch.program is not None and launch.program.batch_over_gpus:
        yield from _devices(launch)
    elif launch.framework != "deepspeed":
        yield from enforced(CODE, launch, adjust=_local, cure=_nearest)


def _evaluation(launch: LaunchedJob) -> Iterator[Complaint]:
    """The batch of an evaluation is a multiple of its micro-batch, too, whatever dp is."""
    for scope in ("python", "argument"):
        for batch in launch.all(scope):
            name = batch.name.replace("-", "_")
            if not name.endswith("eval_global_batch_size"):
                continue
            wanted = name.replace("global_batch", "micro_batch")
            micro = next((e for e in launch.all(scope) if e.name.replace("-", "_") == wanted), None)
            size, part = number_of(batch), number_of(micro)
            if micro is not None and size and part and size % part:
                message = f"eval_global_batch_size {size} is not a multiple of eval_micro_batch_size {part}"
                yield Complaint(message, batch, (Related(f"micro-batch {part}", micro),))


def _devices(launch: LaunchedJob) -> Iterator[Complaint]:
    """The global batch is divided over the GPUs, and a share is cut into micro-batches of any size."""
    batch, gpus = launch.number("global_batch"), launch.number("gpus")
    if batch and gpus and batch % gpus:
        related = (Related(f"{gpus} GPUs", launch.facts["gpus"]),)
        message = f"global_batch {batch} is not a multiple of {gpus} GPUs"
        yield Complaint(message, launch.facts["global_batch"], related)


def _local(launch: LaunchedJob, name: str) -> int | None:
    """The local batch, of which torchtitan's global batch must be a multiple, cut by a pipeline or not."""
    if name != "micro_batch" or launch.framework != "torchtitan":
        return None
    return number_of(launch.setting("toml", *LOCAL_BATCH))


def _nearest(launch: LaunchedJob) -> str | None:
    batch, micro, dp = (launch.number(name) for name in ("global_batch", "micro_batch", "dp"))
    if batch is None or not micro or not dp:
        return None
    step = micro * dp
    near = [multiple for multiple in (batch // step * step, (batch // step + 1) * step) if multiple]
    return f"a global batch of {' or '.join(map(str, near))}"


def _micro_batches(launch: LaunchedJob) -> Iterator[Complaint]:
    """A pipeline cuts the local batch into micro-batches (distributed/pipeline_parallel.py:191)."""
    local = launch.setting("toml", *LOCAL_BATCH)
    micro = launch.setting("toml", PIPELINE_MICRO_BATCH)
    size, part, pp = number_of(local), number_of(micro), launch.number("pp")
    if local and micro and size and part and (pp or 1) > 1 and size % part:
        message = f"{local.name} {size} is not a multiple of {micro.name} {part}"
        legal = legal_values("micro-batch", (k for k in range(1, size + 1) if size % k == 0))
        yield Complaint(message, local, (Related(f"micro-batch {part}", micro),), legal)
