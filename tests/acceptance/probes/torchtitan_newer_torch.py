"""What torchtitan 0.3.0 takes from a PyTorch later than 2.13 before it trains, by means of 2.13.

One thing: FSDP2 that accepts plain parameters with `spmd_types` annotations. 2.13 wants DTensors on the same mesh
(_fsdp_param.py:345), so each annotated parameter is wrapped as one, with the placements that torchtitan itself
derives from the annotation (distributed/spmd_types.py, plain_tensor_to_dtensor_state_dict). Meshes, rules and
the sharding that follows are those of the default `spmd_backend`.
"""

from __future__ import annotations

from typing import Any

from torch.distributed.fsdp._fully_shard._fsdp_param import FSDPParam
from torch.distributed.tensor import DTensor
from torch.nn import Parameter
from torchtitan.protocols.module import Module
from torchtitan.protocols.sharding import resolve_placements

#: The annotation of a parameter, kept on it.
LAYOUT = "_parc_layout"


def shards_of_annotated_parameters() -> None:
    annotate, shard = Module._spmd_distribute_state, FSDPParam._init_sharding_spec

    def annotated(
        module: Any, dims: Any, name: str, tensor: Any, layout: Any, *, is_param: bool
    ) -> None:
        annotate(module, dims, name, tensor, layout, is_param=is_param)
        if is_param:
            setattr(module._parameters[name], LAYOUT, layout)

    def sharded(self: Any, parameter: Any, placement: Any, dimension: int) -> Any:
        layout = getattr(parameter, LAYOUT, None)
        if self.mesh_info.is_spmd_mesh and layout is not None:
            mesh = self.mesh_info.spmd_mesh
            placements = resolve_placements(layout, mesh)
            whole = DTensor.from_local(parameter.data, mesh, placements, run_check=False)
            parameter, self.is_dtensor = Parameter(whole), True
        return shard(self, parameter, placement, dimension)

    Module._spmd_distribute_state, FSDPParam._init_sharding_spec = annotated, sharded
