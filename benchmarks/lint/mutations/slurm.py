"""Wrong edits of the batch scripts that parc writes for SLURM."""

from __future__ import annotations

import random
import re

from benchmarks.lint.mutations.mutation import Files, Mutated, Mutation, misspelt


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
