"""A fine-tuning run -> bytes on a rank at its peak, by part and by moment.

States stay; activations, logits and gathered weights come and go. The peak is the largest of the moments: a
layer's backward pass, the loss, and the update of the weights.
"""

from __future__ import annotations

from dataclasses import dataclass

from ...dsl.model import Model
from ..model import parameters
from .ledger import stored_bytes, targets
from .tuning_run import Run

#: Bytes per logit at the loss of transformers: fp32 copy, log-softmax and its gradient (loss/loss_utils.py:
#: ForCausalLMLoss); 12.06 measured of PyTorch 2.13. Megatron-LM's loss holds the fp32 copy in place, its
#: 16-bit source and gradient (core/tensor_parallel/cross_entropy.py).
LOGIT_BYTES, MEGATRON_LOGIT_BYTES = 12.0, 8.0
#: Where the model hands 16-bit logits to the loss and no autocast widens them: a shifted copy, log-softmax
#: and both gradients.
NARROW_LOGIT_BYTES = 8.0
#: Where a sample is a pair: the policy's log-softmax and its fp32 source stay while the reference's logits
#: are made (TRL, trainer/dpo_trainer.py).
PAIR_LOGIT_BYTES = 18.0
#: Tokens of a chunk whose logits exist at once where product and loss are fused (Liger,
#: ops/fused_linear_cross_entropy.py: chunks of tokens x hidden / vocabulary), a least of them here.
CHUNK_TOKENS = 1024
#: Gathered parameters that DeepSpeed's stage 3 keeps, and elements of each partition that it updates at a
#: time (runtime/zero/config.py: stage3_max_live_parameters, sub_group_size).
LIVE_PARAMETERS, SUB_GROUP = 1e9, 1e9
#: Bytes of DeepSpeed's buckets: transformers' "auto" sizes are hidden squared, the rest of its files takes
#: 5e8 elements (runtime/zero/config.py: reduce_bucket_size, allgather_bucket_size), two of them overlapped.
BUCKET_BYTES = 2 * 5e8 * 2
#: Bytes per score that eager attention keeps, and of its gradients at once: a softmax in fp32, its input and
#: output in 16 bits (transformers, models/llama/modeling_llama.py: eager_attention_forward).
SCORE_BYTES, SCORE_GRADIENT_BYTES = 8.0, 10.0
#: Bytes per element of a token's copies around routed experts: what enters and leaves them in 16 bits, and
#: the second weighed by the router's fp32 scores.
EXPERT_COPY_BYTES = 8.0
#: Layers whose gathered weights FSDP holds: the running one and the next.
LIVE_LAYERS = 2
#: Bytes outside the allocator: the context and kernels of one GPU, and with the first collective
#: (dsl/std/gpus.par: reserve). Gaps as a share of what is allocated, more where collectives have streams of
#: their own (of five values the best on benchmarks/data/tuning_public.csv).
CONTEXT, SHARED_CONTEXT = 0.9e9, 2 * 2.0**30
GAPS, SHARED_GAPS = 0.04, 0.1


@dataclass(frozen=True)
class Peak:
    """Bytes on the fullest rank."""

    weights: float
    gradients: float
    optimizer: float
    gathered: float
    checkpoints: float
    moment: float
    moment_name: str
    host: float
    gaps: float = GAPS
    context: float = CONTEXT

    @property
    def states(self) -> float:
        return self.weights + self.gradients + self.optimizer

    @property
    def allocated(self) -> float:
        return self.states + self.moment

    @property
    def reserved(self) -> float:
        """The peak and its gaps, as torch's allocator holds them."""
        return self.allocated * (1 + self.gaps)

    @property
    def device(self) -> float:
        """Reserved memory with what the driver and libraries keep."""
        return self.reserved + self.context

    @property
    def needed(self) -> float:
        """The least memory of a GPU that holds the run: what the allocator keeps in gaps it gives back before
        it runs out, but for the smallest."""
        return self.allocated * (1 + GAPS) + self.context


def peak(run: Run) -> Peak:
    """The memory of a run."""
    weights, gradients, optimizer, host = states(run)
    gathered = gathered_bytes(run)
    kept = kept_bytes(run)
    backward = kept + layer_bytes(run) + gathered
    moments = {
        "backward": backward,
        "loss": kept + logits_bytes(run) + min(gathered, 2 * _head_bytes(run)),
        "update": update_bytes(run),
    }
    name = max(moments, key=moments.__getitem__)
    return Peak(
        weights,
        gradients,
        optimizer,
        gathered,
        kept,
        moments[name],
        name,
        host,
        gaps=SHARED_GAPS if run.layout.communicates else GAPS,
        context=SHARED_CONTEXT if run.layout.communicates else CONTEXT,
    )


def _ways(run: Run, experts: bool) -> float:
    """Ranks that divide a part of the model before any sharding."""
    layout = run.layout
    ways = layout.pp * layout.layers_over
    return ways * (layout.ep if experts and layout.ep > 1 else layout.tp)


def _shards(run: Run, experts: bool) -> float:
    """Ranks that share what sharding divides of a part of the model."""
    layout = run.layout
    if not experts or layout.ep == 1:
        return layout.sharded
    return max(1.0, layout.sharded * layout.tp / layout.ep)


def states(run: Run) -> tuple[float, float, float, float]:
    """Bytes of weights, gradients and optimizer state on a rank, and of what offload moves to its host."""
    routed = _routed_share(run.model)
    parts = [(share, experts) for share, experts in ((1 - routed, False), (routed, True)) if share]
    found = [0.0, 0.0, 0.0, 0.0]
    for share, experts in parts:
        of_part = _part_states(run, share / _ways(run, experts), _shards(run, experts), experts)
        found = [have + more for have, more in zip(found, of_part, strict=True)]
    weights, gradients, optimizer, host = found
    return weights, gradients, optimizer, host


def _part_states(
    run: Run, share: float, shards: float, experts: bool
) -> tuple[float, float, float, float]:
    """`states` of a share of the model that `shards` ranks divide, of routed experts or of the rest."""
    sheet, layout = run.weights, run.layout
    over_weights = shards if layout.divides_weights else 1
    over_quantized = over_weights if divides_quantized(run, experts) else 1
    over_gradients = shards if layout.sharding in ("zero2", "zero3", "fsdp") else 1
    over_optimizer = shards if layout.sharding != "none" else 1
    wide = run.states in ("main_copy", "wide_gradients")
    trained = sheet.trained_parameters * share
    own = (2.0 if wide else sheet.trained_bytes / max(sheet.trained_parameters, 1)) * trained
    other = 2.0 * run.other_parameters + sheet.frozen_bytes
    if run.embeddings:
        # The frozen original stays beside the trained copy (peft, utils/other.py: ModulesToSaveWrapper).
        other += 2.0 * (parameters.embedding(run.model).total + parameters.head(run.model).total)
    weights = (own + share * other) / over_weights + share * sheet.quantized_bytes / over_quantized
    if run.reference:
        weights += 2.0 * share * parameters.total(run.model) / over_weights
    gradients = trained * _gradient_bytes(run) / over_gradients
    optimizer = trained * ((4.0 if wide else 0.0) + run.moment_bytes) / over_optimizer
    host = 0.0
    if layout.offload in ("optimizer", "all"):
        host, optimizer = optimizer, 0.0
        if layout.sharding in ("zero2", "zero3"):
            # The sum of gradients lies where the optimizer does (DeepSpeed, runtime/zero/stage3.py:
            # grad_partitions_flat_buffer; stage_1_and_2.py: cpu_offload).
            host, gradients = host + gradients, 0.0
    if layout.offload in ("params", "all") and layout.divides_weights:
        host, weights = host + weights, 0.0
        if layout.sharding == "fsdp":
            # CPUOffload moves gradients and the update too (torch, distributed/fsdp/api.py).
            host, optimizer, gradients = host + optimizer + gradients, 0.0, 0.0
    return weights, gradients, optimizer, host


def divides_quantized(run: Run, experts: bool) -> bool:
    """Whether sharding divides quantized weights. ZeRO-3 and FSDP divide parameters: bitsandbytes' 8-bit
    weights are none that they can flatten, and experts of one tensor are quantized by a parametrization
    (bitsandbytes, nn/parametrize.py), whose store is a buffer."""
    if run.layout.sharding != "fsdp" or run.quantized == "int8":
        return False
    return not (experts and run.quantizes_experts)


def _gradient_bytes(run: Run) -> float:
    """Bytes per trained parameter of gradients; DDP's buckets are a second copy of them (torch,
    nn/parallel/distributed.py: gradient_as_bucket_view)."""
    narrow = run.states == "main_copy" or (run.states == "half" and run.tune == "full")
    return (2.0 if narrow else 4.0) * (2 if run.layout.replicas > 1 else 1)


def _routed_share(model: Model) -> float:
    """Share of routed experts in the model's parameters."""
    if not model.moe:
        return 0.0
    return model.moe_layers * model.experts * parameters.expert(model) / parameters.total(model)


def _block(model: Model) -> float:
    """Parameters of the largest block."""
    return (parameters.moe_layer(model) if model.moe else parameters.dense_layer(model)).total


def _head_bytes(run: Run) -> float:
    return 2.0 * run.model.vocab * run.model.hidden / run.layout.tp


def gathered_bytes(run: Run) -> float:
    """Bytes of weights that sharding has gathered at once, and of its buckets."""
    layout, model = run.layout, run.model
    block = _block(model) / layout.tp
    if layout.sharding == "zero3":
        whole = parameters.total(model) / layout.tp
        # The head alone may be more than what stays.
        most = max(LIVE_PARAMETERS, _head_bytes(run) / 2)
        live = min(whole, most) if layout.sharded > 1 else 0.0
        reduce = 2.0 * model.hidden**2 * 3
        return 2.0 * live + reduce
    if layout.sharding in ("zero1", "zero2"):
        trained = run.weights.trained_parameters
        return min(BUCKET_BYTES, 6.0 * trained)
    if layout.sharding == "fsdp" and layout.sharded > 1:
        size = 2.0
        if run.quantized == "nf4" and divides_quantized(run, experts=model.moe):
            size = stored_bytes(int(block), "nf4") / block
        # A block's gradient in 16 bits, and the input of its reduce-scatter (torch,
        # distributed/fsdp/_fully_shard/_fsdp_collectives.py: foreach_reduce).
        gradient = (2.0 + run.reduce_bytes) * block if run.tune == "full" else 0.0
        tables = 1 if model.tied else 2
        return LIVE_LAYERS * size * block + gradient + tables * _head_bytes(run)
    return 0.0


def update_bytes(run: Run) -> float:
    """Bytes that the update allocates: AdamW of torch works on lists, and holds one more copy of a moment."""
    sheet, layout = run.weights, run.layout
    over = layout.sharded if layout.sharding != "none" else 1
    trained = sheet.trained_parameters / over / layout.tp / layout.pp
    if layout.offload != "none":
        return 0.0
    if run.states == "main_copy":
        return 4.0 * min(trained, SUB_GROUP)
    if run.moment_bytes < 4 or run.fused_update:
        return 0.0
    return trained * (2.0 if run.states == "half" and run.tune == "full" else 4.0)


def kept_bytes(run: Run) -> float:
    """Bytes of activations of all layers that stay until the backward pass reaches them."""
    model, layers = run.model, run.model.layers / run.layout.pp
    if run.checkpointing:
        stored = 2.0 * model.hidden * run.tokens / run.layout.tp
        return stored * (2 if run.offloads_activations else layers)
    return layers * activation_bytes(run) + 6.0 * model.hidden * run.tokens


def layer_bytes(run: Run) -> float:
    """Bytes of one layer in its backward pass: its activations where they were computed again, and the
    gradients of its widest tensors; the 16-bit copy of a quantized matrix."""
    model = run.model
    again = activation_bytes(run) if run.checkpointing else 0.0
    width = _inner_width(model) / run.layout.tp
    gradients = run.tokens * (3 * 2.0 * width + 4.0 * model.hidden)
    if model.moe:
        gradients += run.tokens * EXPERT_COPY_BYTES * model.topk * model.hidden
    if not run.flash:
        gradients += SCORE_GRADIENT_BYTES * score_elements(run)
    return again + gradients + written_out_bytes(run)


def written_out_bytes(run: Run) -> float:
    """Bytes of the 16-bit copy of a quantized matrix: the widest, or all experts of a layer where they are
    one tensor; as much for the products of experts' adapters, added to it before it multiplies (peft,
    tuners/lora/layer.py: ParamWrapper.get_delta_weight)."""
    model = run.model
    if model.moe and (run.expert_adapters or (run.quantizes_experts and run.quantized != "none")):
        copies = (run.quantized != "none") + 2 * run.expert_adapters
        return 2.0 * copies * model.experts * parameters.expert(model) / run.layout.ep
    widest = max(model.ffn, model.expert_width) * model.hidden / run.layout.tp
    return 2.0 * widest if run.quantized != "none" else 0.0


def _inner_width(model: Model) -> float:
    """Width of a token's feed-forward, with those of all its experts."""
    if not model.moe:
        return model.ffn
    return (model.topk + model.shared_experts) * model.expert_width


def activation_bytes(run: Run) -> float:
    """Bytes of one layer's activations that its backward pass reads.

    A frozen matrix keeps no input: only a trained one and its adapter do. Norms of transformers compute in
    fp32 (modeling_llama.py: LlamaRMSNorm), and adapters cast their inputs to their own dtype (peft,
    tuners/lora/layer.py: _cast_input_dtype), to 16 bits again where autocast is on.
    """
    model, tokens = run.model, run.tokens
    query = model.heads * (
        model.qk_nope_head_dim + model.qk_rope_head_dim if model.mla else model.head_size
    )
    keys = query if model.mla else model.groups * model.head_size
    inner, gated = _inner_width(model), 2 if model.gated else 1
    trains = run.tune == "full"
    norms = 2 * (2.0 if run.fused_kernels else 6.0) * model.hidden
    inputs = 2.0 * (2 * model.hidden) if trains else 0.0
    attention = 2.0 * (2 * query + 2 * keys) + 4.0 * model.heads
    feed_forward = 2.0 * inner * (gated + (1 if model.gated and not run.fused_kernels else 0))
    feed_forward += 2.0 * inner if trains else 0.0
    if model.moe:
        feed_forward += EXPERT_COPY_BYTES * model.topk * model.hidden
    total = norms + (inputs + attention + feed_forward) / run.layout.tp
    if not trains:
        total += _adapter_inputs(run)
    return tokens * total + (0.0 if run.flash else SCORE_BYTES * score_elements(run))


def score_elements(run: Run) -> float:
    """Scores of one layer's attention on a rank."""
    return run.tokens * run.seq_len * run.model.heads / run.layout.cp / run.layout.tp


def _adapter_inputs(run: Run) -> float:
    """Bytes per token of one layer that adapters keep: inputs in 16 bits, once for each of a target, and
    what lies between their matrices; a mask and a copy more where they drop some."""
    model, adapters = run.model, run.adapters
    kept = 0.0
    for matrix in targets(model, adapters):
        each = 2.0 + (3.0 if adapters.dropout else 0.0)
        kept += (each * matrix.inputs + 2.0 * adapters.rank) * matrix.count / model.layers
    return kept


def logits_bytes(run: Run) -> float:
    """Bytes of the logits at the loss; those of a chunk where loss and product are fused."""
    tokens = run.tokens
    if run.fused_loss:
        tokens = min(tokens, max(CHUNK_TOKENS, run.tokens * run.model.hidden / run.model.vocab))
    size = PAIR_LOGIT_BYTES if run.pairs else LOGIT_BYTES
    if run.narrow_loss:
        size = NARROW_LOGIT_BYTES
    if run.states == "wide_gradients":
        size = MEGATRON_LOGIT_BYTES
    return size * tokens * run.model.vocab / run.layout.tp
