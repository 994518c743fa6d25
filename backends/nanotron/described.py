"""nanotron's YAML -> values of the `model` and `train` blocks beside its sizes.

huggingface/nanotron@2411b02 src/nanotron/config/models_config.py and models/: Llama's and Qwen2's blocks are
gated and normalise by RMS without biases; Starcoder2's are plain, with layer norm, biases and tied
embeddings.
"""

from ...reading.facts import LaunchConfig, Setting
from ..described import Places, counts, known, rates
from ..reader import Values

_MODEL = "model.model_config."
_EXPERTS = f"{_MODEL}moe_config."


def _yaml(**names: str) -> Places:
    return {name: ("yaml", key) for name, key in names.items()}


_COUNTS = _yaml(
    ffn=f"{_MODEL}intermediate_size",
    vocab=f"{_MODEL}vocab_size",
    experts=f"{_EXPERTS}num_experts",
    topk=f"{_EXPERTS}top_k",
    expert_ffn=f"{_EXPERTS}moe_intermediate_size",
)
_RATES = _yaml(
    norm_eps=f"{_MODEL}rms_norm_eps",
    rope_theta=f"{_MODEL}rope_theta",
    init_std="model.init_method.std",
)
_STEPS = _yaml(
    steps="tokens.train_steps",
    warmup="optimizer.learning_rate_scheduler.lr_warmup_steps",
    checkpoint_interval="checkpoints.checkpoint_interval",
    seed="general.seed",
)
_SPEEDS = _yaml(
    learning_rate="optimizer.learning_rate_scheduler.learning_rate",
    min_learning_rate="optimizer.learning_rate_scheduler.min_decay_lr",
    weight_decay="optimizer.weight_decay",
    beta1="optimizer.optimizer_factory.adam_beta1",
    beta2="optimizer.optimizer_factory.adam_beta2",
    clip_grad="optimizer.clip_grad",
)


#: What a Llama or a Qwen2 has without a word, and a Starcoder2.
_LLAMA: Values = {"ffn": 11008, "vocab": 32000, "norm_eps": 1e-6}
_STARCODER: Values = {"vocab": 49280}


def model(config: LaunchConfig) -> Values:
    found = counts(config, _COUNTS) | rates(config, _RATES)
    if _given(config, "is_starcoder2_config"):
        hidden = config.number("hidden")
        epsilon = rates(config, _yaml(norm_eps=f"{_MODEL}layer_norm_epsilon"))
        plain: Values = {"gated": False, "norm": "layernorm", "bias": True, "tied": True}
        ffn = known(ffn=4 * hidden if hidden else None)
        return _STARCODER | ffn | found | plain | epsilon
    if _given(config, "is_llama_config") or _given(config, "is_qwen2_config"):
        found = _LLAMA | found
    found |= {"tied": _given(config, "tie_word_embeddings")}
    return found | ({"qkv_bias": True} if _given(config, "attention_bias") else {})


def train(config: LaunchConfig) -> Values:
    return counts(config, _STEPS) | rates(config, _SPEEDS)


#: Keys that choose the model's class, or say what a Starcoder2 has by itself.
_CLASSES = ("is_llama_config", "is_qwen2_config", "is_starcoder2_config")
_STARCODERS = ("grouped_query", "tie_word_embeddings")


def says(config: LaunchConfig, setting: Setting) -> bool | None:
    """Whether a job says a key by the rest of its model; None where its values tell."""
    own = _STARCODERS if _given(config, "is_starcoder2_config") else ()
    names = tuple(f"{_MODEL}{name}" for name in (*_CLASSES, *own))
    return True if setting.name in names and setting.values == (True,) else None


def _given(config: LaunchConfig, key: str) -> bool:
    setting = config.setting("yaml", _MODEL + key)
    return setting is not None and setting.values[0] is True
