"""The options of positions: learned ones, rotary waves and how those are scaled."""

from ....dsl.model import Model
from .flags import Flag, flag

_TYPES = {"rope": "rope", "learned": "learned_absolute", "none": "none"}


def position_flags(model: Model) -> list[Flag]:
    """--position-embedding-type and its options; latent attention scales by `latent_rope`."""
    if model.position != "rope":
        return [flag("--position-embedding-type", _TYPES[model.position])]
    scaling = "none" if model.mla else model.rope_scaling
    return [
        flag("--position-embedding-type", "yarn" if scaling == "yarn" else "rope"),
        flag("--rotary-base", int(model.rope_theta)),
        *_SCALED[scaling](model),
    ]


def _unscaled(model: Model) -> list[Flag]:
    return []


def _linear(model: Model) -> list[Flag]:
    why = "positions are divided by it"
    return [flag("--rotary-seq-len-interpolation-factor", int(model.rope_factor), why=why)]


def _llama3(model: Model) -> list[Flag]:
    why = "slow waves are stretched, fast ones stay: Llama 3.1"
    return [
        flag("--use-rope-scaling", why=why),
        flag("--rope-scaling-factor", model.rope_factor),
    ]


def _yarn(model: Model) -> list[Flag]:
    """Options that argument_utils.py:383 of 0.19.2 gives to YarnRotaryEmbedding outside latent attention."""
    rounds = "" if model.rope_truncate else "no-"
    return [
        flag(
            "--rotary-scaling-factor",
            model.rope_factor,
            why="sequences become so many times longer",
        ),
        flag("--yarn-original-max-position-embeddings", model.rope_original_positions),
        flag("--yarn-beta-fast", model.rope_beta_fast, why="from so many turns on, a wave stays"),
        flag("--yarn-beta-slow", model.rope_beta_slow, why="up to so many, it is stretched"),
        flag(f"--{rounds}yarn-correction-range-round-to-int"),
        *_mscale(model),
    ]


_SCALED = {"none": _unscaled, "linear": _linear, "llama3": _llama3, "yarn": _yarn}


def _mscale(model: Model) -> list[Flag]:
    return [
        flag("--mscale", model.rope_mscale),
        flag("--mscale-all-dim", model.rope_mscale_all_dim),
    ]


def latent_rope(model: Model) -> list[Flag]:
    """How latent attention, which has rotary positions of its own, scales them."""
    if model.rope_scaling != "yarn":
        return [
            flag("--rope-type", "rope", why="latent attention would take yarn"),
            flag("--no-rope-fusion", why="its fused kernel knows yarn alone"),
        ]
    return [
        flag("--rope-type", "yarn", why="4096 positions before scaling, ramp from 32 turns to 1"),
        flag("--rotary-scaling-factor", model.rope_factor),
        *_mscale(model),
    ]
