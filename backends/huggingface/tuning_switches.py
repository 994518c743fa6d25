"""Switches of trainers that decide what a fine-tuning trains and keeps, as lint judges them."""

#: Switches of adapters: peft's in TRL, LLaVA, FastChat and Qwen's own scripts.
ADAPTERS = ("use_peft", "use_lora", "lora_enable", "use_dora")
#: Switches of weights in fewer bits.
NARROW_WEIGHTS = ("load_in_4bit", "load_in_8bit", "q_lora")
#: Switches of kernels whose memory is not priced: no table of logits, activations of their own.
OTHER_KERNELS = (
    "use_liger_kernel",
    "enable_liger_kernel",
    "use_unsloth",
    "liger_fused_linear_cross_entropy",
)
#: What `optim` may be, by transformers' training_args.py and axolotl's: AdamW with two moments in fp32.
ADAMW = (
    "adamw",
    "adamw_hf",
    "adamw_torch",
    "adamw_torch_fused",
    "adamw_torch_xla",
    "adamw_apex_fused",
)
#: Stages of LLaMA-Factory and methods of axolotl and TRL that train one model on text.
ONE_MODEL_STAGES = ("sft", "pt")
#: Programs that train all weights unless a switch above says otherwise: transformers' examples and TRL's.
WHOLE_PROGRAMS = frozenset({"run_clm.py", "run_clm_no_trainer.py", "sft.py"})
