"""Wrong edits of torchtitan's files and of batch scripts, as in `mutations.py`."""

from __future__ import annotations

import random
import re
import tomllib

from benchmarks.lint.mutations import Files, Mutated, Mutation, misspelt


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


# --- SLURM -------------------------------------------------------------------------------------------------


def _batch(files: Files) -> str:
    return next(path for path in files if path.endswith(".sbatch"))


def _directives(files: Files) -> list[re.Match[str]]:
    return list(
        re.finditer(r"^#SBATCH --([a-z-]+)(?:=(\S+))?\n", files[_batch(files)], re.MULTILINE)
    )


def _changed(files: Files, match: re.Match[str], line: str, what: str) -> Mutated:
    path = _batch(files)
    text = files[path]
    return {**files, path: text[: match.start()] + line + text[match.end() :]}, what


def directive_misspelt(files: Files, chance: random.Random) -> Mutated:
    chosen = chance.choice(_directives(files))
    wrong = misspelt(chosen[1], chance)
    return _changed(
        files, chosen, chosen[0].replace(chosen[1], wrong, 1), f"{chosen[1]} as {wrong}"
    )


def directive_late(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    chosen = chance.choice(_directives(files))
    text = files[path].replace(chosen[0], "", 1)
    place = text.index("set -euo pipefail\n") + len("set -euo pipefail\n")
    return {**files, path: text[:place] + chosen[0] + text[place:]}, f"late --{chosen[1]}"


def directive_commented(files: Files, chance: random.Random) -> Mutated:
    chosen = chance.choice(_directives(files))
    prefix = chance.choice(["# SBATCH", "#sbatch", "#Sbatch"])
    return _changed(
        files, chosen, chosen[0].replace("#SBATCH", prefix, 1), f"{prefix} --{chosen[1]}"
    )


def directive_expanded(files: Files, chance: random.Random) -> Mutated:
    chosen = chance.choice([match for match in _directives(files) if match[2]])
    return _changed(files, chosen, f"#SBATCH --{chosen[1]}=$VALUE\n", f"--{chosen[1]}=$VALUE")


def directive_prose(files: Files, chance: random.Random) -> Mutated:
    chosen = chance.choice([match for match in _directives(files) if match[2]])
    return _changed(
        files, chosen, chosen[0].rstrip() + " as planned\n", f"--{chosen[1]} with prose"
    )


def number_as_word(files: Files, chance: random.Random) -> Mutated:
    names = ("nodes", "ntasks-per-node", "gpus-per-node", "cpus-per-task")
    chosen = chance.choice([match for match in _directives(files) if match[1] in names])
    return _changed(files, chosen, f"#SBATCH --{chosen[1]}=all\n", f"--{chosen[1]}=all")


def tasks_many(files: Files, chance: random.Random) -> Mutated:
    chosen = next(match for match in _directives(files) if match[1] == "ntasks-per-node")
    count = chance.choice([2, 4, 8])
    return _changed(
        files, chosen, f"#SBATCH --ntasks-per-node={count}\n", f"{count} tasks per node"
    )


def tasks_few(files: Files, chance: random.Random) -> Mutated:
    nodes = next(match for match in _directives(files) if match[1] == "nodes")
    if int(nodes[2]) < 2:
        return None
    return _changed(files, nodes, f"{nodes[0]}#SBATCH --ntasks=1\n", "ntasks 1 for several nodes")


def gpus_twice(files: Files, chance: random.Random) -> Mutated:
    gpus = next(match for match in _directives(files) if match[1] == "gpus-per-node")
    return _changed(
        files, gpus, f"{gpus[0]}#SBATCH --gres=gpu:{chance.choice([1, 2, 4])}\n", "gres differs"
    )


def gpus_few(files: Files, chance: random.Random) -> Mutated:
    gpus = next(match for match in _directives(files) if match[1] == "gpus-per-node")
    count = chance.choice([1, 2, 4])
    return _changed(files, gpus, f"#SBATCH --gpus-per-node={count}\n", f"{count} GPUs per node")


def time_unreadable(files: Files, chance: random.Random) -> Mutated:
    times = [match for match in _directives(files) if match[1] == "time"]
    wrong = chance.choice(["2days", "48h", "1:2:3:4:5", "forever"])
    return (
        _changed(files, times[0], f"#SBATCH --time={wrong}\n", f"time {wrong}") if times else None
    )


def no_trap(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    text, count = re.subn(r"^trap .*\n", "", files[path], count=1, flags=re.MULTILINE)
    return ({**files, path: text}, "no trap") if count else None


def no_background(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    if "trap " not in files[path]:
        return None
    text, count = re.subn(r'"\$@" &$', '"$@"', files[path], count=1, flags=re.MULTILINE)
    return ({**files, path: text}, "srun in the foreground") if count else None


def early_rank(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    old = 'bash -c \'NODE_RANK="$SLURM_NODEID" exec'
    if old not in files[path]:
        return None
    return {**files, path: files[path].replace(old, "bash -c 'exec", 1).replace(
        "srun --export=ALL", 'srun --export="ALL,NODE_RANK=$SLURM_NODEID"', 1)}, "early rank"  # fmt: skip


def crlf(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    return {**files, path: files[path].replace("\n", "\r\n")}, "CR LF"


def no_shebang(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    return {**files, path: files[path].partition("\n")[2]}, "no #!"


def export_none(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    text = files[path].replace("srun --export=ALL ", "srun ", 1)
    nodes = re.search(r"^#SBATCH --nodes.*\n", text, re.MULTILINE)
    if nodes is None:
        return None
    return {
        **files,
        path: text[: nodes.end()] + "#SBATCH --export=NONE\n" + text[nodes.end() :],
    }, "export none"


def step_wide(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    nodes = next(match for match in _directives(files) if match[1] == "nodes")
    wide = int(nodes[2]) * 2
    text = files[path].replace("srun --export=ALL", f"srun --nodes={wide} --export=ALL", 1)
    return {**files, path: text}, f"srun on {wide} nodes"


def no_srun(files: Files, chance: random.Random) -> Mutated:
    path = _batch(files)
    nodes = next(match for match in _directives(files) if match[1] == "nodes")
    pattern = re.compile(r"^srun (?:.*\\\n)+ *(bash -c)", re.MULTILINE)
    text = pattern.sub(r"\1", files[path], count=1)
    return ({**files, path: text}, "without srun") if int(nodes[2]) > 1 else None


SLURM: tuple[Mutation, ...] = (
    directive_misspelt, directive_misspelt, directive_late, directive_commented, directive_expanded,
    directive_prose, number_as_word, tasks_many, tasks_few, gpus_twice, gpus_few, time_unreadable, no_trap,
    no_background, early_rank, crlf, no_shebang, export_none, step_wide, no_srun,
)  # fmt: skip
