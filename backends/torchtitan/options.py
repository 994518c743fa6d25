"""Settings of `target torchtitan { ... }`."""

from typing import Annotated, Literal

from ...dsl.job import Job
from ...dsl.settings import Data, Decides, Doc, Open
from ..observation import Observation


class Options(Observation):
    """Paths are defaults: launch.sh takes others from DATASET_PATH, HF_ASSETS_PATH and DUMP_FOLDER."""

    version: Annotated[
        Literal["0.2.0", "0.2.1", "0.2.2", "0.3"],
        Doc("the torchtitan release to write for: TOML for 0.2, Python for 0.3.0"),
    ] = "0.2.2"
    data: Annotated[
        Data | None,
        Doc("c4, c4_test or c4_validation, or a file or folder of rows with a `text`"),
        Decides(),
    ] = None
    validation: Annotated[
        Data | None, Doc("what to evaluate on, as `data`; nothing is evaluated unless given")
    ] = None
    hf_assets_path: Annotated[
        str,
        Doc("folder of the tokenizer's files"),
        Decides(),
    ] = "./assets/hf/tokenizer"
    dump_folder: Annotated[str, Doc("where logs and checkpoints go")] = "$RUN_DIR"
    checkpoint: Annotated[str, Doc("folder of checkpoints below dump_folder")] = "checkpoints"
    save: Annotated[bool, Doc("write checkpoints at all")] = True
    schedule: Annotated[
        Literal["1f1b", "gpipe", "interleaved_zb", "zbv", "dualpipev"] | None,
        Doc(
            "the order of a pipeline's passes; 1f1b, interleaved where vpp is above 1, unless given"
        ),
        Open(),
    ] = None
    cp_comm: Annotated[
        Literal["p2p", "all_gather"],
        Doc(
            "how context parallelism exchanges keys and values: whole, or in 0.2.0 and 0.2.1 around a ring"
        ),
        Open(),
    ] = "all_gather"
    attention_kernel: Annotated[
        Literal["cudnn", "fa2", "flex", "flex_flash", "varlen"] | None,
        Doc("kernel of attention; cudnn in 0.2 and flex in 0.3 unless given"),
        Open(),
    ] = None
    loss_kernel: Annotated[
        Literal["eager", "fused"] | None,
        Doc("the loss compiled or in PyTorch's kernels; as `train.compile` unless given"),
        Open(),
    ] = None
    tp_overlap: Annotated[
        bool,
        Doc("tensor-parallel traffic in pieces beside its products; needs `train.compile`"),
        Open(),
    ] = False
    fp8_recipe: Annotated[
        Literal["tensorwise", "rowwise", "rowwise_with_gw_hp"],
        Doc("how fp8 products are scaled; the last has gradients of weights in bf16"),
        Open(),
        Decides(),
    ] = "tensorwise"
    cuda_graph: Annotated[
        bool | None,
        Doc("forward and backward pass as one CUDA graph; 0.3 does where it can unless given"),
        Open(),
    ] = None
    extra: Annotated[
        dict[str, str | int | float | bool],
        Doc("any other setting, as section.key"),
        Decides(),
    ] = {}


def options_of(job: Job) -> Options:
    """The job's `target torchtitan` settings, or their defaults."""
    given = job.options("torchtitan")
    return given if isinstance(given, Options) else Options()
