"""A setting of verl that the chosen strategy does not read.

Why:
verl has two FSDPs, and `fsdp` is the default. `offload_policy` and `reshard_after_forward` are handed to
`fully_shard`, which `fsdp2` alone calls: under `fsdp` nothing is offloaded, and nothing says so.

Bad:
python3 -m verl.trainer.main_ppo data.train_batch_size=512 trainer.n_gpus_per_node=8 trainer.nnodes=2 \\
    actor_rollout_ref.actor.fsdp_config.offload_policy=True

Good:
python3 -m verl.trainer.main_ppo data.train_batch_size=512 trainer.n_gpus_per_node=8 trainer.nnodes=2 \\
    actor_rollout_ref.actor.strategy=fsdp2 actor_rollout_ref.actor.fsdp_config.offload_policy=True
"""

from collections.abc import Iterator

from ....backends.verl.override_names import OF_FSDP2, ROLES
from ....reading.facts import Setting, text_of
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint, Related

CODE = "PAR484"
TITLE = "a setting that verl's strategy does not read"
SEVERITY = "warning"
SOURCE = "verl workers/fsdp_workers.py, _build_model_optimizer; verl-project/verl-omni#177"
SINCE = "2026-12"
TRAINING = True
FILE = "train.sh"

_CURE = "strategy=fsdp2, or param_offload and optimizer_offload"


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    if launch.kind.name != "verl":
        return
    for role in ROLES:
        strategy = _setting(launch, f"{role.removesuffix('.model')}.strategy")
        actor = _setting(launch, "actor_rollout_ref.actor.strategy")
        chosen = text_of(strategy or actor) if strategy or actor else "fsdp"
        if chosen != "fsdp" or _setting(launch, "--config-name") is not None:
            continue
        idle = [
            setting
            for name, value in OF_FSDP2
            if (setting := _setting(launch, f"{role}.fsdp_config.{name}")) is not None
            and (text_of(setting) or "").lower() == value
        ]
        if idle:
            related = tuple(Related(f"{each.name} neither", each) for each in idle[1:])
            name = idle[0].name.rpartition(".")[2]
            message = f"{name} is read only under fsdp2, and the strategy is fsdp"
            yield Complaint(message, idle[0], related, _CURE)


def _setting(launch: LaunchedJob, name: str) -> Setting | None:
    return launch.setting("argument", name, f"+{name}", f"++{name}")
