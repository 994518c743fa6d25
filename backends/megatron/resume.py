"""Changes that Megatron-LM's checkpoints survive: weights by name, an optimizer's state by name or buffers.

Lines are those of core_v0.19.0.
"""

from collections.abc import Mapping

from ...reading.facts import LaunchConfig, text_of
from ..resume import ELASTIC, Cure, Resume, Row, Saved

FSDP = ("--use-megatron-fsdp", "--use-custom-fsdp")
DISTRIBUTED = "--use-distributed-optimizer"
RESHARDABLE = "--dist-ckpt-optim-fully-reshardable"
#: How an optimizer's state is kept: whole with each weight, by the name of its weight though divided over
#: ranks, or as the buffers of the ranks that divide it.
WHOLE, BY_NAME, BUFFERS, TENSORS = "whole", "by weight", "buffers of ranks", "tensors"
FORMAT, STATE, EXPERTS = "format", "optimizer state", "experts' optimizer"
OWN = "their own"
#: Releases in which ep alone decides whether experts have an optimizer of their own.
BY_EP_ALONE = tuple(f"0.{minor}" for minor in range(14, 19))
#: Rates above 0 unless given (megatron/training/arguments.py).
DROPOUTS = ("--attention-dropout", "--hidden-dropout")


def form(config: LaunchConfig, release: str) -> Mapping[str, str]:
    """The format, torch_dist unless given, and how the optimizer's state is kept in it."""
    saved = text_of(config.option("--ckpt-format")) or "torch_dist"
    if saved == "fsdp_dtensor" or config.given(*FSDP):
        return {FORMAT: "fsdp_dtensor", STATE: TENSORS}
    experts = _experts(config, release)
    # core_v0.14.0 megatron/training/checkpointing.py:374: by weight, unless switched off.
    by_name = config.given(RESHARDABLE) or (release or "0.19").startswith("0.14")
    if not config.given(DISTRIBUTED):
        return {FORMAT: saved, STATE: WHOLE, **experts}
    state = BY_NAME if by_name and saved == "torch_dist" else BUFFERS
    return {FORMAT: saved, STATE: state, **experts}


def _experts(config: LaunchConfig, release: str) -> dict[str, str]:
    """Whether experts have an optimizer of their own: where their groups of ranks are others than the rest's
    (core/tensor_parallel/layers.py:961); before 0.19 with ep above 1 alone (core_r0.18.0 :914)."""
    experts, ep, tp, etp = (config.number(name) for name in ("experts", "ep", "tp", "etp"))
    if not experts or None in (ep, tp, etp):
        return {}
    apart = ep != 1 or (tp != etp and not release.startswith(BY_EP_ALONE))
    return {EXPERTS: OWN if apart else "that of all weights"}


def draws(config: LaunchConfig) -> bool:
    """Whether a rate of dropout is above 0."""
    rates = [text_of(config.option(name)) for name in DROPOUTS]
    return any(rate is None or rate.strip("0.") != "" for rate in rates)


def _buffers(old: Saved, new: Saved) -> bool:
    return old.form.get(STATE) == BUFFERS


def _legacy(old: Saved, new: Saved) -> bool:
    return old.form[FORMAT] == "torch"


_WITHOUT_MOMENTS = Cure(
    "option",
    "--no-load-optim",
    "weights, step and data go on; moments and the learning rate's schedule begin anew",
    lost=("moments",),
)
#: checkpointing.py:2198 reads how the optimizer was saved from the checkpoint, :499 saves as options say.
_SAVE_AGAIN = Cure(
    "command",
    f"<the old pretrain.sh, on its GPUs> {RESHARDABLE} --exit-interval 1",
    "one step of the old layout, saved in the form that every layout reads",
)
_SAME_OPTIMIZERS = (
    Cure("setting", "goal { require ep == <as before> }", "as many optimizers as before"),
    _WITHOUT_MOMENTS,
)
_OWN = f"`require ep > 1` in both jobs (`{ELASTIC}` does it)"
_FULLY = f"{RESHARDABLE}, or `{ELASTIC}` in the job"
_CONVERTED = Cure(
    "command",
    "torchrun --nproc-per-node <GPUs> tools/checkpoint/checkpoint_inspector.py "
    "convert-torch-dist-to-fsdp-dtensor [--swiglu] <old>/iter_<step> <new>/iter_<step> "
    "--param-to-param-group-map-json <map>",
    "the map is what a start of the old job with --dump-param-to-param-group-map leaves",
)
_ONE_FORMAT = (
    f"`require zero <= 1` in both jobs (`{ELASTIC}` does it): every size then saves torch_dist"
)
_ROWS = (
    Row(
        (FORMAT,),
        # tools/checkpoint/checkpoint_inspector.py:831; docs/user-guide/features/megatron_fsdp.md:278
        "megatron/core/optimizer/distrib_optimizer.py:1516",
        stops="sharding_type ... is not supported with Megatron FSDP",
        cures=(
            Cure("setting", "goal { require zero <= 1 }", "the new job then saves torch_dist too"),
            _CONVERTED,
        ),
        before=_ONE_FORMAT,
        where="torch_dist, then fsdp_dtensor",
        when=lambda old, new: (
            (old.form[FORMAT], new.form[FORMAT]) == ("torch_dist", "fsdp_dtensor")
        ),
    ),
    Row(
        (FORMAT,),
        # _get_checkpoint_format: without metadata.json it is no torch_dist, and is read as torch_dcp.
        "megatron/training/checkpointing.py:1616",
        stops="the checkpoint is taken for torch_dcp, whose names are not the model's",
        cures=(
            Cure("setting", "goal { require zero >= 2 }", "Megatron-FSDP reads its own format"),
        ),
        before=_ONE_FORMAT,
        where="fsdp_dtensor, then another",
        when=lambda old, new: old.form[FORMAT] == "fsdp_dtensor",
    ),
    Row(
        (FORMAT,),
        # load_checkpoint takes the format of the checkpoint, not that of the options.
        "megatron/training/checkpointing.py:2111",
        note="--auto-detect-ckpt-format reads it with the same tp and pp",
        where="torch, then torch_dist",
        when=lambda old, new: (old.form[FORMAT], new.form[FORMAT]) == ("torch", "torch_dist"),
    ),
    Row(
        (STATE,),
        "megatron/training/checkpointing.py:2198",
        note="read as it was saved, then saved anew",
        where="by weight, or buffers of ranks",
        when=lambda old, new: {old.form[STATE], new.form[STATE]} == {BY_NAME, BUFFERS},
    ),
    Row(
        (STATE,),
        # optimizer.py:1167 names the main weights fp32_param, distrib_optimizer.py has them as `param`.
        "megatron/core/optimizer/optimizer.py:1167",
        stops="optimizer.state... from model not in state dict: the distributed optimizer and the plain one "
        "name their states differently",
        cures=(
            Cure("setting", "goal { require zero == <as before> }", "the same optimizer"),
            _WITHOUT_MOMENTS,
        ),
        before=f"`require zero == 1` in both jobs (`{ELASTIC}` does it)",
        where="whole (ZeRO 0), or divided",
        when=lambda old, new: WHOLE in (old.form.get(STATE), new.form[STATE]),
    ),
    Row(
        (EXPERTS,),
        "megatron/core/optimizer/distrib_optimizer.py:962",
        stops="KeyError: 'optimizer', of a checkpoint of two: experts had an optimizer of their own, with ep "
        "above 1 or etp other than tp",
        cures=_SAME_OPTIMIZERS,
        before=_OWN,
        where="experts had an optimizer of their own",
        when=lambda old, new: old.form[EXPERTS] == OWN,
    ),
    Row(
        (EXPERTS,),
        "megatron/core/optimizer/optimizer.py:1579",
        stops="Expected ... entries in state dict: experts had no optimizer of their own, with ep 1 and the "
        "etp that tp is",
        cures=_SAME_OPTIMIZERS,
        before=_OWN,
        where="experts had none of their own",
    ),
    # What the format tells already.
    Row((STATE, "zero"), "megatron/training/checkpointing.py:1616"),
    Row(
        ("tp", "pp", "vpp", "ep", "etp"),
        "megatron/training/checkpointing.py:1616",
        stops="files of the `torch` format are those of one tp and pp",
        cures=(
            Cure(
                "command",
                "python tools/checkpoint/convert.py --model-type GPT --loader core --saver core "
                "--target-tensor-parallel-size <tp> --target-pipeline-parallel-size <pp> "
                "--load-dir <old> --save-dir <new>",
                "weights alone",
                lost=("moments", "rng", "data"),
            ),
        ),
        before="--ckpt-format torch_dist",
        where="the old format is torch",
        when=_legacy,
    ),
    Row(
        ("tp", "pp"),
        "megatron/training/checkpointing.py:2252",
        stops="(TP, PP) mismatch after resume: not supported for DistributedOptimizer with sharding type "
        "dp_reshardable",
        cures=(_SAVE_AGAIN, _WITHOUT_MOMENTS),
        before=_FULLY,
        where="the old optimizer state is buffers of ranks",
        when=_buffers,
        since="0.15",
    ),
    Row(
        ("vpp", "ep", "etp"),
        # Buffers are keyed by the group of ranks that divides them, and hold what a rank's chunks have.
        "megatron/core/optimizer/distrib_optimizer.py:1537",
        stops="the optimizer's buffers are those of the old chunks and experts of a rank",
        cures=(_SAVE_AGAIN, _WITHOUT_MOMENTS),
        before=_FULLY,
        where="the old optimizer state is buffers of ranks",
        when=_buffers,
        since="0.15",
    ),
    Row(
        ("tp", "pp"),
        "megatron/training/checkpointing.py:2193",
        lost=("rng",),
        note="weights and moments have their names in every layout; RNG state will be ignored",
    ),
    Row(
        ("vpp", "ep", "etp"),
        "megatron/core/optimizer/distrib_optimizer.py:128",
        note="weights and moments have their names in every layout",
    ),
    Row(
        ("cp", "dp"),
        # "it allows checkpoint resharding only in DP dimension"; samples are counted, not ranks.
        "megatron/core/optimizer/distrib_optimizer.py:1476",
        note="data go on after the samples that were consumed",
    ),
)
RESUME = Resume(_ROWS, form, draws)
