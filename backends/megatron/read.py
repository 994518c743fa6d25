"""A Megatron-LM launch script -> facts: what its options say, else Megatron-LM's defaults."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

from ...compiler.plan import Plan
from ..backend import Fact, LaunchConfig, Unknown, Value
from ..command import Options, launcher_options, options
from ..facts import plan_facts
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


Found = tuple[str, Value | Unknown, Word]


def _facts(path: str, script: Script, entry: int) -> list[Fact]:
    command = script.command[0]
    launcher = launcher_options(command, script.command[1:entry])
    given = options(script.command[entry], script.command[entry + 1 :])
    found = [*_launch(launcher), *_plain(given)]
    for derive in (_layout, _attention, _experts, _sharding, _precision, _memory, _virtual):
        found += derive(given)
    found += _replicas({name: value for name, value, _ in found}, command)
    return [Fact(name, value, path, word.line, word.column) for name, value, word in found]


def _launch(launcher: Options) -> Iterator[Found]:
    nodes, per_node = launcher.count("--nnodes"), launcher.count("--nproc-per-node")
    yield "nodes", nodes, launcher.place("--nnodes")
    yield "gpus_per_node", per_node, launcher.place("--nproc-per-node")
    if isinstance(nodes, int) and isinstance(per_node, int):
        yield "world", nodes * per_node, launcher.place("--nnodes")


def _plain(options: Options) -> Iterator[Found]:
    for fact, name in REQUIRED.items():
        if (value := options.number(name)) is not None:
            yield fact, value, options.place(name)


def _layout(options: Options) -> Iterator[Found]:
    for fact, (name, default) in NUMBERS.items():
        value = options.number(name)
        yield fact, default if value is None else value, options.place(name)
    flag = "--sequence-parallel"
    yield "seq_parallel", options.given(flag), options.place(flag)


def _attention(options: Options) -> Iterator[Found]:
    """Query groups count only with --group-query-attention: arguments.py ignores them otherwise."""
    grouped = options.given("--group-query-attention")
    name = "--num-query-groups" if grouped else "--num-attention-heads"
    value = options.number(name)
    if value is not None:
        yield "kv_heads", value, options.place(name)


def _experts(options: Options) -> Iterator[Found]:
    name = "--expert-tensor-parallel-size"
    if options.given("--num-experts"):
        value = options.number(name)
        if value is None:
            value = options.number("--tensor-model-parallel-size")
        yield "etp", 1 if value is None else value, options.place(name)


def _sharding(options: Options) -> Iterator[Found]:
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


def _precision(options: Options) -> Iterator[Found]:
    if options.given("--fp8-format"):
        recipe = options.text("--fp8-recipe")
        value: Value | Unknown = "mxfp8" if recipe == "mxfp8" else "fp8"
        if isinstance(recipe, Unknown):
            value = recipe
        yield "precision", value, options.place("--fp8-recipe", "--fp8-format")
    else:
        names = [name for name in ("--bf16", "--fp16") if options.given(name)]
        yield "precision", names[0][2:] if names else "fp32", options.place(*names)


def _memory(options: Options) -> Iterator[Found]:
    name = "--recompute-granularity"
    value = options.text(name)
    if value is None:
        value = "selective" if options.given("--recompute-activations") else "none"
    yield "recompute", value, options.place(name, "--recompute-activations")


def _virtual(options: Options) -> Iterator[Found]:
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


def _by_layers(options: Options, pp: int) -> int | Unknown:
    layers, per_stage = options.number("--num-layers"), options.number(
        "--num-layers-per-virtual-pipeline-stage"
    )
    if not isinstance(layers, int) or not isinstance(per_stage, int) or not per_stage:
        return Unknown("the layers of a virtual stage are not decided")
    return layers // (pp * per_stage)


def _by_layout(options: Options, pp: int) -> int | Unknown:
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
    layout, model = plan.layout, plan.job.model
    found = plan_facts(plan) | {
        "experts": model.experts,
        "seq_parallel": layout.tp > 1,
        "dist_opt": layout.zero >= 1,
    }
    return found | ({"etp": layout.etp} if model.moe else {})
