"""A Hugging Face checkpoint and a file of token ids -> the loss of transformers, fp32, over all sequences.

A case holds the `checkpoint`, the file `tokens` of 16-bit ids, and `sequence`, their length.
"""

from __future__ import annotations

from typing import Any

import forked
import numpy
import torch
import transformers


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    model = transformers.AutoModelForCausalLM.from_pretrained(
        case["checkpoint"], dtype=torch.float32, attn_implementation="eager"
    )
    ids = torch.from_numpy(numpy.fromfile(case["tokens"], dtype="uint16").astype("int64"))
    with torch.no_grad():
        logits = model(input_ids=ids[:-1].view(-1, case["sequence"])).logits
    loss = torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[1:])
    answer |= {"loss": loss.item(), "stage": "computed"}


if __name__ == "__main__":
    forked.main(check)
