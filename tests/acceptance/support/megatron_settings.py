"""Dice for what a job may say to Megatron-LM: schedules, ramps, checkpoints, data, profiles, variables."""

from collections.abc import Mapping
from random import Random
from typing import Any

Settings = dict[str, Any]

#: Where data lie: blanks, quotes, variables and letters of other alphabets are all parts of paths.
PREFIXES = (
    '"/data/c4_text_document"',
    '"/data/web text/part 1"',
    '"/data/it\'s/größe"',
    '"$HOME/corpus"',
    '"/data/100%/a(1)"',
)
PROFILES = ("profile_start = 5", "profile_start = 2; profile_stop = 9")
WATCHED = (
    "log_interval = 1",
    "eval_iters = 0",
    'tensorboard = "/runs/tb"',
    'wandb = "llm"',
    *PROFILES,
)
TOKENIZERS = (
    'tokenizer = "meta-llama/Meta-Llama-3-8B"',
    'tokenizer = "/models/sp.model"; tokenizer_type = "SentencePieceTokenizer"',
)
VARIABLES = (
    '"NCCL_DEBUG" = "WARN"', '"NCCL_IB_TIMEOUT" = 22', '"NVTE_FWD_LAYERNORM_SM_MARGIN" = 8',
    '"NCCL_ALGO" = "^NVLS,Ring"', '"PYTORCH_ALLOC_CONF" = "max_split_size_mb:512"',
    '"NCCL_NVLS_ENABLE" = true', '"NOTE" = "it\'s $(not) `code`"',
)  # fmt: skip


def training(dice: Random, train: Mapping[str, Any]) -> Settings:
    """What is added to the `train` block of a job: 1,000 steps, or 15T tokens."""
    found: Settings = {}
    if dice.random() < 0.3:
        found |= {"schedule": "wsd"}
        found |= dice.choice(({}, {"decay_steps": 50}, {"decay_steps": 100, "warmup": 3}))
        found |= dice.choice(({}, {"decay_style": dice.choice(_DECAYS)}))
    batch = train["global_batch"]
    if dice.random() < 0.3 and batch % 4 == 0:
        parts = dice.choice([parts for parts in (2, 4, 8, 16) if batch % parts == 0])
        least = (parts - 1) * train["seq_len"]
        tokens = dice.choice((least, 20 * least, 100 * batch * train["seq_len"]))
        found |= {"ramp_from": batch // parts, "ramp_tokens": tokens}
    if dice.random() < 0.3:
        found |= {"async_checkpoints": True}
    if dice.random() < 0.3:
        found |= {"keep_checkpoints": 1}
    if dice.random() < 0.3:
        found |= {"collective_timeout": dice.choice(("90 s", "30 min", "2 h"))}
    return found


_DECAYS = ("linear", "cosine", "sqrt", "exponential")


def options(dice: Random) -> list[str]:
    """Settings of the target block."""
    found = [dice.choice(("data = synthetic", *_sources(dice)))]
    if found[0].startswith("sft"):
        found.append(TOKENIZERS[0])
    elif dice.random() < 0.3:
        found.append(dice.choice(TOKENIZERS))
    for other in ("save = false", 'checkpoints = "ckpt/a b"', 'data_cache = "/cache"'):
        if dice.random() < 0.15:
            found.append(other)
    return [*found, *_stack(dice), *_watched(dice)]


#: Kernels and traffic; fp16 has no 16-bit sums in bf16.
STACK = ("grad_dtype = bf16", "tp_overlap = {}", "dp_overlap = false")


def _stack(dice: Random) -> list[str]:
    chosen = [each for each in STACK if dice.random() < 0.15]
    return [each.format(dice.choice(("true", "false"))) for each in chosen]


#: Kernels of FlashAttention by the GPU of a job: version 3 is Hopper's.
FLASH = {
    "a100_80": ("fa2",),
    "h100_sxm": ("fa2", "fa3"),
    "h200": ("fa2", "fa3"),
    "b200": ("fa2",),
    "gb200": ("fa2",),
    "mi300x": ("fa2",),
}


#: Optimizers and precisions that take moments in bf16.
SHORT = [("adam", each) for each in ("bf16", "fp8", "mxfp8", "nvfp4")]
#: Dispatchers beside NCCL's by the GPU of a job: DeepEP knows domains of eight.
FLEX = {
    **dict.fromkeys(("a100_80", "h100_sxm", "h200", "b200"), ("deepep", "hybridep")),
    "gb200": ("hybridep",),
}


def kernels(dice: Random, gpu: str, model: Settings, train: Settings, said: list[str]) -> list[str]:
    """Kernels of attention, loss and fp8, and CUDA graphs, for jobs that can have them."""
    found = ["loss_kernel = eager"] if dice.random() < 0.15 else []
    plain = not model.keys() & {"kv_lora_rank", "attention_sinks"}
    if plain and train.get("attention") != "unfused" and dice.random() < 0.25:
        kernel = dice.choice(FLASH[gpu])
        found.append(f"attention_kernel = {'fa2' if train['dropout'] else kernel}")
    if train["precision"] == "fp8" and dice.random() < 0.5:
        recipes = ("tensorwise",) if gpu == "mi300x" else ("tensorwise", "blockwise")
        found.append(f"fp8_recipe = {dice.choice(recipes)}")
    if (train.get("optimizer", "adam"), train["precision"]) in SHORT and dice.random() < 0.2:
        found.append("moment_dtype = bf16")
    if "experts" in model and dice.random() < 0.4:
        found += [f"dispatcher = {each}" for each in (dice.choice(FLEX.get(gpu, ("",))),) if each]
    if "experts" in model and model.get("mtp_layers", 0) < 2 and dice.random() < 0.3:
        found.append("ep_overlap = true")
    grows = "ramp_from" in train or any("sft" in each for each in said)
    if "experts" not in model and not grows and dice.random() < 0.25:
        found.append("cuda_graph = true")
    return found


def _watched(dice: Random) -> list[str]:
    chosen = dice.sample(WATCHED, dice.choice((0, 1, 2)))
    return [each for each in chosen if each not in PROFILES or each == _first_profile(chosen)]


def _first_profile(chosen: list[str]) -> str:
    return next(each for each in chosen if each in PROFILES)


def _sources(dice: Random) -> list[str]:
    one, two, three = dice.sample(PREFIXES, 3)
    blend = f"{{ {one} = 0.7; {two} = 0.25 }}"
    return [
        f"data = {one}",
        f"data = [{one}, {two}]",
        f'data = {blend}; split = "98,1,1"',
        f"train_data = {one}",
        f"train_data = {blend}; valid_data = {three}",
        f"train_data = {one}; valid_data = [{two}, {three}]; test_data = {three}",
        f"sft = true; data = {one}",
        f'sft = true; prompt_format = "identity"; train_data = {one}; valid_data = {two}',
        'extra = { "data_args_path" = "/data/list.txt" }',
        'extra = { "per-split-data-args-path" = "/data/splits.json"; "manual-gc" = true }',
        'extra = { "mock-data" = true }',
    ]


def variables(dice: Random) -> str:
    """A table for `launch`: some variables."""
    return f"{{ {'; '.join(dice.sample(VARIABLES, dice.choice((1, 2, 3))))} }}"
