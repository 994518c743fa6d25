"""The launch files of a job -> their settings that a job of the language does not say."""

from collections.abc import Callable, Iterable, Iterator, Sequence

from ..backends import reader_of
from ..backends.environment import own_variables
from ..backends.languages.language import one_line
from ..reading.facts import LaunchConfig, Setting, Unknown, dashed, text_of
from .carried import Carried
from .facts.job_blocks import described_layout, described_train
from .facts.launched_job import LaunchedJob
from .imported_launch import lost as directives_lost

#: How names of variables begin that change how a job trains; others are the script's own.
_TUNING = ("NCCL_", "NVTE_", "TORCH_", "PYTORCH_", "CUDA_", "CUBLAS", "UB_", "GLOO_", "UCX_", "FI_")


#: Options of launchers that the job's cluster says, or that parc writes itself: how many processes start
#: where, and how they meet.
_LAUNCHER = frozenset(
    [
        "--nnodes",
        "--nproc-per-node",
        "--node-rank",
        "--master-addr",
        "--master-port",
        "--rdzv-backend",
        "--rdzv-endpoint",
        "--rdzv-id",
        "--rdzv-conf",
        "--standalone",
        "--max-restarts",
        "--local-addr",
        "--tee",
        "--log-dir",
        "--redirects",
        "--module",
        "--role",
        "--num-nodes",
        "--num-gpus",
        "--hostfile",
        "--num-machines",
        "--num-processes",
        "--machine-rank",
        "--main-process-ip",
        "--main-process-port",
        "--multi-gpu",
        "--use-deepspeed",
        "--config-file",
        "--accelerate-config",
        "--nodes",
        "--ntasks",
        "--ntasks-per-node",
        "--gpus",
        "--gpus-per-node",
        "--gpus-per-task",
        "--gres",
        "--cpus-per-task",
        "--cpu-bind",
        "--kill-on-bad-exit",
        "--label",
        "--wait",
        "--output",
        "--error",
        "--export",
        "--job-name",
        "-m",
        "-N",
        "-n",
        "-c",
        "-G",
        "-l",
        "-u",
        "-K",
        "-o",
        "-e",
        "-J",
        "-np",
    ]
)
#: Who reads the settings that are accounted for one by one.
_SCOPES = ("argument", "json", "toml", "yaml", "python", "launcher")
#: Facts whose values a job may not be able to say.
_WORDS = ("precision", "recompute", "order")


def unexpressed(config: LaunchConfig) -> tuple[Setting, ...]:
    """Settings of the files and of the command, of sbatch and of the environment that a job does not say, by
    place: each is in the job, or is decided by parc with every job, or is here."""
    reader = reader_of(config)
    launch = LaunchedJob(config)
    carried = Carried(launch)
    says = reader.says if reader else _nothing_known
    found = [each for each in _last(config) if not _is_said(config, each, says, carried)]
    found += reader.unread(config) if reader else ()
    found += [*_refined(launch, found)]
    found += [*_unsaid_facts(launch, found)]
    own = reader.variables if reader else frozenset()
    set_by_job = {each.name: text_of(each) for each in own_variables(config)}
    own |= {name for name, text in set_by_job.items() if text is not None}
    gone = {(each.path, each.line, each.column) for each in directives_lost(launch)}
    found += [each for each in config.all("sbatch") if (each.path, each.line, each.column) in gone]
    found += [
        each
        for each in config.all("environment")
        if (each.name.startswith(_TUNING) or each.name in set_by_job) and each.name not in own
    ]
    return tuple(sorted(found, key=lambda each: (each.path, each.line, each.column)))


def _nothing_known(config: LaunchConfig, setting: Setting) -> None:
    return None


def _last(config: LaunchConfig) -> Iterator[Setting]:
    """The last setting of each name, which counts."""
    last: dict[tuple[str, str], Setting] = {}
    for setting in config.settings:
        if setting.scope in _SCOPES:
            last[setting.scope, dashed(setting.name)] = setting
    yield from last.values()


def _is_said(
    config: LaunchConfig,
    setting: Setting,
    says: Callable[[LaunchConfig, Setting], bool | None],
    carried: Carried,
) -> bool:
    if setting.scope == "launcher" and dashed(setting.name) in _LAUNCHER:
        return True
    answer = says(config, setting)
    return setting in carried if answer is None else answer


def altered(launch: LaunchedJob, lost: Iterable[Setting]) -> frozenset[str]:
    """Facts whose meaning a setting changes that no job says."""
    reader = reader_of(launch.config)
    names = {dashed(each.name) for each in lost}
    refined = reader.refines.items() if reader else ()
    return frozenset(fact for fact, settings in refined if settings & names)


def _refined(launch: LaunchedJob, lost: Sequence[Setting]) -> Iterator[Setting]:
    """The settings of such facts, which are lost with them."""
    facts = [launch.facts[name] for name in altered(launch, lost) if name in launch.facts]
    places = {(fact.path, fact.line, fact.column) for fact in facts}
    for setting in _last(launch.config):
        own = (setting.path, setting.line, setting.column)
        if (setting.value_at or own) in places and setting not in lost:
            yield setting


def _unsaid_facts(launch: LaunchedJob, lost: Iterable[Setting]) -> Iterator[Setting]:
    """Values that no setting states alone, such as the fp32 of a command that names no precision."""
    said = {*described_train(launch), *described_layout(launch)} - altered(launch, lost)
    places = {(each.path, each.line, each.column) for each in lost}
    places |= {each.value_at for each in lost if each.value_at is not None}
    for name in _WORDS:
        fact, value = launch.facts.get(name), launch.value(name)
        if fact is None or value is None or name in said:
            continue
        if name == "order" and launch.number("pp") in (None, 1):
            continue
        if (fact.path, fact.line, fact.column) not in places:
            yield Setting("fact", name, (value,), fact.path, fact.line, fact.column)


def lines(settings: Iterable[Setting]) -> Iterator[str]:
    """`train.sh:12  --moe-z-loss-coeff 0.001`, a setting each."""
    for setting in settings:
        values = ["?" if isinstance(value, Unknown) else str(value) for value in setting.values]
        words = " ".join([setting.name, *values])
        yield one_line(f"{setting.path}:{setting.line}  {words}")
