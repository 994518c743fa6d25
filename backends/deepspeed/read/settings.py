"""Contents of a DeepSpeed config: its settings as written, and the facts among them."""

from collections.abc import Iterator

from ....reading.facts import Fact, Setting, Unknown, Value
from ..option_rows import ROWS
from ..releases import top_keys
from .document import Table

Answer = Value | Unknown

PRECISIONS = ("fp16", "bf16")
TP = next(row for row in ROWS.facts if row.fact == "tp")


def settings(table: Table) -> Iterator[Setting]:
    """Every key with its value, also one that is written twice; none of a file without any key that DeepSpeed
    reads."""
    if not top_keys() & {name.split(".")[0] for name, _ in table.flat()}:
        return
    for name, member in table.flat():
        values = member.value if isinstance(member.value, list) else [member.value]
        told = tuple(_told(value) for value in values)
        yield Setting("json", name, told, *member.place, member.length)
    for member in table.repeated:
        yield Setting("json", member.name, (_told(member.value),), *member.place, member.length)


def _told(value: object) -> Answer:
    if isinstance(value, Unknown | bool | int | float | str):
        return value
    return "null" if value is None else "{...}"


def facts(path: str, table: Table) -> Iterator[Fact]:
    """The facts of a config, in the words of the file: `auto` is one."""
    for row in ROWS.facts:
        name, keys = row.fact, row.path
        member = table.find(*keys)
        if member is None and row.default is not None:
            yield Fact(name, row.default, path, *_nearest(table, keys))
        elif member is not None:
            value = number(member.value)
            yield Fact(
                name, samples(value, table) if name == "global_batch" else value, *member.place
            )
    value, place = precision(path, table)
    yield Fact("precision", value, *place)


def samples(batch: Answer, table: Table) -> Answer:
    """Samples of a step: DeepSpeed counts those that AutoTP's ranks share once for each."""
    tp = table.find(*TP.path)
    ways = tp.value if tp is not None else 1
    if isinstance(batch, int) and isinstance(ways, int) and ways > 1 and batch % ways == 0:
        return batch // ways
    return batch


def number(value: object) -> Answer:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, bool | int | str | Unknown):
        return value
    return Unknown(f"`{value}` is not a whole number")


def _nearest(table: Table, keys: tuple[str, ...]) -> tuple[int, int]:
    """Line and column of the innermost of nested keys that is there, else the start."""
    for count in range(len(keys) - 1, 0, -1):
        if (member := table.find(*keys[:count])) is not None:
            return member.place[1], member.place[2]
    return 1, 1


def precision(path: str, table: Table) -> tuple[Answer, tuple[str, int, int]]:
    """`bf16=True`, `fp16=auto+bf16=auto`, or fp32 where neither is on."""
    parts: list[str] = []
    place: tuple[str, int, int] = (path, 1, 1)
    for name in PRECISIONS:
        member = table.find(name, "enabled") or (
            table.find("bfloat16", "enabled") if name == "bf16" else None
        )
        if member is None or member.value is False:
            continue
        if isinstance(member.value, Unknown):
            return member.value, member.place
        parts.append(f"{name}={member.value}")
        place = member.place
    return "+".join(parts) or "fp32", place
