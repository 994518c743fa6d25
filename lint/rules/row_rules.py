"""Rules that are nothing but rows or predicates of a framework, which has their pages; a rule each."""

from collections.abc import Callable, Iterator

from ...backends import BACKENDS
from ...backends.megatron.constraints import PREDICATES
from ...backends.megatron.option_rows import ROWS
from ...dsl.diagnostics import Severity
from ..compiler_predicates import Cure, enforced, no_cure
from ..facts.launched_job import LaunchedJob
from ..finding import Complaint, Skipped
from ..rows import complaints
from ..rule import Rule

#: What Megatron-LM, NeMo, Bridge and verl's overrides call the micro-batches of a chunk, by its first words.
_GROUP = "microbatch_group_size_per_v"
_KEYS = "ds_config.json"


def _always(launch: LaunchedJob) -> bool:
    return True


def _of_predicate(
    code: str,
    vary: str | None = None,
    cure: Cure = no_cure,
    when: Callable[[LaunchedJob], bool] = _always,
    source: str = "",
    training: bool = False,
) -> Rule:
    """A rule that the targets' predicates of a code are, with title and source of Megatron-LM's; `source`
    names that of others."""
    own = next(each for each in PREDICATES if each.code == code)

    def check(launch: LaunchedJob) -> Iterator[Complaint | Skipped]:
        if when(launch):
            yield from enforced(code, launch, vary=vary, cure=cure)

    sources = "; ".join(filter(None, (own.source, source)))
    page = _page("megatron", code)
    return Rule(code, own.name, own.title, "error", sources, check, page, training=training)


def _of_rows(
    framework: str,
    code: str,
    name: str,
    title: str,
    source: str,
    severity: Severity = "error",
    file: str = "train.sh",
    level: Severity | None = None,
) -> Rule:
    """A rule that a framework's rows of a code are. `level` is that of what it says, where the framework goes
    on."""

    def check(launch: LaunchedJob) -> Iterator[Complaint]:
        yield from complaints(framework, code, launch, level=level)

    return Rule(code, name, title, severity, source, check, _page(framework, code), file)


def _page(framework: str, code: str) -> Callable[[], str]:
    return lambda: BACKENDS[framework].pages[code]


def _one_number_of_experts(launch: LaunchedJob) -> bool:
    listed = launch.option(ROWS.fact("experts").name)
    return listed is None or len(listed.values) == 1


def _experts_of_megatron(launch: LaunchedJob) -> bool:
    return bool(launch.number("experts")) and not launch.kind.involves("deepspeed")


def _in_groups_of_pp(launch: LaunchedJob) -> bool:
    """Whether a chunk has as many micro-batches at once as there are stages, as it has unless told."""
    return not any(_GROUP in each.name.replace("-", "_") for each in launch.config.settings)


def _batch(launch: LaunchedJob) -> str | None:
    pp, micro, dp = (launch.number(name) for name in ("pp", "micro_batch", "dp"))
    return f"a global batch in multiples of {pp * micro * dp}" if pp and micro and dp else None


RULES = (
    _of_predicate("PAR111", "tp"),
    _of_predicate("PAR113", "tp"),
    _of_predicate("PAR115", "ep", when=_one_number_of_experts, source="pytorch/torchtitan#4258"),
    _of_predicate("PAR117", "etp", when=_experts_of_megatron),
    _of_predicate("PAR203", cure=_batch, when=_in_groups_of_pp, training=True),
    _of_predicate("PAR503", "tp"),
    _of_rows(
        "megatron",
        "PAR132",
        "seq-positions",
        "the sequence is longer than the position table",
        "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1354",
    ),
    _of_rows(
        "megatron",
        "PAR316",
        "learning-rates",
        "the smallest learning rate is above the largest",
        "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:1360",
    ),
    _of_rows(
        "megatron",
        "PAR317",
        "topk-experts",
        "a token visits more experts than there are",
        "NVIDIA/Megatron-LM@d98e8a64 megatron/core/transformer/moe/moe_utils.py, topk_routing",
    ),
    # Memory that was to be saved is not: an error, though DeepSpeed starts.
    _of_rows(
        "deepspeed",
        "PAR405",
        "offload-stage",
        "offload at a ZeRO stage that does not shard what is offloaded",
        "DeepSpeed 0.19.8 runtime/zero/config.py accepts it, runtime/engine.py ignores it",
        file=_KEYS,
        level="error",
    ),
    _of_rows(
        "deepspeed",
        "PAR417",
        "nvme-path",
        "NVMe offload without its folder",
        "DeepSpeed 0.19.8 runtime/zero/partition_parameters.py:1229, runtime/zero/stage3.py:840",
        file=_KEYS,
    ),
    _of_rows(
        "deepspeed",
        "PAR418",
        "idle-key",
        "a key that does nothing here",
        "DeepSpeed 0.19.8: loaded, and found without effect",
        "warning",
        _KEYS,
    ),
)
