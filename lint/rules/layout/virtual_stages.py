"""torchtitan cuts the layers, with embedding and output counted, into stages of `layers_per_stage`: their
number must be a multiple of pp, one per rank for 1F1B and GPipe, at least two for interleaved schedules, two
for ZBVZeroBubble and DualPipeV.

Why:
torchtitan stops while it splits the model.

Bad:
[model]
name = "llama3"
flavor = "70B"

[parallelism]
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_layers_per_stage = 10

Good:
[model]
name = "llama3"
flavor = "70B"

[parallelism]
pipeline_parallel_degree = 4
pipeline_parallel_schedule = "Interleaved1F1B"
pipeline_parallel_layers_per_stage = 11
"""

from collections.abc import Iterator

from ....backends.torchtitan.option_rows import SCHEDULE
from ....reading.facts import number_of, text_of
from ...compiler_predicates import legal_values
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR367"
TITLE = "torchtitan's stages are not a multiple of pp"
SEVERITY = "error"
STOPS = "own"
SOURCE = "torchtitan 0.2.2 distributed/pipeline_parallel.py:87, :98, :106"
FILE = "train.toml"


SINGLE = ("1F1B", "GPipe", "PipelineScheduleSingle")
MULTI = ("Interleaved1F1B", "LoopedBFS", "InterleavedZeroBubble", "ZBVZeroBubble", "DualPipeV")
V_SHAPED = ("ZBVZeroBubble", "DualPipeV")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    at = launch.setting("toml", "parallelism.pipeline_parallel_layers_per_stage")
    size, pp, layers = number_of(at), launch.number("pp"), launch.number("layers")
    if launch.framework != "torchtitan" or at is None or not size or not pp or pp < 2 or not layers:
        return
    less = sum(_less(launch, end) for end in ("first", "last"))
    stages = -(-(layers + less) // size)
    schedule = text_of(launch.setting("toml", SCHEDULE)) or "1F1B"
    related = (
        Related(f"pp {pp}", launch.facts["pp"]),
        Related(f"layers {layers}", launch.facts["layers"]),
    )
    if stages % pp:
        message = (
            f"(layers {layers} + {less}) / {size} = {stages} stages are not a multiple of pp {pp}"
        )
        yield Complaint(message, at, related, _sizes(layers + less, pp))
    elif schedule in SINGLE and stages != pp:
        message = f"{schedule} needs one stage per rank, and {stages} stages over pp {pp} are {stages // pp}"
        yield Complaint(message, at, related, f"layers per stage {-(-(layers + less) // pp)}")
    elif schedule in V_SHAPED and stages > 2 * pp or schedule in MULTI and stages < 2 * pp:
        message = f"{schedule} needs two stages per rank, and {stages} stages over pp {pp} are {stages // pp}"
        yield Complaint(message, at, related, f"layers per stage {-(-(layers + less) // (2 * pp))}")


def _less(launch: LaunchedJob, end: str) -> int:
    given = launch.setting("toml", f"parallelism.pipeline_parallel_{end}_stage_less_layers")
    number = number_of(given)
    return 1 if number is None else number


def _sizes(units: int, pp: int) -> str | None:
    return legal_values(
        "layers per stage", (k for k in range(1, units) if -(-units // k) % pp == 0)
    )
