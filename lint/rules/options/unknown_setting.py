"""A section or a key that torchtitan does not know.

Why:
torchtitan stops at load: "Invalid field names". Earlier releases had other names; a file in one of their
forms is judged as that form.

Bad:
[training]
local_batch_size = 8
seq_length = 4096

[parallelism]
tensor_parallel_degree = 2

Good:
[training]
local_batch_size = 8
seq_len = 4096

[parallelism]
tensor_parallel_degree = 2
"""

from collections.abc import Iterator

from ....backends.torchtitan.schema import SECTIONS
from ....dsl.diagnostics import did_you_mean
from ....reading.facts import Setting
from ...facts.launched_job import LaunchedJob
from ...finding import Complaint

CODE = "PAR365"
TITLE = "a setting that torchtitan does not know"
SEVERITY = "error"
SOURCE = "torchtitan 0.2.2 config/manager.py:168"
FILE = "train.toml"


_BEFORE_WORDS = """
    training.batch_size training.data_parallel_degree training.data_parallel_replicate_degree
    training.data_parallel_shard_degree training.tensor_parallel_degree training.compile
    training.enable_float8_linear training.enable_async_tensor_parallel training.warmup_steps
    training.enable_fp8_linear training.data_parallel_type training.enable_loss_parallel
    training.gc_freq experimental.pipeline_parallel_degree experimental.context_parallel_degree
    experimental.pipeline_parallel_schedule experimental.enable_async_tensor_parallel
    experimental.pipeline_parallel_split_points experimental.pipeline_parallel_microbatches
    experimental.enable_compiled_autograd model.norm_type model.tokenizer_path model.use_flex_attn
    model.attn_mask_type checkpoint.enable_checkpoint checkpoint.interval_type
    checkpoint.model_weights_only checkpoint.last_save_model_weights_only optimizer.fused
    float8.enable_float8_linear checkpoint.initial_load_model_weights_only
    parallelism.pipeline_parallel_microbatches
"""
#: Names of releases before 0.2: a file that has one of them is read by such a release.
BEFORE = frozenset(_BEFORE_WORDS.split()) - frozenset({"training.gc_freq"})
#: Sections of experiments and forks, and of older releases.
FOREIGN = ("float8", "mx", "custom", "job.custom")


def check(launch: LaunchedJob) -> Iterator[Complaint]:
    settings = launch.all("toml")
    if launch.framework != "torchtitan" or any(setting.name in BEFORE for setting in settings):
        return
    if any(setting.name.startswith("job.custom_config_module") for setting in settings):
        return
    for setting in settings:
        section, _, key = setting.name.rpartition(".")
        if section.split(".")[0] in FOREIGN or key in SECTIONS.get(section, ()):
            continue
        if section not in SECTIONS:
            if not any(known.startswith(f"{section}.") for known in SECTIONS) or key:
                yield from _unknown_section(setting, section, key)
            continue
        near = did_you_mean(key, SECTIONS[section])
        yield Complaint(f"[{section}] has no key `{key}` in {VERSION}", setting, help=near)


def _unknown_section(setting: Setting, section: str, key: str) -> Iterator[Complaint]:
    parent, _, name = section.rpartition(".")
    if parent in SECTIONS and name in SECTIONS[parent]:
        return
    near = did_you_mean(section, SECTIONS)
    yield Complaint(f"there is no section [{section}] in {VERSION}", setting, help=near)


VERSION = "torchtitan 0.2.2"
