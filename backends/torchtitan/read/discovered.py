"""Whether a TOML found in a folder is a configuration of torchtitan, by the tables of its top level."""

import re

from ....dsl.inputs.documents import toml_table

#: A table of these is torchtitan's where another one of its tables stands beside it.
TELLING = frozenset({"training", "parallelism", "experimental", "activation_checkpoint"})
TABLES = TELLING | {
    "job", "profiling", "metrics", "model", "optimizer", "lr_scheduler", "checkpoint", "comm", "compile",
    "float8", "quantize", "validation", "memory_estimation", "fault_tolerance", "debug",
}  # fmt: skip


def is_config(text: str) -> bool:
    try:
        names = {name for name, value in toml_table(text).items() if isinstance(value, dict)}
    except ValueError:
        # The rules say what is wrong with it.
        return re.search(rf"^[^\S\n]*\[(?:{'|'.join(TELLING)})\]", text, re.MULTILINE) is not None
    own = TABLES & names
    return bool(TELLING & own) and 2 * len(own) > len(names)
