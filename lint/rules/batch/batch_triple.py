"""DeepSpeed wants train_batch_size = train_micro_batch_size_per_gpu * gradient_accumulation_steps * dp. Of
two given values it computes the third by whole division, and then checks the product.

Why:
Every rank stops in deepspeed.initialize. It is the most frequent failure of all.

Bad:
--- ds_config.json
{
  "train_batch_size": 1028,
  "train_micro_batch_size_per_gpu": 128
}
--- launch.sh
deepspeed --num_nodes 1 --num_gpus 8 train.py --deepspeed_config ds_config.json

Good:
--- ds_config.json
{
  "train_batch_size": 1024,
  "train_micro_batch_size_per_gpu": 128
}
"""

import math
from collections.abc import Iterator, Mapping

from ....backends.deepspeed.option_rows import BATCH
from ....dsl.diagnostics import Severity
from ....reading.facts import number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related, Skipped

CODE = "PAR205"
TITLE = "DeepSpeed's three batch keys do not multiply"
SEVERITY = "error"
STOPS = "deepspeed"
SOURCE = "DeepSpeed 0.19.8 runtime/config.py:590-660; deepspeedai/DeepSpeed#6914; LIN-SHANG/InstructERC#16"
TRAINING = True
FILE = "ds_config.json"


TOTAL, MICRO, STEPS = BATCH


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    settings = {name: launch.key(name) for name in (TOTAL, MICRO, STEPS)}
    numbers = {name: number_of(setting) for name, setting in settings.items()}
    at = settings[TOTAL]
    total = numbers[TOTAL]
    if at is None or total is None:
        return
    if any(setting is not None and numbers[name] is None for name, setting in settings.items()):
        return
    dp = ranks(launch)
    if dp is None and launch.unknown("dp"):
        yield Skipped(frozenset({"dp"}))
    said = _wrong(total, numbers[MICRO], numbers[STEPS], dp)
    if said is None and dp is None:
        said = _below_a_node(total, numbers[MICRO], numbers[STEPS], launch)
    if said is None:
        return
    related = [Related(f"{name} {numbers[name]}", each) for name, each in settings.items() if each]
    gpus = launch.facts.get("gpus") or launch.facts.get("gpus_per_node")
    if dp is not None and gpus is not None:
        related.append(Related(f"dp {dp}", gpus))
    severity: Severity | None = "warning" if _explained(launch, numbers) else None
    yield Complaint(said[0], at, tuple(related[1:]), said[1], severity)


def _explained(launch: LaunchedJob, numbers: Mapping[str, int | None]) -> bool:
    """Whether a pipeline or tensor parallelism of the program's own would make the three multiply."""
    total, micro, steps = (numbers[name] for name in (TOTAL, MICRO, STEPS))
    gpus = launch.number("gpus")
    if "pp" in launch.facts or not (total and micro and steps and gpus):
        return False
    ranks_wanted, rest = divmod(total, micro * steps)
    return rest == 0 and 0 < ranks_wanted < gpus and gpus % ranks_wanted == 0


def ranks(launch: LaunchedJob) -> int | None:
    """Ranks among which DeepSpeed shares the batch: tensor-parallel ones of AutoTP count too."""
    if launch.key("tensor_parallel.autotp_size") is not None:
        return launch.number("gpus")
    # Where nothing else gives dp, a reader derives it from the batch itself; so the GPUs are used first.
    return _divided_world(launch) or launch.number("dp")


def _divided_world(launch: LaunchedJob) -> int | None:
    gpus = launch.number("gpus")
    group = math.prod(launch.number(name) or 1 for name in ("tp", "pp", "ulysses"))
    undecided = any(launch.unknown(name) for name in ("tp", "pp", "ulysses"))
    return None if gpus is None or undecided or gpus % group else gpus // group


def _wrong(
    total: int, micro: int | None, steps: int | None, dp: int | None
) -> tuple[str, str] | None:
    """The complaint and its cure, or None when some number of ranks fits."""
    if micro is not None and steps is not None:
        return _product(total, micro, steps, dp)
    if dp is None:
        return None
    given = (micro or 1) * (steps or 1)
    quotient = total // (given * dp)
    what = "micro-batch" if micro is None else "gradient accumulation"
    if quotient == 0:
        message = (
            f"train_batch_size {total} is less than {_factors(micro, steps, dp)}: {what} becomes 0"
        )
        return message, f"train_batch_size {given * dp} or a multiple of it"
    if total != given * quotient * dp:
        message = f"train_batch_size {total} is not a multiple of {_factors(micro, steps, dp)}"
        nearest = given * dp * quotient
        return message, f"train_batch_size {nearest} or {nearest + given * dp}"
    return None


def _below_a_node(
    total: int, micro: int | None, steps: int | None, launch: LaunchedJob
) -> tuple[str, str] | None:
    """The complaint where one node has more ranks than the batch, however many nodes there are."""
    gpus = launch.number("gpus_per_node")
    divided = (
        any(name in launch.facts for name in ("tp", "pp")) or (launch.number("ulysses") or 1) > 1
    )
    if gpus is None or divided or (micro is not None and steps is not None):
        return None
    given = (micro or 1) * (steps or 1)
    if total >= given * gpus:
        return None
    what = "micro-batch" if micro is None else "gradient accumulation"
    message = f"train_batch_size {total} is less than {_factors(micro, steps, gpus)} of one node"
    return f"{message}: {what} becomes 0", f"train_batch_size {given * gpus} or a multiple of it"


def _product(total: int, micro: int, steps: int, dp: int | None) -> tuple[str, str] | None:
    if dp is not None and total != micro * steps * dp:
        message = (
            f"train_batch_size {total} is not micro-batch {micro} * accumulation {steps} * dp {dp} "
            f"= {micro * steps * dp}"
        )
        return message, f"drop train_batch_size, or make it {micro * steps * dp}"
    if dp is None and micro * steps > 0 and total % (micro * steps):
        message = (
            f"train_batch_size {total} is not a multiple of micro-batch {micro} * accumulation {steps} "
            f"= {micro * steps}"
        )
        return message, "drop train_batch_size, which then follows from the other two"
    return None


def _factors(micro: int | None, steps: int | None, dp: int) -> str:
    known = [("micro-batch", micro), ("accumulation", steps), ("dp", dp)]
    given = [(name, number) for name, number in known if number is not None]
    product = math.prod(number for _, number in given)
    text = " * ".join(f"{name} {number}" for name, number in given)
    return text if len(given) == 1 else f"{text} = {product}"
