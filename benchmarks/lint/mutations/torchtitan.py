"""Wrong edits of the configuration that parc writes for torchtitan."""

from __future__ import annotations

import random
import re
import tomllib

from benchmarks.lint.mutations.mutation import Files, Mutated, Mutation, misspelt


def _toml(files: Files) -> str:
    return next(path for path in files if path.endswith(".toml"))


def _value(files: Files, section: str, key: str) -> object:
    return tomllib.loads(files[_toml(files)]).get(section, {}).get(key)


def _number(files: Files, section: str, key: str, default: int = 1) -> int:
    value = _value(files, section, key)
    return value if isinstance(value, int) else default


def _set(files: Files, key: str, value: object) -> Mutated:
    path = _toml(files)
    text, count = re.subn(
        rf"^{key} = [^#\n]*", f"{key} = {value} ", files[path], count=1, flags=re.MULTILINE
    )
    return ({**files, path: text}, f"{key} = {value}") if count else None


def key_misspelt(files: Files, chance: random.Random) -> Mutated:
    path = _toml(files)
    keys = list(re.finditer(r"^(\w+) =", files[path], re.MULTILINE))
    chosen = chance.choice(keys)
    wrong = misspelt(chosen[1], chance)
    text = files[path][: chosen.start(1)] + wrong + files[path][chosen.end(1) :]
    return {**files, path: text}, f"{chosen[1]} as {wrong}"


def section_misspelt(files: Files, chance: random.Random) -> Mutated:
    path = _toml(files)
    chosen = chance.choice(list(re.finditer(r"^\[(\w+)\]", files[path], re.MULTILINE)))
    wrong = misspelt(chosen[1], chance)
    text = files[path][: chosen.start(1)] + wrong + files[path][chosen.end(1) :]
    return {**files, path: text}, f"[{chosen[1]}] as [{wrong}]"


def degree_off(files: Files, chance: random.Random) -> Mutated:
    keys = ["tensor_parallel", "data_parallel_shard", "pipeline_parallel", "context_parallel",
            "data_parallel_replicate"]  # fmt: skip
    key = chance.choice(keys)
    degree = _number(files, "parallelism", f"{key}_degree")
    wrong = chance.choice([value for value in (3, 5, 6, 7, 2 * degree, 0) if value != degree])
    return _set(files, f"{key}_degree", wrong)


def number_as_word(files: Files, chance: random.Random) -> Mutated:
    key = chance.choice(
        ["seq_len", "local_batch_size", "tensor_parallel_degree", "steps", "global_batch_size"]
    )
    return _set(files, key, '"auto"')


def word_unknown(files: Files, chance: random.Random) -> Mutated:
    words = {"mode": "fulll", "pipeline_parallel_schedule": "1F1BB", "decay_type": "cosinus",
             "mixed_precision_param": "bf16", "fsdp_reshard_after_forward": "sometimes",
             "async_mode": "asynchronous"}  # fmt: skip
    key = chance.choice(sorted(words))
    return _set(files, key, f'"{words[key]}"')


def batch_off(files: Files, chance: random.Random) -> Mutated:
    total = _number(files, "training", "global_batch_size")
    local = _number(files, "training", "local_batch_size")
    dp = _number(files, "parallelism", "data_parallel_shard_degree") * _number(
        files, "parallelism", "data_parallel_replicate_degree"
    )
    bad = [total + add for add in (1, 3, 5) if (total + add) % (local * dp)]
    return _set(files, "global_batch_size", chance.choice(bad)) if bad else None


def sequence_off(files: Files, chance: random.Random) -> Mutated:
    length = _number(files, "training", "seq_len")
    return _set(files, "seq_len", length - chance.choice([1, 3]))


def micro_batch_off(files: Files, chance: random.Random) -> Mutated:
    local = _number(files, "training", "local_batch_size")
    bad = [size for size in (3, 5, 7, 11) if local % size]
    pipelined = _number(files, "parallelism", "pipeline_parallel_degree") > 1
    return (
        _set(files, "pipeline_parallel_microbatch_size", chance.choice(bad))
        if pipelined and bad
        else None
    )


def stages_off(files: Files, chance: random.Random) -> Mutated:
    pp = _number(files, "parallelism", "pipeline_parallel_degree")
    size = _number(files, "parallelism", "pipeline_parallel_layers_per_stage", 0)
    source = "\n".join(text for path, text in files.items() if path.endswith(".py"))
    layers = re.search(r"n_layers=(\d+)", source)
    if pp < 2 or not size or layers is None:
        return None
    less = sum(
        _number(files, "parallelism", f"pipeline_parallel_{end}_stage_less_layers")
        for end in ("first", "last")
    )
    units = int(layers[1]) + less
    bad = [each for each in range(1, units) if -(-units // each) % pp]
    return _set(files, "pipeline_parallel_layers_per_stage", chance.choice(bad)) if bad else None


def heads_off(files: Files, chance: random.Random) -> Mutated:
    tp = _number(files, "parallelism", "tensor_parallel_degree")
    path = next((path for path in files if path.endswith(".py")), None)
    if tp < 2 or path is None:
        return None
    text, count = re.subn(
        r"n_heads=(\d+)", lambda match: f"n_heads={int(match[1]) + 1}", files[path], count=1
    )
    return ({**files, path: text}, "one head more") if count else None


def no_document(files: Files, chance: random.Random) -> Mutated:
    path = _toml(files)
    broken = chance.choice([("= 1\n", "=\n"), ("[training]", "[training"), ('name = "', "name = ")])
    return ({**files, path: files[path].replace(*broken, 1)}, f"{broken[0].strip()} broken")


TORCHTITAN: tuple[Mutation, ...] = (
    key_misspelt, key_misspelt, key_misspelt, section_misspelt, degree_off, degree_off, degree_off,
    number_as_word, word_unknown, batch_off, sequence_off, micro_batch_off, stages_off, heads_off,
    no_document,
)  # fmt: skip
