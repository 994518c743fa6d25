"""The launch files of a job -> their settings that a job of the language does not say."""

from collections.abc import Iterable, Iterator

from ..backends import BACKENDS
from ..reading.facts import LaunchConfig, Setting, Unknown, dashed

#: Options of sbatch that the job's `launch` and `cluster` blocks say, and that parc writes itself.
_SBATCH_WORDS = """--job-name --partition --account --qos --constraint --reservation --time --nodes
    --gres --gpus --gpus-per-node --gpus-per-task --ntasks --ntasks-per-node --cpus-per-task --mem
    --exclusive --requeue --no-requeue --output --error --open-mode --signal
    -J -p -A -q -C -t -N -n -c -o -e"""
_SBATCH = frozenset(_SBATCH_WORDS.split())
#: How names of variables begin that change how a job trains; others are the script's own.
_TUNING = ("NCCL_", "NVTE_", "TORCH_", "PYTORCH_", "CUDA_", "CUBLAS", "UB_", "GLOO_", "UCX_", "FI_")


def unexpressed(config: LaunchConfig) -> tuple[Setting, ...]:
    """Settings of the framework, of sbatch and of the environment that a job does not say, by place."""
    backend = BACKENDS.get(config.framework or "")
    found = list(backend.reader.unexpressed(config)) if backend else []
    own = backend.reader.variables if backend else frozenset()
    found += [each for each in config.all("sbatch") if dashed(each.name) not in _SBATCH]
    found += [
        each
        for each in config.all("environment")
        if each.name.startswith(_TUNING) and each.name not in own
    ]
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.column)))


def lines(settings: Iterable[Setting]) -> Iterator[str]:
    """`train.sh:12  --moe-z-loss-coeff 0.001`, a setting each."""
    for setting in settings:
        values = ["?" if isinstance(value, Unknown) else str(value) for value in setting.values]
        yield f"{setting.path}:{setting.line}  {' '.join([setting.name, *values])}"
