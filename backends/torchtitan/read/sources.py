"""The files of a torchtitan job as values with places: TOML, registered models, launch script."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from ....dsl.inputs.documents import python_module, toml_table
from ....reading.facts import Unknown
from .spelling import KEYS

Number = int | Unknown

#: Values of 0.2.2 for what a file leaves out (torchtitan/config/job_config.py).
DEFAULTS: dict[str, Any] = {
    "model.name": "llama3",
    "model.flavor": "debugmodel",
    "model.converters": [],
    "training.local_batch_size": 8,
    "training.global_batch_size": -1,
    "training.seq_len": 2048,
    "training.mixed_precision_param": "bfloat16",
    "parallelism.data_parallel_replicate_degree": 1,
    "parallelism.data_parallel_shard_degree": -1,
    "parallelism.fsdp_reshard_after_forward": "default",
    "parallelism.tensor_parallel_degree": 1,
    "parallelism.pipeline_parallel_degree": 1,
    "parallelism.pipeline_parallel_schedule": "1F1B",
    "parallelism.pipeline_parallel_first_stage_less_layers": 1,
    "parallelism.pipeline_parallel_last_stage_less_layers": 1,
    "parallelism.pipeline_parallel_microbatch_size": 1,
    "parallelism.context_parallel_degree": 1,
    "parallelism.expert_parallel_degree": 1,
    "activation_checkpoint.mode": "selective",
}


#: Key -> the one that replaces it, in tokens, from 0.5.0 on (torchtitan/config/configs.py, TrainingConfig).
#: Where the new one is given, the default of an earlier release does not hold.
LATER = {
    "training.seq_len": "training.max_context_length",
    "training.local_batch_size": "training.num_tokens_per_microbatch_per_dp_rank",
    "training.global_batch_size": "training.num_tokens_per_train_step",
}


@dataclass(frozen=True)
class Place:
    path: str
    line: int
    column: int = 1


@dataclass(frozen=True)
class Settings:
    """A TOML file's settings by `section.key`, under 0.2.2's names.

    `written` has the name in the file where it is an older one.
    """

    path: str
    values: Mapping[str, Any]
    places: Mapping[str, Place]
    written: Mapping[str, str] = field(default_factory=dict)

    def given(self, key: str) -> bool:
        return key in self.values

    def value(self, key: str) -> Any:
        if key not in self.values and LATER.get(key) in self.values:
            return Unknown(f"`{LATER[key]}` of a later release says it")
        return self.values.get(key, DEFAULTS.get(key))

    def number(self, key: str) -> Number:
        value = self.value(key)
        if isinstance(value, Unknown):
            return value
        if isinstance(value, bool) or not isinstance(value, int):
            return Unknown(f"`{key}` is {value!r}, not a whole number")
        return value

    def text(self, key: str) -> str | Unknown:
        value = self.value(key)
        return value if isinstance(value, str) else Unknown(f"`{key}` is {value!r}, not text")

    def place(self, key: str) -> Place:
        """Where a setting stands; its section, or the file's first line, when it is left out."""
        section = key.rpartition(".")[0]
        return self.places.get(key, self.places.get(section, Place(self.path, 1)))

    def with_overrides(self, others: Mapping[str, tuple[Any, Place]]) -> Settings:
        """As the command line changes them."""
        values = {**self.values, **{key: value for key, (value, _) in others.items()}}
        places = {**self.places, **{key: place for key, (_, place) in others.items()}}
        return replace(self, values=values, places=places)


#: The builder of optimizers that moves the biases of experts; a model's own may be another.
BALANCING = "build_optimizers_with_moe_load_balancing"
_HEADER = re.compile(r"\s*\[([\w.\-]+)\]")
_KEY = re.compile(r"\s*([\w.\-]+)\s*=")


def settings_of(path: str, text: str) -> Settings:
    """Raises ValueError for what is no TOML."""
    places: dict[str, Place] = {}
    section = ""
    for number, line in enumerate(text.splitlines(), 1):
        if header := _HEADER.match(line):
            section = header[1]
            places.setdefault(section, Place(path, number, header.start(1)))
        elif key := _KEY.match(line):
            name = f"{section}.{key[1]}" if section else key[1]
            places.setdefault(name, Place(path, number, key.start(1) + 1))
    written = _flat(toml_table(text))
    values: dict[str, Any] = {}
    names: dict[str, str] = {}
    for name, value in written.items():
        today = KEYS.get(name, name)
        if today != name and today in written:
            continue
        values[today] = value
        if today != name:
            names[today] = name
            places[today] = places.get(name, Place(path, 1))
    return Settings(path, values, places, names)


def _flat(table: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for key, value in table.items():
        found |= (
            _flat(value, f"{prefix}{key}.")
            if isinstance(value, dict)
            else {f"{prefix}{key}": value}
        )
    return found


@dataclass(frozen=True)
class Registered:
    """`llama3_args["name"] = TransformerModelArgs(...)` in a Python file: its arguments, read and not run.

    `kind` is the class of the arguments; `constants` are the module's own, a computed one as Unknown.
    """

    arguments: Mapping[str, Any]
    place: Place
    kind: str = ""
    constants: Mapping[str, Any] = field(default_factory=dict)

    def number(self, argument: str) -> Number:
        value = self.arguments.get(argument)
        if isinstance(value, bool) or not isinstance(value, int):
            return Unknown(f"`{argument}` is not a whole number in {self.place.path}")
        return value

    @property
    def kv_heads(self) -> Number:
        """All heads where the arguments name none: llama3's default, and what latent attention has."""
        return self.number("n_heads" if self.arguments.get("n_kv_heads") is None else "n_kv_heads")

    @property
    def experts(self) -> Number:
        """Routed experts; qwen3 has them only with moe_enabled, deepseek_v3 from layer n_dense_layers on.

        gpt_oss has them always.
        """
        latent = "n_dense_layers" in self.arguments
        dense = latent and self.arguments["n_dense_layers"] == self.arguments.get("n_layers")
        always = latent or self.kind == "GptOssModelArgs"
        if dense or not (always or self.arguments.get("moe_enabled")):
            return 0
        nested = self.arguments.get("moe_args")
        return replace(self, arguments=nested if isinstance(nested, dict) else {}).number(
            "num_experts"
        )


def registered(path: str, text: str) -> dict[str, Registered]:
    """Models by flavor; raises SyntaxError for what is no Python."""
    found: dict[str, Registered] = {}
    tree = python_module(text)
    constants = dict(_constants(tree)) | {"balancing": BALANCING in text}
    for statement in tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Subscript(slice=ast.Constant(value=str(flavor)))],
                value=ast.Call() as call,
            ):
                place = Place(path, statement.lineno)
                found[flavor] = Registered(
                    _arguments(call), place, ast.unparse(call.func), constants
                )
    return found


def _constants(tree: ast.Module) -> Iterator[tuple[str, Any]]:
    """A name for another constant has its value."""
    known: dict[str, Any] = {}
    for statement in tree.body:
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)], value=value):
                given = isinstance(value, ast.Name) and value.id in known
                known[name] = known[ast.unparse(value)] if given else _literal(value)
    yield from known.items()


def _arguments(call: ast.Call) -> dict[str, Any]:
    return {
        keyword.arg: _literal(keyword.value) for keyword in call.keywords if keyword.arg is not None
    }


def _literal(node: ast.expr) -> Any:
    if isinstance(node, ast.Call):
        return _arguments(node)
    try:
        return ast.literal_eval(node)
    except ValueError:
        return Unknown("it is computed")


@dataclass(frozen=True)
class Launch:
    """How torchrun starts the ranks of one node; `nodes` is the script's own default."""

    nodes: Number
    per_node: Number
    place: Place

    @property
    def world(self) -> Number:
        if isinstance(self.nodes, Unknown) or isinstance(self.per_node, Unknown):
            return self.nodes if isinstance(self.nodes, Unknown) else self.per_node
        return self.nodes * self.per_node
