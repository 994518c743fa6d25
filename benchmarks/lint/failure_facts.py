"""The facts of a reported failure, as a table of failures writes them -> values by name, with legal defaults.

    world=4; tp=8; layers % pp != 0; cp>1; sp=true; #SBATCH --gpus-per-node=8; PipelineModule

Numbers that a condition leaves open are chosen so that it holds; what no fact speaks of keeps a legal value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

#: Other words for the same quantity.
ALIASES = {
    "mp": "tp", "mp_size": "tp", "tp_size": "tp", "tensor_parallel": "tp", "tensor_parallel_size": "tp",
    "pp_size": "pp", "stages": "pp", "pipeline_parallel_size": "pp", "cp_size": "cp", "ep_size": "ep",
    "gpus": "world", "nproc": "world", "world_size": "world", "n_gpus": "world", "gpu": "world",
    "ranks": "world", "np": "processes", "nproc_per_node": "processes",
    "n_kv_heads": "kv_heads", "kv": "kv_heads", "num_kv_heads": "kv_heads", "num_key_value_heads": "kv_heads",
    "num_query_groups": "kv_heads", "query_groups": "kv_heads", "n_heads": "heads", "num_heads": "heads",
    "num_attention_heads": "heads", "num_experts": "experts", "num_layers": "layers", "n_layers": "layers",
    "seq": "seq_len", "seq_length": "seq_len", "s": "seq_len", "length": "seq_len", "max_length": "seq_len",
    "micro_batch": "mbs", "micro_batch_size": "mbs", "micro": "mbs", "gbs": "gbs", "batch": "gbs",
    "global_batch_size": "gbs", "global_batch": "gbs", "batch_size": "gbs", "train_batch": "gbs",
    "train_batch_size": "gbs", "m": "microbatches", "num_microbatches": "microbatches",
    "micro_batches": "microbatches", "gradient_accumulation_steps": "ga", "grad_acc": "ga",
    "ulysses": "ulysses_sp", "sequence_parallel_size": "ulysses_sp", "sp_size": "ulysses_sp",
    "zero": "stage", "zero_stage": "stage", "sequence_parallel": "sp",
    "layers_per_virtual_stage": "layers_per_vstage",
    "num_layers_per_virtual_pipeline_stage": "layers_per_vstage", "virtual_stages": "vpp", "vp": "vpp",
    "vp_size": "vpp", "required": "group", "hidden_size": "hidden", "ntasks-per-node": "tasks_per_node",
    "ntasks_per_node": "tasks_per_node", "world_launched": "world",
}  # fmt: skip
#: Where a failure says nothing. A sequence is of any even length.
DEFAULTS = {
    "world": 8, "tp": 1, "pp": 1, "cp": 1, "ep": 1, "layers": 48, "heads": 64, "seq_len": 4098,
    "mbs": 1, "nodes": 1, "dp_shard": 8, "ulysses_sp": 1,
}  # fmt: skip
_NAME = r"[A-Za-z_][\w.-]*"
_FACTOR = rf"(?:{_NAME}|\d+)"
_PRODUCT = rf"\(?\s*({_FACTOR}(?:\s*\*\s*{_FACTOR})*)\s*\)?"
_WORD_FOR_ONE = {"none": 0, "off": 0, "false": 0, "0": 0, "true": 1, "on": 1, "yes": 1}


@dataclass
class Facts:
    """`numbers` by quantity, `words` by their own name, `lines` of files, `remarks`: all of the text."""

    numbers: dict[str, int] = field(default_factory=dict)
    words: dict[str, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    remarks: str = ""

    def get(self, name: str) -> int:
        return self.numbers.get(name, DEFAULTS.get(name, 1))

    def given(self, *names: str) -> bool:
        return any(name in self.numbers for name in names)

    @property
    def dp(self) -> int:
        group = self.get("tp") * self.get("pp") * self.get("cp")
        return max(self.get("world") // group, 1)


def facts_of(text: str) -> Facts:
    facts = Facts()
    relations: list[tuple[str, str]] = []
    for part in _parts(text):
        relations += _part(facts, part)
    if "dp" in facts.numbers and "world" not in facts.numbers:
        group = facts.get("tp") * facts.get("pp") * facts.get("cp")
        facts.numbers["world"] = facts.numbers["dp"] * group
    for multiple, factors in relations:
        _break(facts, multiple, factors)
    return facts


def _parts(text: str) -> Iterator[str]:
    for part in text.split(";"):
        yield from (piece.strip() for piece in re.split(r",\s*or\s+", part) if piece.strip())


def _part(facts: Facts, part: str) -> list[tuple[str, str]]:
    """Take one fact; a divisibility that fails is returned, and chosen when all numbers are known."""
    plain = re.sub(r"\([^()]*\)\s*$", "", part).strip()
    facts.remarks += f" {part}"
    if part.startswith("#SBATCH") or re.match(r"(?:export\s+)?[A-Z][A-Z0-9_]+=", part):
        facts.lines.append(part)
        return []
    if match := re.fullmatch(rf"({_NAME})\s*%\s*{_PRODUCT}(?:\s*!=\s*0)?", plain):
        return [(match[1], match[2])]
    if match := re.fullmatch(rf"({_NAME})\s+does not divide\s+{_PRODUCT}", plain):
        return [(match[2], match[1])]
    if match := re.fullmatch(rf"(?:.*\s)?({_NAME})\s+not (?:a )?multiple of\s+{_PRODUCT}", plain):
        return [(match[1], match[2])]
    if match := re.fullmatch(rf"({_NAME})\s*([<>]|!=)\s*{_PRODUCT}", plain):
        facts.words[match[1]] = f"{match[2]} {match[3]}"
        _beyond(facts, match[1], match[2], match[3])
    elif match := re.fullmatch(rf"({_NAME})\s*([<>])\s*(\d+)", plain):
        number = int(match[3])
        facts.numbers[_canonical(match[1])] = number * 2 if match[2] == ">" else number // 2
    elif match := re.fullmatch(rf"({_NAME})=(\w)>({_NAME}).*", plain):
        _beyond(facts, match[1], ">", match[3])
        if used := re.search(rf"used as ({_NAME})", plain):
            facts.numbers[_canonical(used[1])] = facts.get(_canonical(match[1]))
    elif match := re.match(rf"({_NAME})=(.*)$", plain):
        _value(facts, match[1], match[2].strip())
    return []


def _value(facts: Facts, name: str, value: str) -> None:
    facts.words[name] = value
    number = _WORD_FOR_ONE.get(value.lower(), value)
    if str(number).isdecimal():
        facts.numbers[_canonical(name)] = int(number)


def _canonical(name: str) -> str:
    return ALIASES.get(name, ALIASES.get(name.lower(), name.lower() if len(name) > 1 else name))


def _product(facts: Facts, text: str) -> int:
    product = 1
    for name in re.findall(_FACTOR, text):
        if name.isdigit():
            product *= int(name)
            continue
        product *= facts.dp if name == "dp" else facts.get(_canonical(name))
    return product


def _beyond(facts: Facts, name: str, sign: str, other: str) -> None:
    """A number above, below or beside a product of others."""
    product = _product(facts, other)
    chosen = {">": product * 2, "<": max(product // 2, 1), "!=": product + 1}[sign]
    facts.numbers[_canonical(name)] = chosen


def _break(facts: Facts, multiple: str, factors: str) -> None:
    """Choose a number that is no multiple: the left one, or a factor when the left one is given."""
    names = [_canonical(name) for name in re.findall(_NAME, factors)]
    for name in names:
        if name != "dp" and facts.get(name) < 2:
            facts.numbers[name] = 4
    left = [_canonical(name) for name in re.findall(_NAME, multiple)]
    product = _product(facts, factors)
    if len(left) > 1 or (left[0] in facts.numbers and names[0] not in facts.numbers):
        facts.numbers[names[0]] = _non_divisor(_product(facts, multiple))
    elif facts.get(left[0]) % product == 0 or left[0] not in facts.numbers:
        facts.numbers[left[0]] = product * 4 + 1


def _non_divisor(number: int) -> int:
    return next(way for way in range(3, number + 2) if number % way)
