"""Replacements of options that are gone from Megatron-LM, where the name or the value differs."""

#: Option that is gone -> what to write. Those with the same value are in their option's row.
REPLACED = {
    "--checkpoint-activations": "--recompute-activations",
    "--fp8-e4m3": "--fp8-format e4m3",
    "--fp8-hybrid": "--fp8-format hybrid",
    "--warmup": "--lr-warmup-fraction",
}
#: Those that are replaced by an option whose values differ: not for --fix.
UNSAFE = ("--checkpoint-activations", "--warmup")
