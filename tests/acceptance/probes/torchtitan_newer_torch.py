"""What torchtitan 0.3.0 takes from a PyTorch later than 2.13 before it trains, by means of 2.13.

One thing: FSDP2 that takes plain parameters with `spmd_types` annotations. 2.13 wants DTensors on the same
mesh (_fsdp_param.py:345), so each annotated parameter is wrapped as one, with the placements that torchtitan
itself derives from the annotation (distributed/spmd_types.py, plain_tensor_to_dtensor_state_dict). Meshes,
rules and the sharding that follows are those of the default `spmd_backend`. What steps need beside it
(set_timeout, micro-batches by name) is not called before the first one.
"""

from __future__ import annotations

from typing import Any

from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam
from torch.distributed.tensor import DTensor
from torch.nn import Parameter
from torchtitan.protocols.module import Module
from torchtitan.protocols.sharding import resolve_placements

#: The annotation of a parameter and its whole shape, kept on it.
ANNOTATION = "_parc_annotation"


def shards_of_annotated_parameters() -> None:
    annotate, shard = Module._spmd_distribute_state, FSDPParam._init_sharding_spec

    def annotated(
        module: Any, dims: Any, name: str, tensor: Any, layout: Any, *, is_param: bool
    ) -> None:
        annotate(module, dims, name, tensor, layout, is_param=is_param)
        if is_param:
            setattr(module._parameters[name], ANNOTATION, (layout, tensor))

    def sharded(self: Any, parameter: Any, placement: Any, dimension: int) -> Any:
        annotation = getattr(parameter, ANNOTATION, None)
        if self.mesh_info.is_spmd_mesh and annotation is not None:
            layout, whole = annotation
            parameter = _as_dtensor(parameter, layout, whole, self.mesh_info)
            self.is_dtensor = True
        return shard(self, parameter, placement, dimension)

    Module._spmd_distribute_state, FSDPParam._init_sharding_spec = annotated, sharded


def _as_dtensor(local: Any, layout: Any, whole: Any, info: Any) -> Parameter:
    """Rows that tp does not divide are why the whole shape is told."""
    return Parameter(
        DTensor.from_local(
            local.data,
            info.spmd_mesh,
            resolve_placements(layout, info.spmd_mesh),
            run_check=False,
            shape=whole.shape,
            stride=whole.stride(),
        )
    )
