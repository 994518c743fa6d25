"""Replaces torch.cuda in a process without a GPU: tensors, random numbers, streams and process groups."""

from __future__ import annotations

from collections import defaultdict
from types import SimpleNamespace
from typing import Any

GIB = 2**30


#: What methods of a stream or event return; others return the object itself.
ANSWERS: dict[str, Any] = {"elapsed_time": 0.0, "query": True}


class Idle:
    """A stream or an event whose work is always complete."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        self.cuda_stream = self.device_index = 0

    def __enter__(self) -> Idle:
        return self

    def __exit__(self, *raised: Any) -> None: ...

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return lambda *_, **__: ANSWERS.get(name, self)


class Current(str):
    """A device that is `cpu` as an argument and formats as its number, as in `cuda:0`: recomputation in a
    backward pass makes tensors where no TorchFunctionMode is active."""

    def __format__(self, form: str) -> str:
        return "0"


def one_device(torch: Any, capability: tuple[int, int]) -> None:
    """Makes torch.cuda report one idle device, number 0, of that compute capability."""
    major, minor = capability
    properties = SimpleNamespace(
        major=major, minor=minor, name="cpu", total_memory=80 * GIB, multi_processor_count=1
    )
    answers: dict[str, Any] = {
        "device_count": 1,
        "current_device": Current("cpu"),
        "set_device": None,
        "synchronize": None,
        "get_device_name": "cpu",
        "get_device_capability": capability,
        "get_device_properties": properties,
        "is_current_stream_capturing": False,
        "memory_stats": defaultdict(int),
        "_lazy_init": None,
        "_sleep": None,
    }
    for kind in ("allocated", "reserved"):
        answers |= {f"memory_{kind}": 0, f"max_memory_{kind}": 0}
    for name, answer in answers.items():
        setattr(torch.cuda, name, lambda *_, answer=answer, **__: answer)
    for name in ("Stream", "Event", "stream", "current_stream", "default_stream", "set_stream"):
        setattr(torch.cuda, name, Idle)
    torch.cuda.nvtx.range_push = torch.cuda.nvtx.range_pop = lambda *_: 0
    for kind in ("Float", "Half", "BFloat16", "Int", "Long", "Byte"):
        setattr(torch.cuda, f"{kind}Tensor", getattr(torch, f"{kind}Tensor"))


def random_states(torch: Any) -> None:
    """Makes the device's random state that of the CPU."""
    for module in (torch.cuda, torch.cuda.random):
        module.manual_seed = lambda seed: torch.default_generator.manual_seed(seed)
        # torch.manual_seed calls this one; the CPU is seeded there already.
        module.manual_seed_all = lambda seed: None
        module.get_rng_state = lambda *_, **__: torch.get_rng_state()
        module.set_rng_state = lambda state, *_, **__: torch.set_rng_state(state)


def tensors(torch: Any) -> None:
    """For the rest of the process, makes tensors on the CPU that are requested on a GPU; the names of their
    types are still those of a GPU's."""

    # torch is no dependency of parc: to its type checks the base is anything.
    class OnCpu(torch.overrides.TorchFunctionMode):  # type: ignore[misc]
        def __torch_function__(
            self, function: Any, kinds: Any, args: Any = (), named: Any = None
        ) -> Any:
            if function in stays:
                return args[0]
            if function is torch.Tensor.type and len(args) == 1 and not named:
                return function(*args).replace("torch.", "torch.cuda.")
            args = [cpu if _gpu(torch, each) else each for each in args]
            if function is torch.Tensor.to:
                args = [cpu if type(each) is int else each for each in args]
            named = {name: value for name, value in (named or {}).items() if name != "pin_memory"}
            if _gpu(torch, named.get("device")) or type(named.get("device")) is int:
                named["device"] = cpu
            return function(*args, **named)

    cpu = torch.device("cpu")
    stays = (torch.Tensor.cuda, torch.Tensor.pin_memory)
    torch.Tensor.record_stream = lambda *_: None
    OnCpu().__enter__()


def _gpu(torch: Any, value: Any) -> bool:
    if isinstance(value, torch.device):
        return bool(value.type == "cuda")
    return isinstance(value, str) and value.partition(":")[0] == "cuda"


def gloo(torch: Any) -> None:
    """Makes every process group use gloo, and drops arguments that only NCCL takes."""
    distributed = torch.distributed
    begin, group = distributed.init_process_group, distributed.new_group
    barrier, exchange = distributed.barrier, distributed.all_to_all_single

    def began(*arguments: Any, **named: Any) -> None:
        begin(**{**named, "backend": "gloo", "device_id": None})

    def grouped(*arguments: Any, **named: Any) -> Any:
        return group(*arguments, **{**named, "backend": "gloo", "pg_options": None})

    def exchanged(
        output: Any, given: Any, sizes: Any = None, given_sizes: Any = None, **named: Any
    ) -> Any:
        sizes = named.pop("output_split_sizes", sizes)
        given_sizes = named.pop("input_split_sizes", given_sizes)
        return exchange(output, given, _numbers(sizes), _numbers(given_sizes), **named)

    distributed.init_process_group, distributed.new_group = began, grouped
    distributed.all_to_all_single = exchanged
    distributed.barrier = lambda group=None, async_op=False, device_ids=None: barrier(
        group, async_op
    )
    _uneven(distributed)


def _uneven(distributed: Any) -> None:
    """gloo gathers and scatters parts of equal size; unequal ones are broadcast or reduced one by one."""
    gather, scatter = distributed.all_gather, distributed.reduce_scatter

    def gathered(parts: Any, part: Any, group: Any = None, async_op: bool = False) -> Any:
        if len({each.shape for each in parts}) == 1:
            return gather(parts, part, group=group, async_op=async_op)
        parts[distributed.get_rank(group)].copy_(part)
        for rank, each in enumerate(parts):
            distributed.broadcast(each, group=group, group_src=rank)

    def scattered(part: Any, parts: Any, *given: Any, group: Any = None, **named: Any) -> Any:
        if len({each.shape for each in parts}) == 1:
            return scatter(part, parts, *given, group=group, **named)
        for rank, each in enumerate(parts):
            distributed.reduce(each, *given, group=group, group_dst=rank)
        part.copy_(parts[distributed.get_rank(group)])

    distributed.all_gather, distributed.reduce_scatter = gathered, scattered


def _numbers(sizes: Any) -> list[int] | None:
    """Sizes as integers: gloo takes no tensor of sizes."""
    return None if sizes is None else [int(size) for size in sizes]
