"""Cost of the hardest searches: whole `parc plan` processes, their processor seconds and most memory.

    python benchmarks/hostile_solves.py [WORD...] [--each-field]

Runs the jobs with a WORD in their names, by default all. `--each-field` runs instead a job for each numeric
field of `model`, `train` and `cluster`, at the upper bound of its type, of the first of BASES that takes it
there; a field that goes with none is a complaint of all of them. Processor seconds are user and system time
together, so that a busy machine does not count. Exits 1 where a job takes more than MOST_SECONDS or
MOST_BYTES, or ends otherwise than with a plan or a diagnostic.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from argparse import ArgumentParser
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from parc.dsl.schema import CLASSES, SettingType, setting_types

#: What one search may take, of a processor and of memory.
MOST_SECONDS, MOST_BYTES = 10.0, 10**9
#: Runs `parc plan`, and prints what it took as the last line of its errors. Not ru_maxrss, which is at least
#: that of the process that started this one.
CHILD = """
import json, resource, sys
resource.setrlimit(resource.RLIMIT_CPU, ({limit}, {limit}))
from parc.__main__ import main
code = main(["plan", *sys.argv[1:]])
used = resource.getrusage(resource.RUSAGE_SELF)
kib = int(open("/proc/self/status").read().split("VmHWM:")[1].split()[0])
print("\\n" + json.dumps([code, used.ru_utime + used.ru_stime, kib]), file=sys.stderr)
"""
#: Processor seconds after which a run is ended.
LIMIT = 60
#: Values of a `settings` block by name, as the language spells them.
Settings = Mapping[str, object]


@dataclass(frozen=True)
class Cost:
    """Cost of one process of `parc plan`: exit code, processor seconds, most resident bytes, its output."""

    code: int
    cpu_seconds: float
    memory_bytes: int
    output: str

    def bounded(self, codes: Sequence[int]) -> bool:
        within = self.cpu_seconds <= MOST_SECONDS and self.memory_bytes <= MOST_BYTES
        return self.code in codes and within


@dataclass(frozen=True)
class Solve:
    """A job: a model and a cluster of the standard library, and what is set otherwise."""

    model: Settings = field(default_factory=dict)
    cluster: Settings = field(default_factory=dict)
    train: Settings = field(default_factory=dict)
    goal: str = "maximize mfu"
    targets: tuple[str, ...] = ("megatron",)
    base: str = "llama3_405b"

    def __str__(self) -> str:
        usual = {"seq_len": 8192, "global_batch": 2048, "tokens": "1T"}
        blocks = {
            f"model it from std.{self.base}": self.model,
            "cluster any from std.h100_pod": {"nodes": 2048, **self.cluster},
            "train": {**usual, **self.train},
        }
        lines = [f"{head} {{ {_said(values)} }}" for head, values in blocks.items()]
        lines += [f"goal {{ {self.goal} }}", *(f"target {name} {{}}" for name in self.targets)]
        return "\n".join(lines) + "\n"

    def having(self, block: str, values: Settings) -> Solve:
        """A copy of the job with other settings of `model`, `cluster` or `train`."""
        blocks = {"model": self.model, "cluster": self.cluster, "train": self.train, block: values}
        model, cluster, train = (blocks[name] for name in ("model", "cluster", "train"))
        return replace(self, model=model, cluster=cluster, train=train)


def _said(values: Settings) -> str:
    return "; ".join(f"{name} = {value}" for name, value in values.items())


#: Models that a field at its bound may go with: dense, of experts, of latent attention, with rope_scaling.
BASES = ("llama3_405b", "mixtral_8x7b", "deepseek_v3", "gpt_oss_120b")
#: Exit codes that show that a job was read, and that it was understood and refused before any search.
SEARCHED, REFUSED = (0, 1), 2
ALL = ("megatron", "deepspeed", "torchtitan")
ANY = {"nodes": "1..4096"}

#: A model with every field that makes it larger at, or by what must divide or not exceed another near, its
#: bound.
LARGEST_MODEL: Settings = {
    "layers": 10_000,
    "hidden": 10**6,
    "heads": 10**5,
    "kv_heads": 10**5,
    "head_dim": 10**7,
    "ffn": 10**7,
    "vocab": 10**7,
    "experts": 10**7,
    "topk": 10**7,
    "expert_ffn": 10**7,
    "shared_experts": 10**7,
    "mtp_layers": 10**7,
}
LARGEST_TRAIN: Settings = {"seq_len": 10**8, "global_batch": 10**8, "tokens": 10**17}
SOLVES: Mapping[str, Solve] = {
    "405b nodes 1..4096": Solve(cluster=ANY),
    "405b a million nodes": Solve(cluster={"nodes": 10**6}, train={"global_batch": 8 * 10**6}),
    "405b 131072 gpus three targets": Solve(
        cluster={"nodes": 16384}, train={"global_batch": 16384}, targets=ALL
    ),
    "layers 10000": Solve(model={"layers": 10_000}, cluster={"nodes": 16384}),
    "layers 10000 nodes 1..4096": Solve(model={"layers": 10_000}, cluster=ANY),
    "batch 720720 nodes 1..4096": Solve(cluster=ANY, train={"global_batch": 720_720}),
    "batch 36756720 nodes 1..4096": Solve(cluster=ANY, train={"global_batch": 36_756_720}),
    "layers 5040 nodes 1..4096": Solve(model={"layers": 5040}, cluster=ANY),
    "memory out of reach nodes 1..4096": Solve(
        cluster=ANY, goal="maximize mfu; require memory <= 2 GiB", targets=ALL
    ),
    "batch 73513440 nodes 1..4096": Solve(cluster=ANY, train={"global_batch": 73_513_440}),
    "mfu above 90 % nodes 1..4096": Solve(cluster=ANY, goal="maximize mfu; require mfu >= 90%"),
    "two clashing goals nodes 1..4096": Solve(
        cluster=ANY, goal="maximize mfu; require step_time <= 2 s; require gpus <= 512"
    ),
    "deepseek-v3 nodes 1..4096 three targets": Solve(
        cluster=ANY,
        train={"seq_len": 4096, "global_batch": 15_360},
        targets=ALL,
        base="deepseek_v3",
    ),
    "model at its bounds": Solve(model=LARGEST_MODEL, targets=ALL),
    "model at its bounds nodes 1..4096": Solve(model=LARGEST_MODEL, cluster=ANY, targets=ALL),
    "train at its bounds": Solve(train=LARGEST_TRAIN, targets=ALL),
    "cluster at its bounds": Solve(
        cluster={"nodes": "995905..1000000", "gpus_per_node": 1024}, targets=ALL
    ),
    "all at their bounds": Solve(
        LARGEST_MODEL,
        {"nodes": "995905..1000000", "gpus_per_node": 1024},
        LARGEST_TRAIN,
        targets=ALL,
    ),
}


def each_field() -> dict[str, Solve]:
    """A job for each numeric field of `model`, `train` and `cluster`, at the upper bound of its type."""
    return {
        f"{block}.{name}": Solve(targets=ALL).having(block, {name: bound})
        for block in ("model", "train", "cluster")
        for name, setting in setting_types(CLASSES[block]).items()
        if (bound := _upper_bound(setting)) is not None
    }


def _upper_bound(setting: SettingType) -> str | None:
    """The largest value of a setting as the language writes it; None where its type has none."""
    largest = dict(setting.limits).get("le")
    if largest is None:
        return None
    number = f"{largest:g}" if isinstance(largest, float) else str(largest)
    unit = str(setting.dimension.without_counts())
    return number if unit == "1" else f"{number} {unit}".replace(" /", "/")


def cost(job: str) -> Cost:
    """Runs `parc plan` on the text of a job."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "job.par"
        path.write_text(job)
        command = [sys.executable, "-c", CHILD.format(limit=LIMIT), str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        return Cost(done.returncode, LIMIT, 0, done.stderr)
    *said, last = done.stderr.splitlines()
    code, seconds, kib = json.loads(last)
    return Cost(code, seconds, kib * 1024, done.stdout + "\n".join(said))


def cost_of_any(solve: Solve) -> Cost:
    """Cost of the job on the first of BASES that takes its settings, or on the last one."""
    for base in BASES:
        found = cost(str(replace(solve, base=base)))
        if found.code != REFUSED:
            break
    return found


def row(name: str, found: Cost, bounded: bool) -> str:
    verdict = "PASS" if bounded else "FAIL"
    memory = found.memory_bytes / 1e6
    return f"  {verdict}  {name:42}{found.code:3}{found.cpu_seconds:8.1f} s{memory:7.0f} MB"


def main() -> int:
    parser = ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("word", nargs="*", metavar="WORD", help="of a job's name; by default all")
    parser.add_argument("--each-field", action="store_true", help="each field at its upper bound")
    parser.add_argument("--say", action="store_true", help="what parc says of each job, too")
    chosen = parser.parse_args()
    jobs = each_field() if chosen.each_field else SOLVES
    codes = (*SEARCHED, REFUSED) if chosen.each_field else SEARCHED
    all_bounded = True
    for name, solve in jobs.items():
        if all(word in name for word in chosen.word):
            found = cost_of_any(solve) if chosen.each_field else cost(str(solve))
            bounded = found.bounded(codes)
            all_bounded &= bounded
            print(row(name, found, bounded), flush=True)
            if chosen.say:
                print(found.output)
    return 0 if all_bounded else 1


if __name__ == "__main__":
    sys.exit(main())
