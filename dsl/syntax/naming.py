"""Any text -> a name that a block of a job may have."""

import re

#: The word behind which the head of a block says where it is from: `model from { }` has no name.
FROM = "from"


def block_name(text: str, kind: str) -> str:
    """The text's letters and digits, other runs as `_`; `kind` before what is no name, and for nothing.

    `Llama-3.1-8B` is Llama_3_1_8B, and of kind "model" `7b` is model_7b.
    """
    name = re.sub(r"\W+", "_", text, flags=re.ASCII).strip("_")
    if not name:
        return kind
    return name if name[0].isalpha() and name != FROM else f"{kind}_{name}"
