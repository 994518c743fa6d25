"""A section or a key that torchtitan does not know.

Why:
torchtitan stops at load: "Invalid field names". Judged is the release that the files or the settings of lint
name, else 0.2.2. A file in the form of a release before 0.2 is not judged.

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

from ....backends.torchtitan.releases import RELEASES
from ....backends.torchtitan.schema import Kinds
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
    written = RELEASES.get(launch.versions.get("torchtitan", ""), RELEASES["0.2.2"])
    for setting in settings:
        yield from _unknown(setting, written.sections, f"torchtitan {written.name}")


def _unknown(setting: Setting, sections: Kinds, version: str) -> Iterator[Complaint]:
    section, _, key = setting.name.rpartition(".")
    if section.split(".")[0] in FOREIGN or key in sections.get(section, ()):
        return
    if section in sections:
        near = did_you_mean(key, sections[section])
        yield Complaint(f"[{section}] has no key `{key}` in {version}", setting, help=near)
    elif not any(known.startswith(f"{section}.") for known in sections) or key:
        parent, _, name = section.rpartition(".")
        if name not in sections.get(parent, ()):
            near = did_you_mean(section, sections)
            yield Complaint(f"there is no section [{section}] in {version}", setting, help=near)
