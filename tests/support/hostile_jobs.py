"""A job whose every text setting holds a given text; the settings are found by walking the language."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from pydantic import BaseModel

from parc.backends import BACKENDS
from parc.dsl.job import Launch, Train
from parc.dsl.schema import setting_types
from parc.dsl.syntax.quoting import quoted

#: A text by the path of a setting, such as `launch.account`.
Texts = Callable[[str], str]


@dataclass(frozen=True)
class Variant:
    """A target, what its block says besides texts, and which settings of it are left out."""

    target: str
    says: str = ""
    without: frozenset[str] = frozenset()
    layout: Mapping[str, int] = field(default_factory=dict)


_SPLITS = frozenset({"train_data", "valid_data", "test_data"})
ZERO = {"zero": 3}
VARIANTS = {
    "megatron": Variant("megatron", "", _SPLITS, {"zero": 1}),
    "megatron-splits": Variant("megatron", "", frozenset({"data", "split"}), {"zero": 1}),
    "deepspeed": Variant("deepspeed", "", frozenset(), {"zero": 1}),
    "torchtitan": Variant("torchtitan", "", frozenset(), ZERO),
    "torchtitan-0.2.0": Variant("torchtitan", 'version = "0.2.0"', frozenset(), ZERO),
    "torchtitan-0.3": Variant("torchtitan", 'version = "0.3"', frozenset({"wandb"}), ZERO),
}
#: An option of each target's `extra` whose value is a text.
EXTRA = {
    "megatron": "wandb_entity",
    "deepspeed": "csv_monitor.output_path",
    "torchtitan": "comm.save_traces_folder",
}
#: Settings whose text means something: an architecture, code, options of bash, the split's numbers.
MEANT = {"setup": "true", "split": "8,1,1", "gpu_type": "h100"}
BASE = """
model m { layers = 4; hidden = 512; heads = 8; vocab = 32000; ffn = 2048 }
cluster c from std.dgx_h100 { nodes = 2; gpus_per_node = 4 }
goal { maximize mfu }
"""


def job_text(variant: Variant, texts: Texts) -> str:
    """The job in the language, and its layout's degrees beside it."""
    options = BACKENDS[variant.target].target.options
    train = [
        "seq_len = 1024",
        "global_batch = 64",
        "steps = 100",
        *_settings("train", Train, texts),
    ]
    own = [variant.says, *_settings(variant.target, options, texts, variant.without)]
    launch = _settings("launch", Launch, texts)
    blocks = {"train": train, f"target {variant.target}": own, "launch slurm": launch}
    return BASE + "".join(
        f"{head} {{\n  " + "\n  ".join(filter(None, lines)) + "\n}\n"
        for head, lines in blocks.items()
    )


def _settings(
    block: str, model: type[BaseModel], texts: Texts, without: frozenset[str] = frozenset()
) -> list[str]:
    found = []
    for name, setting in setting_types(model).items():
        if name not in without and (value := _value(block, name, str(setting.kind), texts)):
            found.append(f"{name} = {value}")
    return found


def _value(block: str, name: str, kind: str, texts: Texts) -> str | None:
    if kind not in ("text", "data", "texts", "table"):
        return None
    text = quoted(MEANT.get(name) or texts(f"{block}.{name}"))
    if kind in ("text", "data"):
        return text
    if kind == "texts":
        return f"[{text}]"
    key = {"env": "GIVEN", "extra": EXTRA.get(block, "comment")}[name]
    return f"{{ {quoted(key)} = {text} }}"


def fields(variant: Variant) -> list[str]:
    """The paths of the settings that get a text."""
    asked: list[str] = []

    def note(path: str) -> str:
        asked.append(path)
        return "x"

    job_text(variant, note)
    return [path for path in asked if path.partition(".")[2] not in MEANT]


#: Settings that become directives of sbatch, which has neither variables nor lines.
DIRECTIVES = {
    f"launch.{name}"
    for name in ("job_name", "partition", "account", "qos", "constraint", "reservation", "extra")
}


#: Settings that name a folder, which is made where a script runs; Linux takes names of 255 bytes.
FOLDERS = {"megatron.checkpoints", "deepspeed.save", "torchtitan.dump_folder"}


def fitting(path: str, text: str) -> str:
    """The text between marks, by which it is known again, without what means more than text here."""
    if path in DIRECTIVES:
        text = "".join(each for each in text if each.isprintable()).replace("$", "%")
    if path in FOLDERS:
        text = text.encode()[:200].decode(errors="ignore")
    if path == "launch.modules":  # a line of names with blanks between them
        text = re.sub(r"\s", "", text)
    if path in ("launch.container", "launch.mounts"):
        text = "".join(each for each in text if each.isprintable())
    text = re.sub(r"\$(?=[A-Za-z_{])", "%", text)  # variables of a path stay variables
    return f"{'' if path in FOLDERS else '/'}{path}<{text}>"
