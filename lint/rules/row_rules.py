"""Rules that are nothing but rows or predicates of a framework, which has their pages; a rule each."""

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import TypeAlias

from ...backends import BACKENDS
from ...backends.constraints import Broken, Need
from ...backends.megatron.option_rows import ROWS
from ...compiler.rules.validity import predicates
from ...dsl.diagnostics import Severity
from ..compiler_predicates import Cure, enforced, no_cure, on_assumed_nodes
from ..facts.launched_job import LaunchedJob
from ..finding import Complaint, Skipped
from ..rows import complaints, of_frameworks
from ..rule import Rule
from .options.option_value import lacks_values

Complaints: TypeAlias = Iterator[Complaint | Skipped]

#: What Megatron-LM, NeMo, Bridge and verl's overrides call the micro-batches of a chunk, by its first words.
_GROUP = "microbatch_group_size_per_v"
_KEYS = "ds_config.json"


def _always(launch: LaunchedJob) -> bool:
    return True


def _as_found(launch: LaunchedJob, complaints: Complaints) -> Complaints:
    return complaints


def _of_predicate(
    code: str,
    vary: str | None = None,
    cure: Cure = no_cure,
    when: Callable[[LaunchedJob], bool] = _always,
    levels: Callable[[LaunchedJob, Complaints], Complaints] = _as_found,
    source: str = "",
    framework: str = "megatron",
) -> Rule:
    """A rule that the targets' predicates of a code are, with title and source of one framework's; `source`
    names that of others. `levels` lowers those of complaints that are less sure than the predicate.
    """
    own = next(each for each in predicates(BACKENDS[framework].target) if each.code == code)

    def check(launch: LaunchedJob) -> Complaints:
        if when(launch):
            yield from levels(launch, enforced(code, launch, vary=vary, cure=cure))

    sources = "; ".join(filter(None, (own.source, source)))
    return Rule(code, own.name, own.title, "error", sources, check, _page(framework, code))


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


def _of_several(
    code: str,
    check: Callable[[str, LaunchedJob], Iterator[Complaint]],
    name: str,
    title: str,
    source: str,
) -> Rule:
    """A rule that rows of several frameworks are; Megatron-LM has its page, and the examples are of 0.19."""
    page, options = _page("megatron", code), ("--framework-version", "megatron=0.19")
    return Rule(code, name, title, "error", source, partial(check, code), page, options=options)


def _page(framework: str, code: str) -> Callable[[], str]:
    return lambda: BACKENDS[framework].pages[code]


def _one_number_of_experts(launch: LaunchedJob) -> bool:
    listed = launch.option(ROWS.fact("experts").name)
    return listed is None or len(listed.values) == 1


def _experts_of_megatron(launch: LaunchedJob) -> bool:
    return bool(launch.number("experts")) and not launch.kind.involves("deepspeed")


def _biases_of_megatron(launch: LaunchedJob) -> bool:
    return bool(launch.number("experts")) and launch.megatron


def _hint_of_any_release(launch: LaunchedJob, complaints: Complaints) -> Complaints:
    """Complaints on what earlier releases take: hints where nothing tells the release."""
    release = launch.release("megatron")
    for each in complaints:
        if isinstance(each, Complaint):
            level = release.severity("error" if release.since(each.since) else "info")
            each = replace(each, severity=level)
        yield each


def _torchtitan_on_several(launch: LaunchedJob) -> bool:
    return launch.framework == "torchtitan" and launch.number("gpus") != 1


def _worlds(launch: LaunchedJob) -> str | None:
    """The nearest numbers of GPUs that the degrees divide."""
    gpus = launch.number("gpus")
    group = math.prod(launch.number(name) or 1 for name in ("tp", "pp", "cp"))
    if gpus is None or group < 1:
        return None
    below = gpus // group * group
    near = " or ".join(str(count) for count in (below, below + group) if count > 0)
    return f"{near} GPUs, or smaller degrees"


def _without_needs(code: str, launch: LaunchedJob) -> Iterator[Complaint]:
    """An inference or a converter takes the number of experts from the checkpoint."""
    unread = () if launch.megatron and not lacks_values(launch) else ("megatron",)
    return of_frameworks(
        code, launch, lambda fault: launch.may_train or not _needs_experts(fault), unread
    )


def _needs_experts(fault: Broken) -> bool:
    return isinstance(fault.row, Need) and ROWS.fact("experts").name in fault.row.needs


def _excluding(code: str, launch: LaunchedJob) -> Iterator[Complaint]:
    return of_frameworks(code, launch, without=() if launch.megatron else ("megatron",))


def _ignored(code: str, launch: LaunchedJob) -> Iterator[Complaint]:
    """Which release runs is not in the script: only a named one makes this a warning."""
    version = launch.versions.get("megatron")
    if launch.megatron and version is not None:
        for each in complaints("megatron", code, launch):
            yield replace(each, message=f"{each.message} by Megatron-LM {version}")


def _in_groups_of_pp(launch: LaunchedJob) -> bool:
    """Whether a chunk has as many micro-batches at once as there are stages, as it has unless told."""
    return not any(_GROUP in each.name.replace("-", "_") for each in launch.config.settings)


def _batch(launch: LaunchedJob) -> str | None:
    pp, micro, dp = (launch.number(name) for name in ("pp", "micro_batch", "dp"))
    return f"a global batch in multiples of {pp * micro * dp}" if pp and micro and dp else None


#: Where the rows of several frameworks are from.
_LINES = (
    "NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py, transformer_config.py; DeepSpeed 0.19.8 "
    "runtime/config.py; torchtitan 0.2.2 components/checkpoint.py: each row names its line"
)

RULES = (
    replace(
        _of_predicate(
            "PAR101",
            cure=_worlds,
            levels=on_assumed_nodes,
            source="NVIDIA/Megatron-LM@d98e8a64 megatron/training/arguments.py:432",
        ),
        stops="itself",
    ),
    _of_predicate("PAR111", "tp"),
    _of_predicate("PAR113", "tp"),
    _of_predicate("PAR115", "ep", when=_one_number_of_experts, source="pytorch/torchtitan#4258"),
    _of_predicate("PAR117", "etp", when=_experts_of_megatron),
    _of_predicate("PAR119", when=_biases_of_megatron, levels=_hint_of_any_release),
    replace(_of_predicate("PAR203", cure=_batch, when=_in_groups_of_pp), training=True),
    replace(
        _of_predicate("PAR341", when=_torchtitan_on_several, framework="torchtitan"),
        severity="warning",
        file="train.toml",
    ),
    _of_predicate("PAR503", "tp"),
    replace(
        _of_several(
            "PAR303",
            _without_needs,
            "option-needs",
            "an option without another one that it needs",
            _LINES,
        ),
        release_bound=True,
    ),
    replace(
        _of_several(
            "PAR312", _excluding, "options-exclude", "two options that exclude each other", _LINES
        ),
        options=(),
    ),
    replace(
        _of_several(
            "PAR313",
            _ignored,
            "ignored-option",
            "an option that Megatron-LM parses and ignores",
            "NVIDIA/Megatron-LM@d98e8a64 megatron/training/global_vars.py, arguments.py; accepted by "
            "the validators of 0.18.0, 0.19.2 and 0.20",
        ),
        severity="info",
    ),
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
