"""Dice -> the `model` block of a generated job: sizes that its cluster holds, blocks, router, positions."""

from tests.acceptance.support.drawn_job import Draw, Settings

#: Settings of a model that Megatron-LM 0.14 has not.
OLDEST_MEGATRON_LACKS = frozenset({"window", "full_attention_every", "attention_sinks"})
#: Settings of a model that a release of torchtitan has not.
TORCHTITAN_LACKS = {"0.2.0": ("tied", "router_groups", "router_limited_groups"), "0.2.1": ("tied",)}
#: Settings of a model that are refused for the Llama of transformers.
LLAMA_LACKS = frozenset({
    "window", "full_attention_every", "attention_sinks", "attention_softcap", "logit_softcap",
    "parallel_block", "activation", "glu_clamp", "glu_offset",
})  # fmt: skip
VOCABULARIES = (50257, 32000, 32001, 64793, 100_003, 128_256, 129_280, 151_936, 152_064, 250_880)


def drawn_model(draw: Draw, kind: str, cluster_bytes: int) -> Settings:
    """Sizes of a model whose states take a part of the cluster; tried until they do, at most 50 times."""
    for _ in range(50):
        found = _sizes(draw, kind)
        if 20 * _roughly(found) < draw.dice.uniform(0.05, 0.7) * cluster_bytes:
            break
    return found | _style(draw, found)


def _sizes(draw: Draw, kind: str) -> Settings:
    head_dim = draw.one(64, 64, 96, 128, 128)
    heads = draw.one(4, 8, 12, 16, 20, 24, 32, 32, 40, 48, 64, 64, 96, 128)
    hidden = heads * head_dim
    found: Settings = {
        "layers": draw.one(
            draw.dice.randint(1, 24), draw.dice.randint(8, 96), 12, 24, 32, 61, 80, 126
        ),
        "hidden": hidden,
        "heads": heads,
        "ffn": draw.one(
            4 * hidden, draw.one(2, 3, 7) * hidden // 2, 64 * draw.dice.randint(4, 400)
        ),
        "vocab": draw.one(*VOCABULARIES, draw.dice.randint(1000, 200_000)),
    }
    if kind in ("grouped", "experts"):
        found["kv_heads"] = draw.one(*(k for k in range(1, heads + 1) if heads % k == 0))
        if draw.happens(0.2):
            found["head_dim"] = draw.one(64, 128, 192)
    if kind in ("experts", "latent_experts"):
        found |= _experts(draw, kind, found)
    if kind in ("latent", "latent_experts"):
        found |= _latent(draw)
    if kind == "sinks":
        found |= _experts(draw, kind, found) | SINKS | {"head_dim": draw.one(64, 128)}
        found |= {"kv_heads": found["heads"] // draw.one(1, 2, 4), "window": draw.one(128, 1000)}
    return found


#: What a model of gpt-oss's kind has besides its sizes.
SINKS: Settings = {
    "attention_sinks": True, "bias": True, "full_attention_every": 2, "activation": "quick_gelu",
    "glu_clamp": 7, "glu_offset": 1, "shared_experts": 0,
}  # fmt: skip
GPT_OSS_YARN: Settings = {
    "rope_scaling": "yarn", "rope_factor": 32, "rope_original_positions": 4096, "rope_truncate": False,
}  # fmt: skip


def _experts(draw: Draw, kind: str, sizes: Settings) -> Settings:
    experts = draw.one(4, 8, 8, 16, 24, 32, 60, 64, 128)
    found: Settings = {
        "experts": experts,
        "topk": min(experts, draw.one(1, 2, 2, 4, 6, 8)),
        "expert_ffn": draw.one(64 * draw.dice.randint(4, 64), sizes["ffn"]),
    }
    found["shared_experts"] = draw.one(0, 0, 1, 2)
    if draw.happens(0.4) and (draw.target == "megatron" or kind == "latent_experts"):
        found["dense_layers"] = min(draw.one(1, 3), sizes["layers"] - 1)
    return found


def _latent(draw: Draw) -> Settings:
    return {
        "q_lora_rank": draw.one(0, 256, 768, 1536),
        "kv_lora_rank": draw.one(128, 512),
        "qk_nope_head_dim": draw.one(64, 128),
        "qk_rope_head_dim": draw.one(32, 64),
        "v_head_dim": draw.one(64, 128),
    }


def _roughly(model: Settings) -> int:
    """Parameters, near enough to compare with a cluster's memory."""
    hidden, layers = model["hidden"], model["layers"]
    width = model.get("expert_ffn", 0) * model.get("experts", 0) or model["ffn"]
    return int(layers * (4 * hidden**2 + 3 * hidden * width) + 2 * model["vocab"] * hidden)


def _style(draw: Draw, sizes: Settings) -> Settings:
    """What is not a size; torchtitan's models have few choices."""
    latent, experts = "kv_lora_rank" in sizes, "experts" in sizes
    found: Settings = {"rope_theta": draw.one(10_000, 500_000, 1_000_000)}
    sinks = "attention_sinks" in sizes
    if draw.version == "hf":
        return found | {"tied": draw.happens(0.15), "bias": draw.happens(0.2)}
    if not (latent or sinks) and draw.happens(0.2):
        found["qk_norm"] = True
    if draw.happens(0.15) and not (latent or sinks):
        found["tied"] = True
    if draw.target == "torchtitan":
        return found | _torchtitan_style(draw, sizes, found)
    if draw.happens(0.3):
        found |= {"norm": "layernorm", "gated": False, "activation": "gelu"}
        found["bias"] = draw.happens(0.5)
        found["position"] = draw.one("rope", "learned") if not latent else "rope"
    elif draw.happens(0.2):
        found["qkv_bias"] = not latent
    if draw.happens(0.1) and not experts and not latent:
        found["window"] = draw.one(1024, 4096)
    if draw.target == "deepspeed" and draw.happens(0.15):
        found["activation"] = draw.one("relu", "squared_relu", "gelu", "silu")
    if draw.target == "megatron" and draw.happens(0.15) and found.get("position") != "learned":
        found["mtp_layers"] = 1
    return found


#: Scalings of rope that torchtitan has, with the values of Llama 3.1 and of DeepSeek-V3.
LLAMA_ROPE: Settings = {
    "rope_scaling": "llama3", "rope_factor": 8, "rope_original_positions": 8192, "rope_low_freq": 1,
    "rope_high_freq": 4,
}  # fmt: skip
LATENT_YARN: Settings = {
    "rope_scaling": "yarn", "rope_factor": 40, "rope_original_positions": 4096, "rope_mscale_all_dim": 1,
    "rope_beta_fast": 32, "rope_beta_slow": 1, "rope_mscale": 1,
}  # fmt: skip


def _torchtitan_style(draw: Draw, sizes: Settings, style: Settings) -> Settings:
    """Rope, router and first weights as torchtitan has them."""
    found: Settings = {}
    if "kv_lora_rank" in sizes:
        found |= LATENT_YARN if draw.happens(0.5) else {}
    elif "attention_sinks" in sizes:
        found |= GPT_OSS_YARN if draw.happens(0.7) else {}
    elif draw.happens(0.4) and not (
        draw.version == "0.3" and ({"experts", "head_dim"} & set(sizes) or style.get("qk_norm"))
    ):
        found |= LLAMA_ROPE
    if draw.happens(0.3):
        found |= {"init_std": "0.006", "init_scaled": draw.happens(0.5)}
    if "experts" not in sizes:
        return found
    found["router_bias_rate"] = draw.one(0, "0.001")
    found["router_norm"] = draw.happens(0.7)
    if draw.happens(0.5):
        found |= {"router_score": "sigmoid", "router_scale": "2.5"}
        if sizes["experts"] % 4 == 0 and sizes["experts"] > 4 and sizes["topk"] <= 4:
            found |= {"router_groups": 4, "router_limited_groups": 2}
    return found
