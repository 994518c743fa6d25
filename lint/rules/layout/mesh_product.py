"""torchtitan multiplies its degrees: dp_replicate * dp_shard * cp * tp * pp must be the number of GPUs. One
of them, data_parallel_shard_degree, may be -1 and takes the ranks that are left. nanotron's dp * cp * tp * pp
must be that number too, and so must axolotl's.

Why:
torchtitan stops at start on every rank.

Bad:
--- train.toml
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = 8
tensor_parallel_degree = 2
--- launch.sh
torchrun --nnodes 1 --nproc-per-node 8 -m torchtitan.train --job.config_file train.toml

Good:
--- train.toml
[parallelism]
data_parallel_replicate_degree = 1
data_parallel_shard_degree = 4
tensor_parallel_degree = 2
"""

import math
import re
from collections.abc import Iterator, Mapping
from pathlib import PurePath

from ....backends.torchtitan.constraints.setting_values import DEGREES
from ....compiler.target import Effect
from ....dsl.diagnostics import Severity
from ....reading.facts import Setting, number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Place, Related, Skipped
from ...releases.history import numbers as version_numbers

CODE = "PAR103"
TITLE = "degrees do not multiply to the GPUs"
SEVERITY = "error"
STOPS = "own"
SOURCE = (
    "torchtitan 0.2.2 distributed/parallel_dims.py:46, :54; axolotl-ai-cloud/axolotl#2977, #3462"
)


#: torchtitan's trainer, or no program, where a config stands alone. Another program may build meshes of its
#: own, as that of experiments/deepseek_v3 of 0.1, which has expert parallelism beside these degrees.
_TRAINER = re.compile(r"^$|(^|[./])train(\.py)?$")


_EXPERTS = ("expert_parallel", "expert_tensor_parallel")
#: The release from which on it is built whatever the model.
_MESH_OF_EXPERTS = (0, 2, 2)


def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
    if launch.program is not None and launch.program.mesh:
        yield from _mesh(launch, launch.program.mesh)
    if launch.kind.program == "trainer":
        yield from _accelerate(launch)
    if launch.framework != "torchtitan":
        return
    given = {name: launch.setting("toml", f"parallelism.{name}_degree") for name in DEGREES}
    numbers = {
        name: (-1 if name == "data_parallel_shard" else 1) if at is None else number_of(at)
        for name, at in given.items()
    }
    yield from _impossible(given, numbers)
    degrees = [number for number in numbers.values() if number is not None]
    gpus = launch_world(launch) if _TRAINER.search(launch.config.program) else None
    if len(degrees) == len(DEGREES) and min(degrees) > 0 and gpus is not None:
        yield from _product(launch, numbers, math.prod(degrees), gpus)
    yield from _of_experts(launch, numbers, gpus)


def _impossible(
    given: Mapping[str, Setting | None], numbers: Mapping[str, int | None]
) -> Iterator[Complaint]:
    for name, at in given.items():
        number = numbers[name]
        least = -1 if name == "data_parallel_shard" else 1
        if at is not None and number is not None and (number < least or number == 0):
            free = "-1 or " if least < 0 else ""
            yield Complaint(f"{at.name} = {number}: a degree is {free}at least 1", at)


def _of_experts(
    launch: LaunchedJob, numbers: Mapping[str, int | None], gpus: int | None
) -> Iterator[Complaint]:
    """A dense model has the mesh of experts, too (distributed/parallel_dims.py:158); other rules judge those
    of a model with experts."""
    given = [launch.setting("toml", f"parallelism.{name}_degree") for name in _EXPERTS]
    ep, etp = (1 if at is None else number_of(at) for at in given)
    pp, replicas = numbers["pipeline_parallel"], numbers["data_parallel_replicate"]
    exact = version_numbers(launch.release("torchtitan").version or "")
    if launch.number("experts") != 0 or exact < _MESH_OF_EXPERTS or not (gpus and pp and replicas):
        return
    inner, rest = divmod(gpus, pp * replicas)
    if ep and etp and not rest and inner % (ep * etp):
        at = next(each for each in reversed(given) if each is not None)
        message = (
            f"ep {ep} * etp {etp} = {ep * etp} does not divide {inner} GPUs of a stage's replica"
        )
        yield Complaint(message, at, effect=Effect.STOPS)


def _product(
    launch: LaunchedJob, numbers: Mapping[str, int | None], product: int, gpus: int
) -> Iterator[Complaint]:
    if product == gpus:
        return
    factors = " * ".join(f"{name} {number}" for name, number in numbers.items())
    at = launch.setting("toml", "parallelism.data_parallel_shard_degree")
    place = at or launch.facts.get("gpus") or Place(launch.path, 1)
    related = tuple(
        Related(f"{gpus} GPUs", fact)
        for name in ("gpus_per_node",)
        if (fact := launch.facts.get(name))
    )
    yield Complaint(
        f"{factors} = {product}, not {gpus} GPUs",
        place,
        related,
        "data_parallel_shard_degree = -1 takes what is left",
    )


#: Degrees of a YAML of axolotl, and the one that stands for what is left where it is not there.
_AXOLOTL = ("dp_replicate_size", "dp_shard_size", "context_parallel_size", "tensor_parallel_size")


def _accelerate(launch: LaunchedJob) -> Iterator[Complaint]:
    """axolotl hands its degrees to accelerate's ParallelismConfig, which stops where their product is not
    the world."""
    given = {name: launch.setting("yaml", name) for name in _AXOLOTL}
    numbers = {name: 1 if at is None else number_of(at) for name, at in given.items()}
    at, gpus = given["dp_shard_size"], launch_world(launch) or launch.number("gpus")
    degrees = [number for number in numbers.values() if number is not None]
    if at is None or gpus is None or len(degrees) < len(numbers) or min(degrees) < 1:
        return
    if math.prod(degrees) != gpus:
        factors = " * ".join(f"{name} {number}" for name, number in numbers.items())
        related = tuple(
            Related(f"{gpus} GPUs", fact) for fact in [launch.facts.get("gpus")] if fact
        )
        yield Complaint(f"{factors} = {math.prod(degrees)}, not {gpus} GPUs", at, related)


def _mesh(launch: LaunchedJob, mesh: tuple[str, ...]) -> Iterator[Complaint]:
    """Experts with ranks of their own are a further factor in some releases."""
    numbers = {name: launch.number(name) for name in mesh}
    gpus, at = launch_world(launch), launch.facts.get("dp")
    degrees = [number for number in numbers.values() if number is not None]
    if at is None or gpus is None or len(degrees) < len(numbers) or launch.number("ep") != 1:
        return
    product = math.prod(degrees)
    if product != gpus:
        factors = " * ".join(f"{name} {number}" for name, number in numbers.items())
        processes = launch.setting("launcher", "--nproc-per-node")
        related = () if processes is None else (Related(f"{gpus} processes", processes),)
        severity: Severity | None = "warning" if _by_default(launch, at.path) else None
        yield Complaint(f"{factors} = {product}, not {gpus} GPUs", at, related, None, severity)


def _by_default(launch: LaunchedJob, path: str) -> bool:
    """Whether a script takes this config for want of another one: `${CONFIG:="tiny.yaml"}`."""
    named = re.compile(rf"\$\{{\w+:?[-=][\"']?[^}}\"'\n]*\b{re.escape(PurePath(path).name)}")
    return any(named.search(line) for _, _, line in launch.lines())


def launch_world(launch: LaunchedJob) -> int | None:
    """Nodes times processes per node of the launcher's options, where both are given."""
    nodes = number_of(launch.setting("launcher", "--nnodes"))
    per_node = number_of(launch.setting("launcher", "--nproc-per-node"))
    if per_node is None:
        return None
    if nodes is None:
        return None if launch.setting("launcher", "--nnodes") else per_node
    return nodes * per_node
