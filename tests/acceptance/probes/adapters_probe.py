"""A checkpoint and what a run saved of its adapters -> the loss of peft's merged model; or a model and
targets -> what transformers, peft and bitsandbytes hold of it.

A case holds the `checkpoint`, the file `tokens` of 16-bit ids, their length `sequence`, the folder `adapter`,
and `four_bits` where transformers is to load the weights in NF4; or the `config` of transformers, `rank` and
the `targets` of peft.
"""

from __future__ import annotations

from typing import Any

import forked
import numpy
import peft
import torch
import transformers
from bitsandbytes import functional


def sixteen_bits(case: dict[str, Any]) -> Any:
    return transformers.AutoModelForCausalLM.from_pretrained(
        case["checkpoint"], dtype=torch.float32, attn_implementation="eager"
    )


def four_bits(case: dict[str, Any]) -> Any:
    """The weights beside trained adapters, as transformers quantizes them, in fp32 to merge with."""
    kind = transformers.BitsAndBytesConfig(
        load_in_4bit=True,
        bnb_4bit_quant_type="nf4",
        bnb_4bit_use_double_quant=True,
        bnb_4bit_compute_dtype=torch.bfloat16,
    )
    model = transformers.AutoModelForCausalLM.from_pretrained(
        case["checkpoint"],
        dtype=torch.bfloat16,
        attn_implementation="eager",
        quantization_config=kind,
        device_map={"": "cpu"},
    )
    return model.dequantize().float()


def merged_loss(case: dict[str, Any]) -> dict[str, Any]:
    model = four_bits(case) if case.get("four_bits") else sixteen_bits(case)
    model = peft.PeftModel.from_pretrained(model, case["adapter"]).merge_and_unload()
    ids = torch.from_numpy(numpy.fromfile(case["tokens"], dtype="uint16").astype("int64"))
    with torch.no_grad():
        logits = model(input_ids=ids[:-1].view(-1, case["sequence"])).logits
    return {"loss": torch.nn.functional.cross_entropy(logits.flatten(0, 1), ids[1:]).item()}


def quantized_bytes(weight: torch.Tensor) -> int:
    """Bytes of all that bitsandbytes keeps of a matrix in NF4 with double quantization."""
    packed, state = functional.quantize_4bit(
        weight, quant_type="nf4", compress_statistics=True, blocksize=64
    )
    nested = state.state2
    kept = (packed, state.absmax, state.code, state.offset, nested.absmax, nested.code)
    return sum(each.numel() * each.element_size() for each in kept)


def held(case: dict[str, Any]) -> dict[str, Any]:
    config = transformers.AutoConfig.for_model(**case["config"])
    model = transformers.AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16)
    linear = [
        module.weight.detach()
        for name, module in model.named_modules()
        if type(module) is torch.nn.Linear and name != "lm_head"
    ]
    whole = sum(each.numel() * each.element_size() for each in model.parameters())
    lora = peft.LoraConfig(r=case["rank"], target_modules=case["targets"])
    tuned = peft.get_peft_model(model, lora)
    trained = [each for each in tuned.parameters() if each.requires_grad]
    return {
        "bytes": whole,
        "trained": sum(each.numel() for each in trained),
        "trained_bytes": sum(each.numel() * each.element_size() for each in trained),
        "nf4_bytes": sum(quantized_bytes(each) for each in linear),
        "kept_bytes": whole - sum(2 * each.numel() for each in linear),
    }


def check(case: dict[str, Any], answer: forked.Answer) -> None:
    answer |= held(case) if "config" in case else merged_loss(case)
    answer |= {"stage": "computed"}


if __name__ == "__main__":
    forked.main(check)
