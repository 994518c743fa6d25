"""A Megatron-LM launch script -> facts: what its options say, else Megatron-LM's defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ...compiler.plan import Plan
from ..backend import Fact, LaunchConfig, Unknown, Value
from ..shell import Script, Word, read_script
from .pipeline import stage_count

#: Fact -> option and the value without it.
NUMBERS: dict[str, tuple[str, int]] = {
    "tp": ("--tensor-model-parallel-size", 1),
    "pp": ("--pipeline-model-parallel-size", 1),
    "cp": ("--context-parallel-size", 1),
    "ep": ("--expert-model-parallel-size", 1),
    "experts": ("--num-experts", 0),
}
#: Fact -> option without a default.
REQUIRED = {
    "mbs": "--micro-batch-size",
    "gbs": "--global-batch-size",
    "seq_len": "--seq-length",
    "layers": "--num-layers",
    "hidden": "--hidden-size",
    "heads": "--num-attention-heads",
}
SHARDING = {"no_shard": 0, "optim": 1, "optim_grads": 2, "optim_grads_params": 3}


@dataclass(frozen=True)
class _Options:
    """Options by name, the last one counting; `command` stands for the place of what is not said."""

    values: Mapping[str, Sequence[Word]]
    command: Word

    def place(self, *names: str) -> Word:
        """Where the first of these options that is given stands: its value, else its name."""
        return next((self.values[name][-1] for name in names if name in self.values), self.command)

    def given(self, name: str) -> bool:
        return name in self.values

    def text(self, name: str) -> str | Unknown | None:
        words = self.values.get(name)
        return None if words is None or len(words) < 2 else words[1].text

    def number(self, name: str) -> int | Unknown | None:
        text = self.text(name)
        if isinstance(text, str):
            return (
                int(text) if text.isdecimal() else Unknown(f"`{name} {text}` is not a whole number")
            )
        return text


def read(files: Mapping[str, str]) -> LaunchConfig:
    """The facts of every script among `files` that starts a Python program; the others are unread."""
    facts: list[Fact] = []
    unread: list[str] = []
    for path, text in files.items():
        script = read_script(text)
        if entry := _entry(script):
            facts += _facts(path, script, entry)
        else:
            unread.append(path)
    return LaunchConfig("megatron", tuple(facts), tuple(unread))


def _entry(script: Script) -> int:
    """Place of the Python program among the words, 0 for none."""
    texts = [word.text if isinstance(word.text, str) else "" for word in script.command]
    return next((index for index, text in enumerate(texts) if text.endswith(".py")), 0)


def _options(command: Word, words: Sequence[Word]) -> _Options:
    found: dict[str, list[Word]] = {}
    current: list[Word] = []
    for word in words:
        if isinstance(word.text, str) and word.text.startswith("--"):
            name, sign, value = word.text.partition("=")
            current = found[name] = [word]
            if sign:
                current.append(Word(value, word.line, word.column))
        else:
            current.append(word)
    return _Options(found, command)


Found = tuple[str, Value | Unknown, Word]


def _facts(path: str, script: Script, entry: int) -> list[Fact]:
    command = script.command[0]
    launcher = _options(command, script.command[1:entry])
    options = _options(script.command[entry], script.command[entry + 1 :])
    found = [*_launch(launcher), *_plain(options)]
    for derive in (_layout, _attention, _experts, _sharding, _precision, _memory):
        found += derive(options)
    found += _virtual(options)
    found += _replicas({name: value for name, value, _ in found}, command)
    return [Fact(name, value, path, word.line, word.column) for name, value, word in found]


def _launch(launcher: _Options) -> Iterator[Found]:
    """torchrun takes its options with dashes or underscores, and one node where none is named."""
    counts: list[int | Unknown] = []
    for fact, names in (
        ("nodes", ("--nnodes",)),
        ("gpus_per_node", ("--nproc-per-node", "--nproc_per_node")),
    ):
        value = next((launcher.number(name) for name in names if launcher.given(name)), 1)
        counts.append(Unknown(f"{fact} is not said") if value is None else value)
        yield fact, counts[-1], launcher.place(*names)
    nodes, per_node = counts
    if isinstance(nodes, int) and isinstance(per_node, int):
        yield "world", nodes * per_node, launcher.place("--nnodes")


def _plain(options: _Options) -> Iterator[Found]:
    for fact, name in REQUIRED.items():
        if (value := options.number(name)) is not None:
            yield fact, value, options.place(name)


def _layout(options: _Options) -> Iterator[Found]:
    for fact, (name, default) in NUMBERS.items():
        value = options.number(name)
        yield fact, default if value is None else value, options.place(name)
    flag = "--sequence-parallel"
    yield "seq_parallel", options.given(flag), options.place(flag)


def _attention(options: _Options) -> Iterator[Found]:
    """Query groups count only with --group-query-attention: arguments.py ignores them otherwise."""
    grouped = options.given("--group-query-attention")
    name = "--num-query-groups" if grouped else "--num-attention-heads"
    value = options.number(name)
    if value is not None:
        yield "kv_heads", value, options.place(name)


def _experts(options: _Options) -> Iterator[Found]:
    name = "--expert-tensor-parallel-size"
    if options.given("--num-experts"):
        value = options.number(name)
        if value is None:
            value = options.number("--tensor-model-parallel-size")
        yield "etp", 1 if value is None else value, options.place(name)


def _sharding(options: _Options) -> Iterator[Found]:
    fsdp, torch_fsdp, distributed = (
        options.given(name)
        for name in ("--use-megatron-fsdp", "--use-torch-fsdp2", "--use-distributed-optimizer")
    )
    name = "--data-parallel-sharding-strategy"
    stage: int | Unknown = 1 if distributed else 0
    if torch_fsdp:
        stage = 2 if options.given("--torch-fsdp2-no-reshard-after-forward") else 3
    if fsdp:
        text = options.text(name) or "optim_grads_params"
        known = SHARDING.get(text) if isinstance(text, str) else None
        stage = Unknown(f"`{name}` is not decided") if known is None else known
    place = options.place(*((name,) if fsdp else ()), "--use-megatron-fsdp", "--use-torch-fsdp2")
    place = options.place("--use-distributed-optimizer") if place is options.command else place
    yield "zero_stage", stage, place
    yield "dist_opt", distributed or fsdp, options.place("--use-distributed-optimizer")


def _precision(options: _Options) -> Iterator[Found]:
    if options.given("--fp8-format"):
        recipe = options.text("--fp8-recipe")
        value: Value | Unknown = "mxfp8" if recipe == "mxfp8" else "fp8"
        if isinstance(recipe, Unknown):
            value = recipe
        yield "precision", value, options.place("--fp8-recipe", "--fp8-format")
    else:
        names = [name for name in ("--bf16", "--fp16") if options.given(name)]
        yield "precision", names[0][2:] if names else "fp32", options.place(*names)


def _memory(options: _Options) -> Iterator[Found]:
    name = "--recompute-granularity"
    value = options.text(name)
    if value is None:
        value = "selective" if options.given("--recompute-activations") else "none"
    yield "recompute", value, options.place(name, "--recompute-activations")


def _virtual(options: _Options) -> Iterator[Found]:
    """Virtual stages per rank: said outright, by the layers of one, or by a layout string."""
    pp = options.number("--pipeline-model-parallel-size") or 1
    sources: dict[str, Callable[[int], int | Unknown]] = {
        "--num-virtual-stages-per-pipeline-rank": lambda pp: options.number(count) or 1,
        "--num-layers-per-virtual-pipeline-stage": lambda pp: _by_layers(options, pp),
        "--pipeline-model-parallel-layout": lambda pp: _by_layout(options, pp),
    }
    count = next(iter(sources))
    for name, source in sources.items():
        if options.given(name):
            yield "vpp", pp if isinstance(pp, Unknown) else source(pp), options.place(name)
            return
    yield "vpp", 1, options.command


def _by_layers(options: _Options, pp: int) -> int | Unknown:
    layers, per_stage = options.number("--num-layers"), options.number(
        "--num-layers-per-virtual-pipeline-stage"
    )
    if not isinstance(layers, int) or not isinstance(per_stage, int) or not per_stage:
        return Unknown("the layers of a virtual stage are not decided")
    return layers // (pp * per_stage)


def _by_layout(options: _Options, pp: int) -> int | Unknown:
    text = options.text("--pipeline-model-parallel-layout")
    if not isinstance(text, str):
        return text or Unknown("the layout string is missing")
    return stage_count(text) // pp


def _replicas(values: Mapping[str, Value | Unknown], command: Word) -> Iterator[Found]:
    sizes = [values.get(name) for name in ("world", "tp", "pp", "cp")]
    numbers = [size for size in sizes if isinstance(size, int)]
    if len(numbers) == len(sizes):
        world, tp, pp, cp = numbers
        group = tp * pp * cp
        whole = group > 0 and world % group == 0
        unknown = Unknown(f"tp * pp * cp = {group} does not divide {world} GPUs")
        yield "dp", world // group if whole else unknown, command


def facts(plan: Plan) -> dict[str, Value]:
    """What `read(emit(plan))` must give back."""
    layout, model, train = plan.layout, plan.job.model, plan.job.train
    found: dict[str, Value] = {
        "nodes": layout.nodes,
        "gpus_per_node": plan.job.cluster.gpus_per_node,
        "world": layout.gpus,
        "tp": layout.tp,
        "pp": layout.pp,
        "vpp": layout.vpp,
        "cp": layout.cp,
        "ep": layout.ep,
        "dp": layout.dp,
        "zero_stage": layout.zero,
        "mbs": layout.micro_batch,
        "gbs": train.global_batch,
        "seq_len": train.seq_len,
        "layers": model.layers,
        "hidden": model.hidden,
        "heads": model.heads,
        "kv_heads": model.heads if model.mla else model.groups,
        "experts": model.experts,
        "precision": train.precision,
        "recompute": layout.recompute_name,
        "seq_parallel": layout.tp > 1,
        "dist_opt": layout.zero >= 1,
    }
    return found | ({"etp": layout.etp} if model.moe else {})
