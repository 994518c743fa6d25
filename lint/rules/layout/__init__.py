"""How degrees make up the GPUs, and how a pipeline divides the layers."""

from . import (
    expert_world,
    layers_pp,
    layers_vpp,
    layout_string,
    mesh_product,
    node_bound,
    optimizer_instances,
    recompute_chunk,
    tp_crosses_node,
    virtual_stages,
    vpp_needs_pp,
)

MODULES = (
    expert_world,
    mesh_product,
    tp_crosses_node,
    layers_pp,
    layers_vpp,
    vpp_needs_pp,
    recompute_chunk,
    layout_string,
    virtual_stages,
    node_bound,
    optimizer_instances,
)
