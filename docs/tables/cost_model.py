"""The tables of docs/cost-model/, from the code that they describe: terms, constants, frameworks."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType
from typing import Any

import parc
from docs.tables import markdown
from parc.backends import BACKENDS
from parc.compiler.algebra import Term
from parc.compiler.memory import activations, model_states, peak
from parc.compiler.model import flops
from parc.compiler.pipeline import rank_load
from parc.compiler.pipeline.rank_table import ROLES
from parc.compiler.pricing import mechanisms, quantities
from parc.compiler.time import (
    attention_core,
    collectives,
    context_exchange,
    gradient_sync,
    kernels,
    layers,
    parallel_traffic,
    recomputation,
    step,
)
from parc.compiler.traits import StateBytes
from parc.dsl.job import Job
from tests.support.compiled_examples import EXAMPLES

TERM_MODULES = (
    step, recomputation, gradient_sync, activations, model_states, rank_load, quantities,
)  # fmt: skip
CONSTANT_MODULES = (
    kernels, layers, attention_core, context_exchange, parallel_traffic, collectives, activations,
    model_states, peak, rank_load, flops, quantities,
)  # fmt: skip
#: Constants that are units or mere numbers of things, and explain themselves.
UNITS = {"KIB", "MEBI", "KIBI", "NANO", "SCALE", "KINDS"}


def tables(job: Job) -> dict[str, str]:
    """Every table by its name, as Markdown; frameworks are asked what they do with `job`."""
    return {
        "terms": markdown(("term", "unit", "follows from"), list(terms())),
        "constants": markdown(("constant", "value", "what, and whose number"), list(constants())),
        "state": _state(job),
        "traits": _traits(job),
        "mechanisms": _mechanisms(),
    }


def terms() -> Iterator[tuple[str, str, str]]:
    """Name, unit and variables of every cost term; one for the three roles of a rank."""
    for module in TERM_MODULES:
        seen = set()
        for term in _found(vars(module).values()):
            name = re.sub(rf"^({'|'.join(ROLES)})_", "", term.name)
            if term.function.__module__ == module.__name__ and name not in seen:
                seen.add(name)
                yield f"`{name}`", term.unit, ", ".join(f"`{variable}`" for variable in term.of)


def _mechanisms() -> str:
    rows = [
        (
            each.name,
            f"{each.spread:g}",
            ", ".join(f"`{name}`" for name in (*each.rates, *each.times)),
        )
        for each in mechanisms.MECHANISMS
    ]
    rows += [
        (
            "traffic that overlaps less",
            f"{mechanisms.OVERLAP:g}",
            "a share of the overlapped traffic",
        ),
        ("a doubling of a degree", f"{mechanisms.DOUBLING:g}", "a share of the step"),
        ("a layout", f"{mechanisms.LAYOUT:g}", "a share of the step"),
    ]
    return markdown(("error of", "deviation", "of the logarithm of the time behind"), rows)


def _found(values: Any) -> Iterator[Term]:
    """The terms among some values and in dicts of them."""
    for value in values:
        if isinstance(value, Term):
            yield value
        elif isinstance(value, dict):
            yield from _found(value.values())


def constants() -> Iterator[tuple[str, str, str]]:
    """Name, value and comment of every number that a cost module holds."""
    for module in CONSTANT_MODULES:
        for names, comment in _assigned(module):
            for name in names:
                value = getattr(module, name)
                if name in UNITS:
                    continue
                if isinstance(value, dict) and all(map(_is_number, value.values())):
                    each = (f"{key}: {_number(number)}" for key, number in value.items())
                    yield f"`{name}`", ", ".join(each), comment
                elif _is_number(value):
                    yield f"`{name}`", _number(value), comment


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float))


def _assigned(module: ModuleType) -> Iterator[tuple[list[str], str]]:
    """Upper-case names of each assignment and the `#:` comment above it."""
    source = inspect.getsource(module)
    lines = source.splitlines()
    for node in ast.parse(source).body:
        if isinstance(node, ast.Assign):
            names = [
                name.id
                for target in node.targets
                for name in ast.walk(target)
                if isinstance(name, ast.Name) and name.id.isupper()
            ]
            yield names, _comment(lines, node.lineno - 1)


def _comment(lines: Sequence[str], below: int) -> str:
    first = below
    while first and lines[first - 1].startswith("#:"):
        first -= 1
    return " ".join(line.removeprefix("#:").strip() for line in lines[first:below]).rstrip(".")


def _number(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:g}"


def _state(job: Job) -> str:
    rows = []
    for name, backend in BACKENDS.items():
        stages = backend.target.domains(job).get("zero", (0,))
        rows += [
            (f"`{name}`", str(zero), *_bytes(backend.target.traits.memory.state(job, zero)))
            for zero in stages
        ]
    kinds = ("weights", "gradients", "optimizer", "second copy", "together", "more in the update")
    return markdown(("target", "ZeRO", *kinds), rows)


def _bytes(state: StateBytes) -> Iterator[str]:
    """Bytes per parameter of each kind, then their sum, and what the update adds: what is whole, and what n
    ranks divide."""
    whole, divided = state.gathered, 0.0
    for kind in ("weights", "gradients", "optimizer"):
        size, sharded = getattr(state, kind), getattr(state, f"{kind}_sharded")
        whole, divided = whole + size * (not sharded), divided + size * sharded
        yield f"{size:g} / n" if sharded else f"{size:g}"
    yield f"{state.gathered:g}" if state.gathered else ""
    yield _shared(whole, divided)
    yield _shared(state.step_whole, state.step)


def _shared(whole: float, divided: float) -> str:
    return " + ".join([f"{whole:g}"] * bool(whole) + [f"{divided:g} / n"] * bool(divided))


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _stages(value: Callable[[int], Any]) -> str:
    return ", ".join(_plain(value(zero)) for zero in range(4))


def _word(value: str) -> str:
    return f"`{value}`"


def _words(values: Sequence[str]) -> str:
    return ", ".join(map(_word, values)) or "has none"


def _milliseconds(seconds: float) -> str:
    return f"{1e3 * seconds:g} ms"


def _mebibytes(size: float) -> str:
    return f"{size / 2**20:,.0f} MiB"


def _million(parameters: float) -> str:
    return f"{parameters / 1e6:,.0f} M"


def _multiple(value: int) -> str:
    return f"{value} tp" if value > 1 else "1"


def _or_same(value: float | None) -> str:
    return "the same" if value is None else _plain(value)


def _or_all(value: int | None) -> str:
    return "all" if value is None else str(value)


def _or_fastest(value: str | None) -> str:
    return "the GPU's fastest" if value is None else _word(value)


def _or_reserve(size: int | None) -> str:
    return "the GPU's `reserve`" if size is None else _mebibytes(size)


def _or_none(value: object) -> str:
    return "none" if value is None else "some"


def _or_usual(value: tuple[float, float] | None) -> str:
    return "the usual" if value is None else ", ".join(map(_plain, value))


def _or_nothing(value: Callable[[int], float] | None) -> str:
    return "" if value is None else _stages(value)


def _or_layers(value: float | None) -> str:
    return f"{model_states.LIVE_LAYERS} layers" if value is None else _plain(value)


def _masked_job() -> Job:
    """The example with attention sinks."""
    job = example()
    return job.model_copy(update={"model": job.model.model_copy(update={"attention_sinks": True})})


def _alone(value: Callable[[Job], bool]) -> str:
    """Whether it holds of the example on one GPU."""
    job = example()
    cluster = job.cluster.model_copy(update={"nodes": (1,), "gpus_per_node": 1})
    return _plain(value(job.model_copy(update={"cluster": cluster})))


def _in_fp8(value: Callable[[Job, int], float]) -> str:
    """Values of the example in fp8, at ZeRO 0, 1, 2, 3."""
    job = example()
    train = job.train.model_copy(update={"precision": "fp8"})
    return _stages(lambda zero: value(job.model_copy(update={"train": train}), zero))


#: What is said of each field of `Traits`, and how; `state` has a table of its own.
SAID: dict[str, tuple[str, Callable[[Any], str]]] = {
    "gathers": ("gathers of divided weights per micro-batch at ZeRO 0, 1, 2, 3", _stages),
    "reduces_each": ("gradients reduced after every micro-batch at ZeRO 0, 1, 2, 3", _stages),
    "few_microbatches": (
        "interleaved pipelines run fewer micro-batches than they have ranks",
        _plain,
    ),
    "selective": ("`recompute = selective`", _word),
    "discarded": (
        "`recompute = fine`, and `moe` but for its MoE half",
        _words,
    ),
    "contexts": ("exchange of context parallelism, where a job leaves it open", _words),
    "context_exchange": ("a ring's exchange overlaps attention", _plain),
    "gathers_keys": ("gathered keys and values, and their gradients, lie beside attention", _plain),
    "logit_bytes": ("bytes per logit at the loss", _plain),
    "local_logit_bytes": ("the same where tp divides the vocabulary", _or_same),
    "freed_logit_bytes": ("bytes per logit whose place the loss cannot use again", _plain),
    "cap_logit_bytes": ("further bytes per logit that the model caps", _plain),
    "repeats_keys": (
        "keys and values copied for every query head where a window or sinks mask",
        lambda repeats: _plain(repeats(_masked_job())),
    ),
    "whole_sequences": ("tp that does not divide the sequence leaves it whole", _plain),
    "live_parameters": ("gathered parameters at once", _or_layers),
    "layer_gradient_bytes": ("bytes per parameter of a gathered layer's gradient", _plain),
    "weight_gradient_bytes": (
        "bytes per parameter of the widest weight's gradient beside its sum",
        _plain,
    ),
    "loss_bytes": ("bytes per logit that the loss moves", _plain),
    "reduce_bytes": ("bytes per gradient on the wire", _plain),
    "gather_bytes": ("bytes per gathered weight", _plain),
    "gather_copy_bytes": ("bytes per weight to lay out a gather", _plain),
    "reduce_copy_bytes": ("bytes per gradient to lay out a reduction", _plain),
    "sum_bytes": ("bytes to add a gradient to the step's sum, at ZeRO 0, 1, 2, 3", _or_nothing),
    "first_sum_bytes": ("bytes of these that the first micro-batch does not move", _plain),
    "permuted_bytes": (
        "bytes per value of a token copy to permute, forward and backward",
        _or_usual,
    ),
    "bucket": ("parameters in one collective of gradients or weights among 64 ranks", _million),
    "gather_bucket": ("parameters in one gathering of updated weights, where it differs", _or_same),
    "all_reduces": ("gradients reduced whole though divided, at ZeRO 0, 1, 2, 3", _stages),
    "gradient_reduction": ("the step's reduction runs beside the backward pass", _plain),
    "tensor_parallel": ("tensor-parallel collectives run beside their products", _plain),
    "tensor_parallel_backward": (
        "backward, those around a half-layer's first products run beside their gradients",
        _plain,
    ),
    "expert_exchange": ("dispatch and combine run beside another micro-batch's work", _plain),
    "dispatch": ("dispatch and combine send a token's", _word),
    "dispatch_bytes": ("bytes per value that dispatch sends", _plain),
    "norm_bytes": ("bytes per element that a norm moves", _plain),
    "autocasts": ("residuals in fp32, each product casts its input, on one GPU", _alone),
    "norm_kept_bytes": ("bytes per element that a norm keeps beside its input", _plain),
    "attention_kernel": ("fused attention's kernel", _or_fastest),
    "fp8_pace": ("what fp8 products reach of those scaled by tensor", _plain),
    "softmax_bytes": ("bytes per score that an unfused softmax moves", _plain),
    "softmax_backward_bytes": ("the same, backward", _plain),
    "fused_experts": ("grouped products apply activation, bias and casts themselves", _plain),
    "padded_copies": ("experts' tokens are padded by a copy for quantized products", _plain),
    "weight_gather": ("weights for a micro-batch are gathered beside its work", _plain),
    "gather_quarters": ("quarters of a micro-batch's work that they run beside", _plain),
    "micro_batch_reduction": ("reductions of a micro-batch run beside its work", _plain),
    "updated_weight_gather": ("the step's gathering of updated weights too", _plain),
    "sums_on_host": (
        "with offload, gradients are summed on the host at ZeRO 0, 1, 2, 3",
        _stages,
    ),
    "host_gradient_bytes": ("with offload, bytes per gradient copied to the host", _plain),
    "wide_ports": ("ports of a node that ZeRO 3's collectives reach", _or_all),
    "vocab_multiple": ("vocabulary padded to a multiple of", _multiple),
    "keeps_outputs": ("a pipeline keeps outputs beside inputs", _plain),
    "receive_buffers": ("outputs and gradients that a stage has further buffers for", _plain),
    "output_logit_bytes": ("bytes per logit of outputs that a pipeline's end keeps", _plain),
    "keeps_gathered": ("what tp gathers is kept for the backward pass", _plain),
    "keeps_expert_outputs": ("what experts return is kept", _plain),
    "saves_quantized": ("inputs of linear layers are kept as quantized for the product", _plain),
    "copied_weight_bytes": (
        "bytes per weight of copies that fp8 products keep, at ZeRO 0, 1, 2, 3",
        _in_fp8,
    ),
    "updated_weight_bytes": (
        "bytes per updated weight that is gathered in fp8, at ZeRO 0, 1, 2, 3",
        _in_fp8,
    ),
    "checkpoints": ("inputs of recomputed layers are kept", _word),
    "sequence_parallel": ("tp divides norms, dropout and residuals too", _plain),
    "whole_boundary": ("every rank of tp sends all that a stage hands over", _plain),
    "whole_embedding": ("every rank of tp holds the whole token table", _plain),
    "gathers_logits": ("every rank of tp holds all logits", _plain),
    "fused": ("elementwise kernels are fused", _plain),
    "compiles": ("`train.compile` fuses them", _plain),
    "buffers": ("fixed buffers", _mebibytes),
    "lone_context": ("context and kernels on one GPU", _or_reserve),
    "gaps": ("share of what comes and goes that whole gradients leave in gaps", _plain),
    "host_seconds": ("host work per forward half-layer", _milliseconds),
    "expert_host_seconds": ("host work per forward layer's experts", _milliseconds),
    "layer_share": ("the same over these, by mode of recomputation", _stages),
    "gap_seconds": ("GPU time between the kernels of a forward half-layer", _milliseconds),
    "blocking": ("every launch waits for its kernel", _plain),
    "graphed": ("passes that are one CUDA graph", _or_none),
    "micro_batch_overhead": ("host work per micro-batch and virtual stage", _milliseconds),
    "step_overhead": ("host work per step", _milliseconds),
}


#: Fields that are functions, asked about a job.
OF_JOB: dict[str, Callable[[Any, Job], Any]] = {
    "buffers": lambda value, job: value(job),
    "bucket": lambda value, job: value(job, 64, 1),
    "output_logit_bytes": lambda value, job: float(value(2)),
    "sum_bytes": lambda value, job: value and (lambda zero: value(job, zero)),
    "first_sum_bytes": lambda value, job: value(job),
    "permuted_bytes": lambda value, job: value(job),
    "layer_share": lambda value, job: lambda mode: value(job, mode),
}


def _traits(job: Job) -> str:
    rows = []
    for field, (words, say) in SAID.items():
        values = [backend.target.traits.by_name()[field] for backend in BACKENDS.values()]
        rows.append(
            (
                words,
                *(say(OF_JOB[field](value, job) if field in OF_JOB else value) for value in values),
            )
        )
    return markdown(("", *(f"`{name}`" for name in BACKENDS)), rows)


def example() -> Job:
    """The job by which frameworks are compared: Adam in bf16."""
    return parc.load(EXAMPLES["llama3_8b"])
