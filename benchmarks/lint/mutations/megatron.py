"""Wrong edits of the script that parc writes for Megatron-LM."""

from __future__ import annotations

import random
import re

from benchmarks.lint.mutations.mutation import Files, Mutated, Mutation, misspelt, pick

_FLAG = re.compile(r"^( +)(--[a-z0-9-]+)(?: +(\"[^\"]*\"|[^\s#]+))?(.*)$", re.MULTILINE)


def _replaced(files: Files, path: str, old: str, new: str, what: str) -> Mutated:
    text = files[path]
    return ({**files, path: text.replace(old, new, 1)}, what) if old in text else None


def _script(files: Files) -> str:
    return pick(files, "pretrain.sh")


def _number(files: Files, option: str) -> int | None:
    match = re.search(rf"^ +{option} +(\d+)", files[_script(files)], re.MULTILINE)
    return int(match[1]) if match else None


def _has(files: Files, option: str) -> bool:
    return re.search(rf"^ +{option}\b(?!-)", files[_script(files)], re.MULTILINE) is not None


def _set(files: Files, option: str, value: object) -> Mutated:
    path = _script(files)
    text, count = re.subn(
        rf"^( +{option}) +\S+", rf"\g<1> {value}", files[path], count=1, flags=re.MULTILINE
    )
    return ({**files, path: text}, f"{option} {value}") if count else None


def _drop(files: Files, option: str) -> Mutated:
    path = _script(files)
    pattern = rf"^ +{option}\b(?!-).*\n"
    text, count = re.subn(pattern, "", files[path], count=1, flags=re.MULTILINE)
    return ({**files, path: text}, f"without {option}") if count else None


def _add(files: Files, option: str) -> Mutated:
    return _replaced(
        files, _script(files), "MODEL=(\n", f"MODEL=(\n    {option}\n", f"with {option}"
    )


def option_misspelt(files: Files, chance: random.Random) -> Mutated:
    path = _script(files)
    options = [match for match in _FLAG.finditer(files[path]) if not match[2].startswith("--n-")]
    body = files[path].index("MODEL=(")
    chosen = chance.choice(
        [match for match in options if match.start() > body and _own(match, files)]
    )
    wrong = "--" + misspelt(chosen[2][2:], chance)
    if wrong in {match[2] for match in options}:
        return None
    start, end = chosen.start(2), chosen.end(2)
    return {
        **files,
        path: files[path][:start] + wrong + files[path][end:],
    }, f"{chosen[2]} as {wrong}"


def _own(match: re.Match[str], files: Files) -> bool:
    """Whether an option is the training program's, and not torchrun's."""
    return match.start() < files[_script(files)].index("exec torchrun")


def number_as_word(files: Files, chance: random.Random) -> Mutated:
    options = ["--num-layers", "--hidden-size", "--micro-batch-size", "--global-batch-size", "--lr",
               "--train-iters", "--seq-length", "--adam-beta2", "--save-interval", "--clip-grad"]  # fmt: skip
    option = chance.choice(options)
    return _set(files, option, chance.choice(["auto", "1O24", "12k", "none", "1,024"]))


def value_missing(files: Files, chance: random.Random) -> Mutated:
    option = chance.choice(["--num-layers", "--hidden-size", "--micro-batch-size", "--seq-length"])
    path = _script(files)
    text, count = re.subn(
        rf"^( +{option}) +\S+", r"\g<1>", files[path], count=1, flags=re.MULTILINE
    )
    return ({**files, path: text}, f"{option} without a value") if count else None


def needed_missing(files: Files, chance: random.Random) -> Mutated:
    needed = ["--num-layers", "--hidden-size", "--num-attention-heads", "--micro-batch-size",
              "--seq-length", "--max-position-embeddings"]  # fmt: skip
    return _drop(files, chance.choice(needed))


def companion_missing(files: Files, chance: random.Random) -> Mutated:
    pairs = [("--overlap-param-gather", "--overlap-grad-reduce"), ("--save", "--save-interval"),
             ("--use-megatron-fsdp", "--ckpt-format"), ("--recompute-granularity full", "--recompute-method"),
             ("--recompute-granularity full", "--recompute-num-layers")]  # fmt: skip
    option, companion = chance.choice(pairs)
    return _drop(files, companion) if _has(files, option) else None


def contradiction(files: Files, chance: random.Random) -> Mutated:
    added = chance.choice(["--fp16", "--train-samples 1000000", "--lr-warmup-samples 1000",
                           "--lr-decay-samples 9000", "--mock-data", "--recompute-method uniform",
                           "--use-torch-fsdp2", "--fp4-format e2m1"])  # fmt: skip
    refused = {
        "--mock-data": _has(files, "--data-path"),
        "--recompute-method uniform": _has(files, "--recompute-granularity selective"),
        "--use-torch-fsdp2": _has(files, "--use-distributed-optimizer"),
        "--fp4-format e2m1": _has(files, "--fp8-format"),
        "--fp16": _has(files, "--bf16"),
    }
    return _add(files, added) if refused.get(added, True) else None


def word_unknown(files: Files, chance: random.Random) -> Mutated:
    words = {"--optimizer": "adamw", "--attention-backend": "flashy", "--cp-comm-type": "p3p",
             "--normalization": "RMSNorms", "--position-embedding-type": "ropes",
             "--lr-decay-style": "cosinus", "--recompute-granularity": "partial",
             "--moe-token-dispatcher-type": "alltoall_seq", "--moe-router-load-balancing-type": "aux",
             "--ckpt-format": "torchdist", "--fp8-format": "e5m2"}  # fmt: skip
    option = chance.choice(sorted(words))
    return _set(files, option, words[option])


def removed_option(files: Files, chance: random.Random) -> Mutated:
    names = ["--use-custom-fsdp", "--moe-extended-tp", "--standalone-embedding-stage",
             "--model-parallel-size 2", "--checkpoint-activations", "--batch-size 4",
             "--layernorm-epsilon 1e-5"]  # fmt: skip
    return _add(files, chance.choice(names))


def uneven_tp(files: Files, chance: random.Random) -> Mutated:
    heads, world = _number(files, "--num-attention-heads"), _world(files)
    bad = [tp for tp in (3, 5, 6, 7) if (heads or 1) % tp or world % tp]
    return _set(files, "--tensor-model-parallel-size", chance.choice(bad)) if bad else None


def _world(files: Files) -> int:
    text = files[_script(files)]
    match = re.search(r"NNODES \* GPUS_PER_NODE != (\d+)", text)
    return int(match[1]) if match else 8


def _degree(files: Files, name: str) -> int:
    return (
        _number(files, f"--{name}-parallel-size")
        or _number(files, f"--{name}-model-parallel-size")
        or 1
    )


def uneven_pp(files: Files, chance: random.Random) -> Mutated:
    group = _degree(files, "tensor") * _degree(files, "context")
    bad = [pp for pp in (3, 5, 7, 11, 13) if _world(files) % (group * pp)]
    return _set(files, "--pipeline-model-parallel-size", chance.choice(bad)) if bad else None


def uneven_cp(files: Files, chance: random.Random) -> Mutated:
    return _set(files, "--context-parallel-size", chance.choice([3, 5, 7]))


def uneven_heads(files: Files, chance: random.Random) -> Mutated:
    heads = _number(files, "--num-attention-heads") or 0
    hidden, own = _number(files, "--hidden-size") or 1, _has(files, "--kv-channels")
    bad = [
        heads + step
        for step in (1, 2, 3, 5)
        if (hidden % (heads + step) and not own) or (heads + step) % _degree(files, "tensor")
    ]
    if _has(files, "--multi-latent-attention"):
        bad = [each for each in bad if each % _degree(files, "tensor")]
    return _set(files, "--num-attention-heads", chance.choice(bad)) if bad else None


def uneven_groups(files: Files, chance: random.Random) -> Mutated:
    heads = _number(files, "--num-attention-heads") or 0
    bad = [groups for groups in (3, 5, 6, 7, 9) if heads % groups]
    return _set(files, "--num-query-groups", chance.choice(bad)) if bad else None


def uneven_batch(files: Files, chance: random.Random) -> Mutated:
    group = _degree(files, "tensor") * _degree(files, "pipeline") * _degree(files, "context")
    step = (_number(files, "--micro-batch-size") or 1) * (_world(files) // group)
    batch = _number(files, "--global-batch-size") or 0
    bad = [batch + add for add in (1, 2, 3, 7) if (batch + add) % step]
    return _set(files, "--global-batch-size", chance.choice(bad)) if bad else None


def uneven_micro_batch(files: Files, chance: random.Random) -> Mutated:
    batch = _number(files, "--global-batch-size") or 0
    bad = [size for size in (3, 5, 7, 11) if batch % size]
    return _set(files, "--micro-batch-size", chance.choice(bad)) if bad else None


def uneven_layers(files: Files, chance: random.Random) -> Mutated:
    layers, pp = _number(files, "--num-layers") or 0, _degree(files, "pipeline")
    spread = _has(files, "--pipeline-model-parallel-layout")
    if _has(files, "--decoder-first-pipeline-num-layers") or _has(
        files, "--decoder-last-pipeline-num-layers"
    ):
        return None
    bad = [layers + step for step in (1, -1, 3) if spread or (layers + step) % pp]
    return _set(files, "--num-layers", chance.choice(bad)) if bad else None


def uneven_sequence(files: Files, chance: random.Random) -> Mutated:
    tp, cp = _degree(files, "tensor"), _degree(files, "context")
    if tp * cp == 1:
        return None
    length = _number(files, "--seq-length") or 0
    return _set(files, "--seq-length", length - chance.choice([1, 3, 5]))


def short_positions(files: Files, chance: random.Random) -> Mutated:
    length = _number(files, "--seq-length") or 0
    return _set(files, "--max-position-embeddings", length // chance.choice([2, 4]))


def layout_cut(files: Files, chance: random.Random) -> Mutated:
    path = _script(files)
    match = re.search(r'--pipeline-model-parallel-layout "([^"]+)"', files[path])
    if match is None:
        return None
    broken = chance.choice(
        [match[1].replace("E", "", 1), match[1][:-1], match[1].replace("t", "tt", 1)]
    )
    return _replaced(files, path, match[1], broken, f"layout {broken[:40]}")


def experts_uneven(files: Files, chance: random.Random) -> Mutated:
    if not _has(files, "--num-experts"):
        return None
    ep = _number(files, "--expert-model-parallel-size") or 1
    bad = [count for count in (9, 63, 255) if count % ep]
    return _set(files, "--num-experts", chance.choice(bad)) if bad else None


def rates_swapped(files: Files, chance: random.Random) -> Mutated:
    return _set(files, "--min-lr", "0.01")


def size_of_nothing(files: Files, chance: random.Random) -> Mutated:
    sizes = [
        "--micro-batch-size",
        "--num-layers",
        "--global-batch-size",
        "--seq-length",
        "--hidden-size",
    ]
    return _set(files, chance.choice(sizes), chance.choice([0, -1]))


def training_missing(files: Files, chance: random.Random) -> Mutated:
    return _drop(files, chance.choice(["--train-iters", "--lr", "--tokenizer-type"]))


def many_experts(files: Files, chance: random.Random) -> Mutated:
    return _set(files, "--moe-router-topk", 512)


def launcher_misspelt(files: Files, chance: random.Random) -> Mutated:
    option = chance.choice(["--nnodes", "--nproc-per-node", "--master-addr", "--node-rank"])
    wrong = "--" + misspelt(option[2:], chance)
    if option.startswith(wrong):
        return None
    return _replaced(
        files, _script(files), f"    {option} ", f"    {wrong} ", f"{option} as {wrong}"
    )


MEGATRON: tuple[Mutation, ...] = (
    option_misspelt, option_misspelt, option_misspelt, number_as_word, value_missing, needed_missing,
    companion_missing, contradiction, word_unknown, uneven_tp, uneven_pp, uneven_cp, uneven_heads,
    uneven_groups, uneven_batch, uneven_micro_batch, uneven_layers, uneven_sequence, short_positions,
    layout_cut, experts_uneven, rates_swapped, removed_option,
    size_of_nothing, training_missing, many_experts, launcher_misspelt,
)  # fmt: skip
