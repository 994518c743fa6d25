"""What `target torchtitan { ... }` may say."""

from typing import Annotated, Literal

from pydantic import Field

from ...dsl.job import Count, Doc, Frozen, Job, Unit


class Options(Frozen):
    """Paths are defaults: launch.sh takes others from DATASET_PATH, HF_ASSETS_PATH and DUMP_FOLDER."""

    version: Annotated[
        Literal["0.2.2", "0.3"],
        Doc("the torchtitan release to write for: TOML for 0.2.2, Python for 0.3.0"),
    ] = "0.2.2"
    dataset: Annotated[str, Doc("a data set that torchtitan knows by name, such as c4")] = "c4"
    data: Annotated[
        str | None, Doc("where the data set lies; fetched from its hub unless given")
    ] = None
    hf_assets_path: Annotated[str, Doc("folder of the tokenizer's files")] = "./assets/hf/tokenizer"
    dump_folder: Annotated[str, Doc("where logs and checkpoints go")] = "./outputs"
    checkpoint: Annotated[str, Doc("folder of checkpoints below dump_folder")] = "checkpoint"
    log_freq: Annotated[Count, Doc("steps between log lines")] = 10
    rope_scaling: Annotated[
        float,
        Unit("1"),
        Field(gt=0),
        Doc("Llama 3.1's frequency scaling, 8 there; 1 is plain rope"),
    ] = 1.0
    router: Annotated[Literal["softmax", "sigmoid"], Doc("score of an expert")] = "softmax"
    router_norm: Annotated[bool, Doc("a token's expert weights sum to one")] = True
    router_scale: Annotated[float, Unit("1"), Field(gt=0), Doc("factor on expert weights")] = 1.0
    router_groups: Annotated[Count | None, Doc("groups of experts for node-limited routing")] = None
    router_limited_groups: Annotated[Count | None, Doc("groups that a token may visit")] = None
    extra: Annotated[
        dict[str, str | int | float | bool], Doc("any other setting, as section.key")
    ] = {}


def options_of(job: Job) -> Options:
    """The job's `target torchtitan` settings, or their defaults."""
    given = job.options("torchtitan")
    return given if isinstance(given, Options) else Options()
