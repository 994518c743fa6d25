"""Documents drawn from grammars of YAML, TOML and JSON, which a reader of parc takes for its own.

Anchors are aliased again and again, also from within, merged and repeated; tables and lists are deep, wide
or empty, numbers long, keys written twice; one in six documents is cut, or has a part of itself elsewhere.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random

SCALARS = (
    "1", "0", "-1", "8", "64", "4096", "1.5", "1e999", ".nan", "-.inf", "true", "false", "null", "~", "auto",
    "''", '""', '"a\\nb"', "'it''s'", "a b", "${N:8}", "$(X)", "bf16", "9" * 30, "9" * 101, "9" * 5_000,
    "0x10", "2026-11-26", "é日本", "full",
)  # fmt: skip
#: Scalars that end a document, or most of them.
ODD = ("- a", "a: b", "[", "|", ">", "!!python/object:os.system x", "&", "*none", "\t", "'")
KEYS = (
    "a", "b", "training", "model", "zero_optimization", "stage", "fp16", "bf16", "enabled", "optimizer",
    "params",
    "tensor_model_parallel_size", "num_layers", "trainer", "devices", "num_nodes", "spec", "template",
    "containers", "env", "command", "args", "name", "value", "resources", "limits", "nvidia.com/gpu",
    "replicas",
    "tasks", "deepspeed_config", "num_machines", "rope_scaling", "layer_types", "hidden_size", "n_layers",
)  # fmt: skip
WORDS = (
    "torchrun",
    "--nproc-per-node",
    "8",
    "pretrain_gpt.py",
    "--num-layers",
    "2",
    "sh",
    "-c",
    "$(N)",
)
#: What a reader knows its files by, at the top of a document.
HEADS: dict[str, tuple[str, ...]] = {
    "config.yaml": (
        "distributed_type: DEEPSPEED\nnum_processes: 8\n",
        "tensor_model_parallel_size: 4\nnum_layers: 32\n",
        "parallelism:\n  tp: 2\ntokens:\n  sequence_length: 8\n",
        "device_train_microbatch_size: 4\nmax_seq_len: 8\n",
        "pipe_parallel_size: 2\n",
        "",
    ),
    "train.yaml": ("model_name_or_path: a/b\nper_device_train_batch_size: 2\n",),
    "job.yaml": tuple(
        f"apiVersion: {version}\nkind: {kind}\nx: nvidia.com/gpu\n"
        for version, kind in (
            ("v1", "Pod"),
            ("batch/v1", "Job"),
            ("batch.volcano.sh/v1alpha1", "Job"),
            ("jobset.x-k8s.io/v1alpha2", "JobSet"),
            ("kubeflow.org/v1", "PyTorchJob"),
            ("kubeflow.org/v1", "MPIJob"),
        )
    ),
    "train.toml": ("[model]\nname = 'llama3'\n[training]\nsteps = 5\n", "[parallelism]\n", ""),
    "ds_config.json": ('"train_micro_batch_size_per_gpu": 2', '"zero_optimization": {"stage": 2}'),
    "config.json": ('"model_type": "llama"', '"model_type": "qwen3_moe"', '"model_type": "x"'),
}
KINDS = tuple(HEADS)


@dataclass
class Grammar:
    dice: Random
    anchors: list[str] = field(default_factory=list)
    #: Nodes that are still written, so that a text stays below a few kilobytes.
    left: int = 60

    def document(self, kind: str) -> str:
        """A text of a kind of file."""
        write = {"yaml": self._yaml, "toml": self._toml, "json": self._json}[kind.split(".")[-1]]
        text = write(self.dice.choice(HEADS[kind]))
        if not self.dice.randrange(6):
            start = self.dice.randrange(len(text) + 1)
            stop = min(len(text), start + self.dice.randrange(60))
            text = text[:start] + self.dice.choice(["", text[stop : stop + 50]]) + text[stop:]
        return text

    def _yaml(self, head: str) -> str:
        lines = [head]
        if not self.dice.randrange(3):
            lines += self._ladder()
        for _ in range(self.dice.randint(0, 8)):
            lines.append(f"{self._key()}: {self._node(0)}\n")
        if not self.dice.randrange(5):
            lines += ["---\n", self.dice.choice(lines), f"{self._key()}: {self._node(0)}\n"]
        if "apiVersion" in head:
            lines.append(f"spec: {self._pods()}\n")
        return "".join(lines)

    def _ladder(self) -> list[str]:
        """Steps of which each holds the last one many times: as items, under keys, under one key, merged."""
        steps, times = self.dice.randint(2, 40), self.dice.choice((1, 2, 3, 10))
        forms: tuple[Callable[[str], str], ...] = (
            lambda each: f"[{', '.join([each] * times)}]",
            lambda each: f"{{{', '.join(f'k{n}: {each}' for n in range(times))}}}",
            lambda each: f"{{{', '.join([f'k: {each}'] * times)}}}",
            lambda each: f"{{<<: {each}, k: {each}}}",
            lambda each: f"{{<<: [{', '.join([each] * times)}]}}",
            lambda each: f"{{? {each} : {each}}}",
        )
        form = self.dice.choice(forms)
        found = [f"s0: &s0 {self.dice.choice(('[]', '{}', '{k: 1}', 'x', '[x]'))}\n"]
        found += [f"s{n + 1}: &s{n + 1} {form(f'*s{n}')}\n" for n in range(steps)]
        self.anchors += [f"s{n}" for n in range(steps)]
        return found

    def _node(self, depth: int) -> str:
        """A node in flow style, perhaps with an anchor, which may be aliased within."""
        self.left -= 1
        draw = self.dice.randrange(10)
        if draw < 2 and self.anchors:
            return f"*{self.dice.choice(self.anchors)} "
        mark = ""
        if draw == 2:
            self.anchors.append(f"n{len(self.anchors)}")
            mark = f"&{self.anchors[-1]} "
        if draw > 6 or depth > 5 or self.left < 0:
            return mark + self._scalar()
        if not self.dice.randrange(30):
            deep = self.dice.choice((10, 31, 33, 400))
            return mark + self.dice.choice(("[" * deep + "]" * deep, "{a: " * deep + "}" * deep))
        inside = [self._node(depth + 1) for _ in range(self.dice.randint(0, 4))]
        if draw % 2:
            return f"{mark}[{', '.join(inside)}]"
        return f"{mark}{{{', '.join(f'{self._key()}: {each}' for each in inside)}}}"

    def _key(self) -> str:
        draw = self.dice.randrange(12)
        return {0: "<<", 1: "k" * 300, 2: "'a b'"}.get(draw) or self.dice.choice(KEYS)

    def _scalar(self) -> str:
        return self.dice.choice(SCALARS if self.dice.randrange(40) else ODD)

    def _pods(self) -> str:
        """A template of pods at one of the places where kinds of jobs have it, its parts aliased at times."""
        words = ", ".join(f"'{self.dice.choice(WORDS)}'" for _ in range(self.dice.randint(1, 6)))
        container = (
            f"&c {{command: [torchrun, {words}], env: {self._node(3)}, args: {self._node(4)}}}"
        )
        more = ", *c" * self.dice.choice((0, 1, 50))
        inner = f"{{containers: [{container}{more}], replicas: {self._scalar()}}}"
        template = f"{{replicas: 2, template: {{spec: {inner}}}}}"
        return self.dice.choice(
            (
                inner,
                f"{{template: {{spec: {inner}}}, parallelism: {self._node(4)}}}",
                f"{{tasks: [&t {template}{', *t' * self.dice.choice((0, 40))}]}}",
                f"{{pytorchReplicaSpecs: {{Master: &m {template}, Worker: *m}}}}",
                f"{{mpiReplicaSpecs: {{Launcher: &m {template}, Worker: *m}}}}",
                f"{{replicatedJobs: [{{replicas: 2, template: {{spec: {template}}}}}]}}",
            )
        )

    def _toml(self, head: str) -> str:
        lines = [head]
        for _ in range(self.dice.randint(0, 12)):
            name = ".".join(
                self.dice.choice(KEYS) for _ in range(self.dice.choice((1, 1, 2, 3, 40)))
            )
            name = name.replace("/", "-").replace("nvidia.com", "nvidia")
            line = self.dice.choice((f"[{name}]", f"[[{name}]]", f"{name} = {self._value('=')}"))
            lines += [line + "\n"] * self.dice.choice((1, 1, 1, 2))
        return "".join(lines)

    def _json(self, head: str) -> str:
        parts = [head]
        for _ in range(self.dice.randint(0, 10)):
            parts.append(f'"{self.dice.choice(KEYS)}": {self._value(":")}')
        return "{" + f"{self.dice.choice((',', ', ', ',,', ' // x' + chr(10)))}".join(parts) + "}"

    def _value(self, sign: str, depth: int = 0) -> str:
        """A value of JSON, where `sign` is a colon, or of TOML."""
        self.left -= 1
        draw = self.dice.randrange(8)
        if draw > 4 or depth > 4 or self.left < 0:
            plain = (
                *SCALARS[:12],
                "9" * 30,
                "9" * 101,
                "-" + "9" * 5_000,
                "2026-11-26",
                '"9"',
                '"auto"',
            )
            return self.dice.choice(plain)
        if not self.dice.randrange(20):
            deep = self.dice.choice((31, 33, 101, 2_000))
            return "[" * deep + "]" * deep
        inside = [self._value(sign, depth + 1) for _ in range(self.dice.choice((0, 1, 3, 3, 30)))]
        if draw % 2:
            return f"[{', '.join(inside)}]"
        keys = [self.dice.choice(KEYS) for _ in inside]
        pairs = (f'"{key}" {sign} {each}' for key, each in zip(keys, inside, strict=True))
        return f"{{{', '.join(pairs)}}}"


def document(kind: str, seed: int) -> str:
    """The document of a number, the same each time."""
    return Grammar(Random(f"{kind} {seed}")).document(kind)
