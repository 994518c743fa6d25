"""The launch files of a job -> their settings that a job of the language does not say."""

from collections.abc import Iterable, Iterator

from ..backends import BACKENDS
from ..backends.languages.language import one_line
from ..reading.facts import LaunchConfig, Setting, Unknown, dashed, text_of

#: Options of sbatch that the job's `launch` and `cluster` blocks say, and that parc writes itself.
_SBATCH_WORDS = """--job-name --partition --account --qos --constraint --reservation --time --nodes
    --gres --gpus --gpus-per-node --gpus-per-task --ntasks --ntasks-per-node --cpus-per-task --mem
    --exclusive --requeue --no-requeue --output --error --open-mode --signal
    -J -p -A -q -C -t -N -n -c -o -e"""
_SBATCH = frozenset(_SBATCH_WORDS.split())
#: Those whose text the `launch` block carries.
_QUOTED = frozenset(
    ["--job-name", "--partition", "--account", "--qos", "--constraint", "--reservation"]
    + ["-J", "-p", "-A", "-q", "-C"]
)
#: How names of variables begin that change how a job trains; others are the script's own.
_TUNING = ("NCCL_", "NVTE_", "TORCH_", "PYTORCH_", "CUDA_", "CUBLAS", "UB_", "GLOO_", "UCX_", "FI_")


def unexpressed(config: LaunchConfig) -> tuple[Setting, ...]:
    """Settings of the framework, of sbatch and of the environment that a job does not say, by place."""
    backend = BACKENDS.get(config.framework or "")
    found = list(backend.reader.unexpressed(config)) if backend else []
    own = backend.reader.variables if backend else frozenset()
    found += [each for each in config.all("sbatch") if not _said(each)]
    found += [
        each
        for each in config.all("environment")
        if each.name.startswith(_TUNING) and each.name not in own
    ]
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.column)))


def _said(setting: Setting) -> bool:
    name, text = dashed(setting.name), text_of(setting)
    return name in _SBATCH and (name not in _QUOTED or text is None or sayable(text))


def lines(settings: Iterable[Setting]) -> Iterator[str]:
    """`train.sh:12  --moe-z-loss-coeff 0.001`, a setting each."""
    for setting in settings:
        values = ["?" if isinstance(value, Unknown) else str(value) for value in setting.values]
        words = " ".join([setting.name, *values])
        yield one_line(f"{setting.path}:{setting.line}  {words}")


def sayable(value: str) -> bool:
    """Whether a directive of a job's `launch` block may have this value: sbatch knows neither quotes nor
    variables."""
    return '"' not in value and "$" not in value
