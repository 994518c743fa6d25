"""verl divides the prompts of a step, and those of an update of the actor, over the GPUs.

A step's samples, `data.train_batch_size` * `rollout.n`, are a multiple of the GPUs, with Megatron of the
replicas times the micro-batch; no update has more prompts than the step; with FSDP the share of a GPU in an
update is a multiple of its micro-batch.

Why:
All workers start, and then verl stops in `validate_config`, or where a worker reads its share.

Bad:
python3 -m verl.trainer.main_ppo data.train_batch_size=1000 actor_rollout_ref.rollout.n=5 \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=2

Good:
python3 -m verl.trainer.main_ppo data.train_batch_size=1024 actor_rollout_ref.rollout.n=5 \\
    actor_rollout_ref.actor.ppo_mini_batch_size=256 \\
    actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=4 trainer.n_gpus_per_node=8 trainer.nnodes=2
"""

from collections.abc import Iterator

from ....backends.verl.override_names import OF_FORKS, PACKED, PROMPTS, SAMPLES, SECTIONS, UPDATE
from ....reading.facts import Setting, number_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR472"
TITLE = "verl cannot divide a batch"
SEVERITY = "error"
SOURCE = (
    "volcengine/verl@b178a3cd verl/utils/config.py:95, verl/workers/config/actor.py:197, "
    "verl/workers/fsdp_workers.py:241"
)
SINCE = "2026-12"
TRAINING = True

#: verl's own trainer, in which a step has the prompts of `data.train_batch_size`; the asynchronous one has 0.
_PROGRAM = "verl.trainer.main_ppo"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    """Batches packed by tokens (use_dynamic_bsz) have no micro-batch, and nothing to divide."""
    if launch.kind.program != "verl" or launch.config.program != _PROGRAM or _of_a_fork(launch):
        return
    micro, update = launch.number("micro_batch"), launch.number("global_batch")
    step, mini = launch.option(PROMPTS), launch.option(UPDATE)
    prompts, least = number_of(step), number_of(mini)
    if step is not None and prompts is not None:
        if micro and update:
            yield from _divided(launch, step, prompts, micro)
        if mini is not None and least is not None and prompts < least and not _packed(launch):
            message = f"a step has {prompts} prompts, and an update of the actor {least}"
            related = (Related(f"{least} prompts of an update", mini),)
            help_text = f"{PROMPTS} of {least} or a multiple"
            # Forks that count otherwise run under verl's name and keys.
            yield Complaint(message, step, related, help_text, "warning")
    if micro and update and launch.kind.variant != "megatron":
        yield from _share(launch, update, micro)


def _packed(launch: LaunchedJob) -> bool:
    """Whether tokens may be packed: verl then takes the whole step for an update (actor.py:232)."""
    given = launch.option(PACKED)
    return given is not None and str(given.values[0]).lower() != "false"


def _of_a_fork(launch: LaunchedJob) -> bool:
    """Whether a key is of no verl: agents' forks have `env.rollout.n`, and updates of steps, not prompts."""
    keys = [each.name for each in launch.all("argument") if "." in each.name]
    return launch.given(OF_FORKS) or any(key.split(".")[0] not in SECTIONS for key in keys)


def _divided(launch: LaunchedJob, step: Setting, prompts: int, micro: int) -> Iterator[Complaint]:
    samples = number_of(launch.option(SAMPLES)) if launch.given(SAMPLES) else 1
    dp, gpus = launch.number("dp"), launch.number("gpus")
    by, parts = (
        (dp and dp * micro, f"dp {dp} * micro-batch {micro} = {(dp or 0) * micro}")
        if launch.kind.variant == "megatron"
        else (gpus, f"{gpus} GPUs")
    )
    if samples and by and (prompts * samples) % by:
        message = f"{prompts} prompts * {samples} samples = {prompts * samples} is not a multiple of {parts}"
        parted = launch.kind.variant == "megatron"
        related = (Related(f"micro-batch {micro}", launch.facts["micro_batch"]),) if parted else ()
        yield Complaint(message, step, related, "prompts of a step that the GPUs divide")


def _share(launch: LaunchedJob, update: int, micro: int) -> Iterator[Complaint]:
    """A GPU's share is rounded down before it is divided."""
    dp = launch.number("dp")
    share = update // dp if dp else None
    if share is None or (share and share % micro == 0):
        return
    message = f"an update has {update} samples, {share} a rank of {dp}: not a multiple of micro-batch {micro}"
    related = (Related(f"micro-batch {micro}", launch.facts["micro_batch"]),)
    yield Complaint(message, launch.facts["global_batch"], related, "a smaller micro-batch")
