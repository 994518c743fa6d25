"""Changes that DeepSpeed's checkpoints survive: one file a rank, of one stage, unless made universal.

Lines are those of DeepSpeed 0.19.8.
"""

from collections.abc import Mapping

from ...reading.facts import LaunchConfig, text_of
from ..resume import ELASTIC, Cure, Resume, Row, Saved

#: The switch of the emitted train.py, and the key of ds_config.json, with which a universal one is loaded.
ELASTIC_SWITCH, UNIVERSAL = "--elastic", "checkpoint.load_universal"
LOADS = "checkpoint read"
OF_LAYOUT, MADE_UNIVERSAL, LOADED_UNIVERSAL = "of one layout", "made universal", "universal"


def form(config: LaunchConfig, release: str) -> Mapping[str, str]:
    if config.given(ELASTIC_SWITCH):
        return {LOADS: MADE_UNIVERSAL}
    told = (text_of(config.setting("json", UNIVERSAL)) or "").lower() == "true"
    return {LOADS: LOADED_UNIVERSAL if told else OF_LAYOUT}


def _degree(side: Saved, name: str) -> int:
    return side.layout.get(name, 1)


def _piped(old: Saved, new: Saved) -> bool:
    return (_degree(old, "pp") > 1) != (_degree(new, "pp") > 1)


def _third(old: Saved, new: Saved) -> bool:
    return (_degree(old, "zero") == 3) != (_degree(new, "zero") == 3)


def _unsharded(old: Saved, new: Saved) -> bool:
    return 0 in (_degree(old, "zero"), _degree(new, "zero"))


def _same_ranks(old: Saved, new: Saved) -> bool:
    """engine.py:4748 compares the ranks that ZeRO divides states over: replicas times Ulysses' degree."""
    ranks = (_degree(side, "dp") * _degree(side, "cp") for side in (old, new))
    return len(set(ranks)) == 1


def _both_unsharded(old: Saved, new: Saved) -> bool:
    return _degree(old, "zero") == _degree(new, "zero") == 0


_CONVERT = "python -m deepspeed.checkpoint.ds_to_universal"
_CURES = (
    Cure(
        "setting",
        ELASTIC,
        "launch.sh then makes the newest checkpoint universal where its layout was another",
    ),
    Cure(
        "command",
        f"{_CONVERT} --input_folder <save>/<tag> --output_folder <save>/<tag>_universal "
        "--inject_missing_state",
        'then one start with `"checkpoint": {"load_universal": true}` in ds_config.json; with ZeRO 3 '
        "all parameters decay alike then, which an elastic job mends",
    ),
)
_KEEP_THIRD = Cure(
    "setting", "goal { require zero == 3 }", "or `zero <= 2`, as the old job has it: one side of 3"
)
_WORLD = (
    "The checkpoint being loaded used a DP world size of ... Automatic adjustment of ZeRO's optimizer state "
    "partitioning with a new world size is not currently supported."
)
_ROWS = (
    Row(
        ("pp", "tp"),
        # ckpt_layer_path: a pipeline's layers have files and numbers of their own.
        "runtime/pipe/module.py:588",
        stops="a pipeline saves layers by number, a model without one by name",
        cures=(Cure("setting", "goal { require pp == 1 }", "or above 1, as the old job has it"),),
        where="a pipeline, and none",
        when=_piped,
    ),
    Row(
        ("zero",),
        # Above stage 2 the converter writes other files, which stages 1 and 2 do not read, nor stage 3
        # theirs: tried both ways with 0.19.8.
        "checkpoint/ds_to_universal.py:1167",
        stops="stage 3 and the stages below it do not read each other's files, universal or not",
        cures=(_KEEP_THIRD,),
        where="stage 3, and another",
        when=_third,
    ),
    Row(
        ("zero", "dp", "cp"),
        "checkpoint/ds_to_universal.py:1163",
        stops="without ZeRO there are no shards to make universal",
        cures=(Cure("setting", "goal { require zero == <as before> }", "the same optimizer"),),
        where="stage 0, and another",
        when=lambda old, new: _unsharded(old, new) and not _both_unsharded(old, new),
    ),
    Row(
        ("dp", "cp"),
        "runtime/engine.py:4748",
        note="as many ranks divide the states",
        where="dp x cp stays",
        when=_same_ranks,
    ),
    Row(
        ("dp", "cp"),
        # Only ZeRO's shards depend on the ranks.
        "runtime/engine.py:4455",
        note="without ZeRO every rank saves and loads the same",
        where="stage 0",
        when=_unsharded,
    ),
    Row(
        ("zero",),
        # Tried both ways: the names and the shards of stages 1 and 2 are the same.
        "runtime/engine.py:4785",
        note="stages 1 and 2 save the same shards",
        where="stages 1 and 2, dp x cp stays",
        when=_same_ranks,
    ),
    Row(
        ("dp", "cp", "pp", "zero"),
        "runtime/engine.py:4744",
        note="launch.sh makes the newest checkpoint universal before it starts",
        where="the new job is elastic",
        when=lambda old, new: new.form[LOADS] == MADE_UNIVERSAL,
    ),
    Row(
        ("dp", "cp", "pp", "zero"),
        "runtime/engine.py:4435",
        stops="Invalid for universal checkpoint: latest_universal does not exist",
        cures=_CURES[1:],
        where="the new config says load_universal",
        when=lambda old, new: new.form[LOADS] == LOADED_UNIVERSAL,
    ),
    Row(("dp", "cp"), "runtime/engine.py:4748", stops=_WORLD, cures=_CURES),
    Row(
        ("pp", "zero"),
        "runtime/engine.py:4785",
        stops="the files of a rank are those of its stage of ZeRO and of the pipeline",
        cures=_CURES,
    ),
    Row((LOADS,), "runtime/engine.py:4428", note="what is saved is the same"),
)
#: train.py's own dropout follows from the step; the engine saves no generator.
RESUME = Resume(_ROWS, form, never=("rng",))
