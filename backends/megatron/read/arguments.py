"""Megatron's arguments, in any of their spellings -> facts, with Megatron's defaults for what is not said."""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from ....reading.bash.values import Word, joined
from ....reading.command_options import CommandOptions
from ....reading.facts import Unknown, Value
from .. import recomputed_modules
from ..emit.pipeline import stage_count
from ..option_rows import ROWS
from .ramp import schedule_of
from .spelling import FP4, FP8, GRANULARITY, KV_HEADS, RECOMPUTES, SHARDING

Answer = Value | Unknown
Found = tuple[str, Answer, Word]


@dataclass(frozen=True)
class DeepSpeed:
    """Facts of the linked DeepSpeed config; `stage` is None without one that can be read."""

    stage: tuple[Answer, Word] | None
    precision: tuple[Answer, Word] | None


def facts(given: CommandOptions, deepspeed: DeepSpeed) -> Iterator[Found]:
    """All facts but those of the launcher; `given` is spelled as Megatron-LM spells today."""
    yield from _plain(given)
    for derive in (_virtual, _attention, _experts, _memory, _sharding, _rampup):
        yield from derive(given)
    yield from _zero(given, deepspeed)
    yield from _precision(given, deepspeed)


def on(given: CommandOptions, name: str) -> bool | Unknown:
    return given.switch(name)


def _plain(given: CommandOptions) -> Iterator[Found]:
    """Options whose value is a fact as it stands, and a switch that is one."""
    for row in ROWS.facts:
        value: Answer | None = given.number(row.name)
        if value is None:
            value = given.absent(row.name) or row.default
        if value is not None:
            yield row.fact, value, given.place(row.name)
    flag = "--sequence-parallel"
    yield "sequence_parallel", on(given, flag), given.place(flag)


def _number(given: CommandOptions, name: str, default: int) -> int | Unknown:
    value = given.number(name)
    if value is None:
        return given.absent(name) or default
    return value


def _attention(given: CommandOptions) -> Iterator[Found]:
    """Query groups count only with --group-query-attention: arguments.py ignores them otherwise."""
    if given.given(KV_HEADS):
        yield "kv_heads", given.number(KV_HEADS) or 0, given.place(KV_HEADS)
        return
    if given.text("--attention-head-type") == "multiquery":
        yield "kv_heads", 1, given.place("--attention-head-type")
        return
    grouped = on(given, "--group-query-attention")
    if isinstance(grouped, Unknown):
        yield "kv_heads", grouped, given.command
        return
    latent = given.given("--multi-latent-attention")
    name = "--num-query-groups" if grouped and not latent else "--num-attention-heads"
    value = given.number(name)
    if value is None and grouped and not latent:
        value = given.absent(name) or 1
    if value is not None:
        yield "kv_heads", value, given.place(name)


def _experts(given: CommandOptions) -> Iterator[Found]:
    name = "--expert-tensor-parallel-size"
    if given.given("--num-experts"):
        tp = _number(given, "--tensor-model-parallel-size", 1)
        value = given.number(name)
        yield "etp", (given.absent(name) or tp) if value is None else value, given.place(name)


def _memory(given: CommandOptions) -> Iterator[Found]:
    if given.given(GRANULARITY):
        value = given.text(GRANULARITY)
        if value == "selective":
            value = _selective(given)
        unknown = Unknown(f"`{GRANULARITY}` has no value")
        yield "recompute", unknown if value is None else value, given.place(GRANULARITY)
        return
    for name, word in RECOMPUTES.items():
        state = given.switch(name) if given.given(name) else False
        if state is True and given.text(name) != "none":
            yield "recompute", word, given.place(name)
            return
    absent = given.absent(*ROWS.by_name[GRANULARITY].names, *RECOMPUTES)
    yield "recompute", absent or "none", given.command


def _selective(given: CommandOptions) -> str | Unknown:
    """`fine` or `moe` where the modules are theirs; `selective` for core_attn, and for other sets."""
    option = given.values.get("--recompute-modules")
    words = [word.text for word in option.values] if option else []
    unknown = next((word for word in words if isinstance(word, Unknown)), None)
    eight = given.given(FP8)
    mode = recomputed_modules.mode_of(
        [word for word in words if isinstance(word, str)],
        latent=given.given("--multi-latent-attention"),
        experts=given.given("--num-experts"),
        grouped=given.given("--moe-grouped-gemm"),
        dense=given.text("--moe-layer-freq") not in (None, "1"),
        delayed=eight and given.text("--fp8-recipe") in (None, "delayed"),
    )
    return unknown or mode or "selective"


def _sharding(given: CommandOptions) -> Iterator[Found]:
    """Sharding among replicas as a stage of ZeRO; `distributed_optimizer` is the switch alone."""
    flag = "--use-distributed-optimizer"
    fsdp, torch_fsdp = (
        on(given, name) is True for name in ("--use-megatron-fsdp", "--use-torch-fsdp2")
    )
    distributed = on(given, flag)
    stage: Answer = distributed if isinstance(distributed, Unknown) else int(distributed)
    place = given.place(flag)
    if torch_fsdp:
        stage = 2 if on(given, "--torch-fsdp2-no-reshard-after-forward") is True else 3
        place = given.place("--use-torch-fsdp2")
    name = "--data-parallel-sharding-strategy"
    if fsdp:
        text = given.text(name) or "optim_grads_params"
        known = SHARDING.get(text) if isinstance(text, str) else None
        stage = Unknown(f"`{name}` is not decided") if known is None else known
        place = given.place(name, "--use-megatron-fsdp")
    yield "sharding", stage, place
    if on(given, "--optimizer-cpu-offload") is True:
        yield "offload", "optimizer", given.place("--optimizer-cpu-offload")
    yield "distributed_optimizer", True if fsdp else distributed, given.place(flag)


def _rampup(given: CommandOptions) -> Iterator[Found]:
    """Once start, increment and samples; now a list of sizes, the last of which is the batch."""
    sizes = "--step-batch-size-schedule"
    if given.given(sizes) and not given.given("--global-batch-size"):
        words = [str(word.text) for word in given.values[sizes].values]
        found = schedule_of(words)
        unknown = Unknown(f"`{sizes}` is not decided")
        yield "global_batch", found[-1][1] if found else unknown, given.place(sizes)
    name = "--rampup-batch-size"
    option = given.values.get(name)
    if option is not None and option.values:
        text = Word(joined(option.values[:3])).text
        yield "rampup", text, option.place


def _zero(given: CommandOptions, deepspeed: DeepSpeed) -> Iterator[Found]:
    """The stage of DeepSpeed's ZeRO; `none` where DeepSpeed is not switched on."""
    name = "--zero-stage"
    state = on(given, "--deepspeed")
    if isinstance(state, Unknown) and not given.given(name):
        yield "zero", state, given.command
    elif not state:
        yield "zero", "none", given.command
    elif (value := given.number(name)) is not None:
        yield "zero", value, given.place(name)
    elif deepspeed.stage is not None:
        yield "zero", *deepspeed.stage
    else:
        unknown = Unknown("the DeepSpeed config is not here to be read")
        yield "zero", unknown, given.place("--deepspeed-config", "--deepspeed")


def _precision(given: CommandOptions, deepspeed: DeepSpeed) -> Iterator[Found]:
    states = {name: on(given, name) for name in ("--bf16", "--fp16")}
    names = [name for name, state in states.items() if state is True]
    vague = next((state for state in states.values() if isinstance(state, Unknown)), None)
    if not names and vague is not None:
        yield "precision", vague, given.command
        return
    if not names and deepspeed.precision is not None and given.given("--deepspeed"):
        yield "precision", *deepspeed.precision
        return
    base = names[0][2:] if names else "fp32"
    place = given.place(*(names or ["--bf16"]))
    eight, four = given.given(FP8), given.given(FP4)
    unknown = None if eight or four else given.absent(*ROWS.by_name[FP8].names, FP4)
    if unknown is not None:
        yield "precision", unknown, place
        return
    recipe = given.text("--fp8-recipe")
    if four:
        yield "precision", f"{base}+nvfp4", given.place(FP4)
    elif eight and isinstance(recipe, Unknown):
        yield "precision", recipe, given.place("--fp8-recipe")
    elif eight:
        kind = "mxfp8" if recipe == "mxfp8" else "fp8"
        yield "precision", f"{base}+{kind}", given.place("--fp8-recipe", FP8)
    else:
        yield "precision", base, place


def _virtual(given: CommandOptions) -> Iterator[Found]:
    """Virtual stages per rank: said outright, by the layers of one, or by a layout string."""
    pp = _number(given, "--pipeline-model-parallel-size", 1)
    sources: dict[str, Callable[[int], int | Unknown]] = {
        "--num-virtual-stages-per-pipeline-rank": lambda pp: _number(given, count, 1),
        "--num-layers-per-virtual-pipeline-stage": lambda pp: _by_layers(given, pp),
        "--pipeline-model-parallel-layout": lambda pp: _by_layout(given, pp),
    }
    count = next(iter(sources))
    for name, source in sources.items():
        if given.given(name):
            yield "vpp", pp if isinstance(pp, Unknown) else source(pp), given.place(name)
            return
    yield "vpp", given.absent(*sources) or 1, given.command


def _by_layers(given: CommandOptions, pp: int) -> int | Unknown:
    layers = given.number("--num-layers")
    per_stage = given.number("--num-layers-per-virtual-pipeline-stage")
    for value in (layers, per_stage):
        if isinstance(value, Unknown):
            return value
    if not isinstance(layers, int) or not isinstance(per_stage, int) or per_stage * pp < 1:
        return Unknown("the layers of a virtual stage are not decided")
    if layers % (pp * per_stage):
        return Unknown(f"{layers} layers are not a multiple of pp {pp} * {per_stage} layers")
    return layers // (pp * per_stage)


def _by_layout(given: CommandOptions, pp: int) -> int | Unknown:
    text = given.text("--pipeline-model-parallel-layout")
    if not isinstance(text, str):
        return text or Unknown("the layout string is missing")
    if any(len(number) > 4 for number in re.findall(r"\d+", text)) or len(text) > 10_000 or pp < 1:
        return Unknown(f"`{text[:40]}` is not a layout of stages")
    return stage_count(text) // pp


#: Degrees of which each replica takes the product.
GROUP = ("tp", "pp", "cp", "ulysses")


def replicas(values: Mapping[str, Answer]) -> Answer:
    """Data-parallel degree; `invalid` where the degrees do not divide the GPUs."""
    gpus, product = 0, 1
    for name, default in (("gpus", 0), *((degree, 1) for degree in GROUP)):
        value = values.get(name, default)
        if isinstance(value, Unknown):
            return value
        if not isinstance(value, int):
            return Unknown(f"{name} is not a number")
        gpus, product = (value, product) if name == "gpus" else (gpus, product * value)
    if product < 1 or gpus % product:
        return "invalid"
    return gpus // product
