"""The tool that lists what a release accepts, on small code of our own in the forms that frameworks use."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.lint.listing.__main__ import main
from benchmarks.lint.listing.argparse_options import options
from benchmarks.lint.listing.class_fields import classes_of, rows_of
from benchmarks.lint.listing.deepspeed_keys import keys
from benchmarks.lint.listing.table import table
from parc.backends.released_options import option_table

PARSER = """
def add(parser):
    group = parser.add_argument_group(title='shape')
    group.add_argument('--layers', '--num-layers', type=int, default=None)
    group.add_argument('--split', nargs='*', type=float, default=[0.9, 0.1])
    group.add_argument('--stage', type=int, default=0, choices=range(0, 3))
    group.add_argument('--order', choices=['up', 'down', None])
    group.add_argument('--mode', type=lambda word: Mode[word], choices=list(Mode))
    group.add_argument('--no-fusion', action='store_false', dest='fusion')
    group.add_argument('path')
"""


def test_options_of_a_parser() -> None:
    rows = {row.pop("name"): row for row in options(PARSER)}
    assert list(rows) == [
        "--layers", "--num-layers", "--split", "--stage", "--order", "--mode", "--no-fusion",
    ]  # fmt: skip
    assert rows["--split"] == {"kind": "float", "count": "*", "choices": "", "default": "0.9 0.1"}
    assert (rows["--stage"]["choices"], rows["--order"]["choices"]) == ("0|1|2", "up|down|")
    assert (rows["--mode"]["kind"], rows["--mode"]["choices"]) == ("<lambda>", "")
    assert (rows["--no-fusion"]["kind"], rows["--no-fusion"]["default"]) == ("switch", "True")


CLASSES = """
class Device(str, Enum):
    none = "none"
    cpu = "cpu"

@dataclass
class Base:
    steps: int = 10

@dataclass
class Offload:
    device: Device = "none"
    pin: Optional[bool] = Field(False, alias="pin_memory")

@dataclass
class Config(Base):
    offload: Offload = field(default_factory=Offload)
    mode: Literal["full", "none"] = "none"
    names: list[str] = field(default_factory=list)
    old: str = field(default="a", metadata={"help": "Deprecated. Use `mode` instead."})
    _hidden: int = 1
"""


def test_fields_of_classes() -> None:
    classes = classes_of(CLASSES)
    rows = {row.pop("name"): row for row in rows_of(classes["Config"], classes, "top")}
    assert list(rows) == [
        "top.steps", "top.offload", "top.offload.device", "top.offload.pin",
        "top.offload.pin_memory", "top.mode", "top.names", "top.old",
    ]  # fmt: skip
    assert rows["top.offload"] == {"kind": "section"}
    assert rows["top.offload.device"]["choices"] == "none|cpu"
    assert (rows["top.offload.pin"]["kind"], rows["top.offload.pin"]["default"]) == (
        "bool",
        "false",
    )
    assert (rows["top.mode"]["choices"], rows["top.names"]["kind"]) == ("full|none", "list")
    assert rows["top.old"]["instead"] == "mode"


READER = """
from .constants import *

class Offload(Model):
    device: str = "none"

class Zero(Model):
    stage: int = 0
    offload: Offload = None

def batch(param_dict, key=BATCH):
    return get_scalar_param(param_dict, key, BATCH_DEFAULT)

def half(param_dict):
    for key in [HALF, HALF_OLD]:
        if key in param_dict.keys():
            return get_scalar_param(param_dict[key], ENABLED, False)

def checkpoint(param_dict):
    return param_dict.get(CHECKPOINT, {})

class DeepSpeedConfig(object):
    def _initialize_params(self, param_dict):
        self.batch = batch(param_dict)
        self.micro = batch(param_dict, MICRO)
        self.half = half(param_dict)
        kept = checkpoint(param_dict)
        self.tag = kept.get("tag", "warn")
        self.zero = Zero(**param_dict[ZERO])
"""
CONSTANTS = """
BATCH = "train_batch_size"
BATCH_DEFAULT = 8
MICRO = "micro_batch_size"
HALF, HALF_OLD = "half", "half_old"
HALF = "half"
HALF_OLD = "half_old"
ENABLED = "enabled"
CHECKPOINT = "checkpoint"
ZERO = "zero"
"""


def test_keys_that_a_configuration_is_asked_for() -> None:
    texts = {"runtime/config.py": READER, "runtime/constants.py": CONSTANTS}
    rows = {row.pop("name"): row for row in keys(texts)}
    assert sorted(rows) == [
        "checkpoint", "checkpoint.tag", "half", "half.enabled", "half_old", "micro_batch_size",
        "train_batch_size", "zero", "zero.offload", "zero.offload.device", "zero.stage",
    ]  # fmt: skip
    assert rows["train_batch_size"] == {"kind": "int", "default": "8"}
    assert (rows["half.enabled"]["kind"], rows["checkpoint.tag"]["default"]) == ("bool", "warn")
    assert (rows["zero"]["kind"], rows["zero.stage"]["kind"]) == ("section", "int")


def test_a_table_reads_as_it_was_written() -> None:
    first = [{"name": "--a", "kind": "int"}, {"name": "--b", "kind": "str", "choices": "x|y"}]
    later = [{"name": "--a", "kind": "float"}]
    rows = {"1": first, "2": first, "3": later}
    written = table(rows, {"1": "1.0", "2": "2.0", "3": "3.1"}, "how")
    assert written.splitlines()[0] == "# 1=1.0 2=2.0 3=3.1 # how"
    read = option_table(written)
    assert dict(read.versions) == {"1": "1.0", "2": "2.0", "3": "3.1"}
    assert (read.releases_with("--a"), read.releases_with("--b")) == (("1", "2", "3"), ("1", "2"))
    assert (read.options("2")["--a"].kind, read.options("3")["--a"].kind) == ("int", "float")
    assert read.options("1")["--b"].choices == ("x", "y")


def test_forks_with_dashes_are_no_spans() -> None:
    rows = {"a-b": [{"name": "--x"}], "c": [{"name": "--x"}], "d-e": [{"name": "--x"}]}
    written = table(rows, {"a-b": "1", "c": "2", "d-e": "3"})
    assert option_table(written).releases_with("--x") == ("a-b", "c", "d-e")


def test_the_command_lists_what_a_fork_has_beside_the_releases(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "megatron" / "training"
    folder.mkdir(parents=True)
    (folder / "arguments.py").write_text(
        "parser.add_argument('--num-layers', type=int)\n"
        "parser.add_argument('--optimizer', default='adam', choices=['adam', 'ours'])\n"
        "parser.add_argument('--our-own', action='store_true')\n"
    )
    main("forks", f"ours:us/Megatron-LM@1={tmp_path}")
    read = option_table(capsys.readouterr().out)
    assert dict(read.versions) == {"ours": "us/Megatron-LM@1"}
    assert sorted(read.by_name) == ["--optimizer", "--our-own"]
