"""The decoder families in plain PyTorch: the simple thing that the engine must equal. Field names are ModelSpec's.

Dims: B sequences, T positions, M d_model, H query heads, K key/value heads, D head_dim, F d_ff, V vocabulary; those of
experts are in routing.py.
"""

import math
from dataclasses import dataclass, field
from typing import Optional

import torch
import torch.nn.functional as F

from dropout import nothing_dropped
from routing import MoeConfig, route
from streams import normal_tensor

PERTURB_STD = 0.1  # norm weights (around 1) and biases (around 0), so that a golden sees them


@dataclass(frozen=True)
class PositionConfig:
    kind: str = "rope"
    rope_theta: float = 10000.0
    rope_layout: str = "half"
    rope_scaling: str = "none"
    rope_factor: float = 8.0
    rope_low_freq_factor: float = 1.0
    rope_high_freq_factor: float = 4.0
    rope_original_context: int = 8192
    t5_buckets: int = 32
    t5_max_distance: int = 128


@dataclass(frozen=True)
class ModelConfig:
    name: str
    layers: int
    d_model: int
    n_heads: int
    n_kv_heads: int
    head_dim: int
    d_ff: int
    vocab_size: int
    max_seq_len: int
    norm: str = "rmsnorm"
    norm_eps: float = 1e-5
    activation: str = "swiglu"
    bias: str = "none"
    qk_norm: str = "none"
    tied_embedding: bool = False
    attention_scale: float = 0.0  # 0: 1/sqrt(head_dim)
    position: PositionConfig = field(default_factory=PositionConfig)
    moe: Optional[MoeConfig] = None  # None: a dense model
    init_std: float = 0.02

    @classmethod
    def from_json(cls, fields):
        moe = MoeConfig(**fields["moe"]) if "moe" in fields else None
        return cls(**{**fields, "position": PositionConfig(**fields["position"]), "moe": moe})

    def has_experts(self, layer):
        return self.moe is not None and layer % self.moe.layer_stride == 0


def gated(activation):
    return activation in ("swiglu", "geglu")


def parameter_shapes(c):
    """Name -> shape, linears as [out, in], in the order of the forward pass."""
    shapes = {"token_embedding": (c.vocab_size, c.d_model)}
    if c.position.kind == "learned":
        shapes["position_embedding"] = (c.max_seq_len, c.d_model)

    def norm(name):
        shapes[name + ".weight"] = (c.d_model,)
        if c.bias == "all":
            shapes[name + ".bias"] = (c.d_model,)

    def linear(name, out_dim, in_dim, biased):
        shapes[name + ".weight"] = (out_dim, in_dim)
        if biased:
            shapes[name + ".bias"] = (out_dim,)

    def feed_forward():
        if gated(c.activation):
            linear(f"layers.{l}.gate", c.d_ff, c.d_model, biased)
        linear(f"layers.{l}.up", c.d_ff, c.d_model, biased)
        linear(f"layers.{l}.down", c.d_model, c.d_ff, biased)

    def experts(moe):
        linear(f"layers.{l}.router", moe.n_experts, c.d_model, False)
        if gated(moe.activation):
            shapes[f"layers.{l}.experts.gate.weight"] = (moe.n_experts, moe.d_ff, c.d_model)
        shapes[f"layers.{l}.experts.up.weight"] = (moe.n_experts, moe.d_ff, c.d_model)
        shapes[f"layers.{l}.experts.down.weight"] = (moe.n_experts, c.d_model, moe.d_ff)

    q_dim, kv_dim, biased = c.n_heads * c.head_dim, c.n_kv_heads * c.head_dim, c.bias == "all"
    for l in range(c.layers):
        norm(f"layers.{l}.attention_norm")
        linear(f"layers.{l}.query", q_dim, c.d_model, c.bias != "none")
        linear(f"layers.{l}.key", kv_dim, c.d_model, c.bias != "none")
        linear(f"layers.{l}.value", kv_dim, c.d_model, c.bias != "none")
        if c.qk_norm == "head":
            shapes[f"layers.{l}.query_norm.weight"] = shapes[f"layers.{l}.key_norm.weight"] = (c.head_dim,)
        if c.position.kind == "t5_relative_bias":
            shapes[f"layers.{l}.relative_bias"] = (c.position.t5_buckets, c.n_heads)
        linear(f"layers.{l}.out", c.d_model, q_dim, biased)
        norm(f"layers.{l}.mlp_norm")
        if c.has_experts(l):
            experts(c.moe)
        else:
            feed_forward()
    norm("final_norm")
    if not c.tied_embedding:
        shapes["unembedding"] = (c.vocab_size, c.d_model)
    return shapes


def initial_parameters(c, seed):
    """fp32 parameters; norm weights and biases are perturbed too."""

    def initial(name, shape):
        if name.endswith("norm.weight"):
            return normal_tensor(name, shape, seed, PERTURB_STD, mean=1.0)
        return normal_tensor(name, shape, seed, PERTURB_STD if name.endswith(".bias") else c.init_std)

    return {name: initial(name, shape) for name, shape in parameter_shapes(c).items()}


def rope_frequencies(c):
    """fp64 [D/2], radians per position; llama3 scaling as in Llama 3.1's reference code (apply_scaling)."""
    p = c.position
    scaled = []
    for i in range(c.head_dim // 2):
        frequency = p.rope_theta ** (-2.0 * i / c.head_dim)
        if p.rope_scaling == "llama3":
            wavelength = 2.0 * math.pi / frequency
            if wavelength > p.rope_original_context / p.rope_low_freq_factor:
                frequency /= p.rope_factor
            elif wavelength >= p.rope_original_context / p.rope_high_freq_factor:
                kept = (p.rope_original_context / wavelength - p.rope_low_freq_factor) / (
                    p.rope_high_freq_factor - p.rope_low_freq_factor
                )
                frequency = (1.0 - kept) * frequency / p.rope_factor + kept * frequency
        scaled.append(frequency)
    return torch.tensor(scaled, dtype=torch.float64)


def rotate(c, x_BTHD, positions_BT):
    """Rotary embedding; the angles are fp64 whatever the dtype of x."""
    angle_BTD = positions_BT.double()[..., None] * rope_frequencies(c)
    cos = angle_BTD.cos().to(x_BTHD.dtype)[:, :, None, :]
    sin = angle_BTD.sin().to(x_BTHD.dtype)[:, :, None, :]
    rotated = torch.empty_like(x_BTHD)
    if c.position.rope_layout == "half":
        half = c.head_dim // 2
        first, second = slice(0, half), slice(half, None)
    else:
        first, second = slice(0, None, 2), slice(1, None, 2)
    a, b = x_BTHD[..., first], x_BTHD[..., second]
    rotated[..., first] = a * cos - b * sin
    rotated[..., second] = a * sin + b * cos
    return rotated


def normalise(c, params, name, x_BTM):
    if c.norm == "layernorm":
        x_BTM = x_BTM - x_BTM.mean(-1, keepdim=True)
    x_BTM = x_BTM * torch.rsqrt(x_BTM.pow(2).mean(-1, keepdim=True) + c.norm_eps) * params[name + ".weight"]
    return x_BTM + params[name + ".bias"] if name + ".bias" in params else x_BTM


def linear(params, name, x):
    y = x @ params[name + ".weight"].T
    return y + params[name + ".bias"] if name + ".bias" in params else y


def t5_bucket(p, distance):
    """Of a distance from a query back to a key (Raffel et al., arXiv:1910.10683; the code's relative_position_bucket)."""
    exact = p.t5_buckets // 2
    if distance < exact:
        return distance
    part = math.log(distance / exact) / math.log(p.t5_max_distance / exact)
    return min(exact + math.floor(part * (p.t5_buckets - exact)), p.t5_buckets - 1)


def relative_bias(c, params, layer, length):
    """[H, T, S]; what lies in the future, and is masked, takes the bias of distance 0."""
    buckets_TS = torch.tensor([[t5_bucket(c.position, max(t - s, 0)) for s in range(length)] for t in range(length)])
    return params[layer + "relative_bias"][buckets_TS].permute(2, 0, 1)


def attention(c, params, layer, x_BTM, first_BT):
    """Causal attention within documents; query head h reads key/value head h / (H/K)."""
    B, T, _ = x_BTM.shape
    q_BTHD = linear(params, layer + "query", x_BTM).reshape(B, T, c.n_heads, c.head_dim)
    k_BTKD = linear(params, layer + "key", x_BTM).reshape(B, T, c.n_kv_heads, c.head_dim)
    v_BTKD = linear(params, layer + "value", x_BTM).reshape(B, T, c.n_kv_heads, c.head_dim)
    if c.qk_norm == "head":
        q_BTHD = normalise(c, params, layer + "query_norm", q_BTHD)
        k_BTKD = normalise(c, params, layer + "key_norm", k_BTKD)
    if c.position.kind == "rope":
        positions_BT = torch.arange(T) - first_BT
        q_BTHD, k_BTKD = rotate(c, q_BTHD, positions_BT), rotate(c, k_BTKD, positions_BT)
    kv_of_head = torch.arange(c.n_heads) // (c.n_heads // c.n_kv_heads)
    k_BTHD, v_BTHD = k_BTKD[:, :, kv_of_head], v_BTKD[:, :, kv_of_head]
    scores_BHTS = torch.einsum("bthd,bshd->bhts", q_BTHD, k_BTHD) * (c.attention_scale or 1 / math.sqrt(c.head_dim))
    if c.position.kind == "t5_relative_bias":
        scores_BHTS = scores_BHTS + relative_bias(c, params, layer, T)
    future_TS = torch.ones(T, T, dtype=torch.bool).triu(1)
    unseen_BHTS = (future_TS | (torch.arange(T) < first_BT[..., None]))[:, None]
    weights_BHTS = scores_BHTS.masked_fill(unseen_BHTS, float("-inf")).softmax(-1)
    context_BTHD = torch.einsum("bhts,bshd->bthd", weights_BHTS, v_BTHD)
    return linear(params, layer + "out", context_BTHD.reshape(B, T, -1))


def gelu_tanh(x):
    return 0.5 * x * (1.0 + torch.tanh(math.sqrt(2.0 / math.pi) * (x + 0.044715 * x.pow(3))))


def activate(activation, up, gate):
    """What enters the down projection; gate() is called by gated activations only."""
    if activation == "swiglu":
        return F.silu(gate()) * up
    if activation == "geglu":
        return gelu_tanh(gate()) * up
    return {"gelu_tanh": gelu_tanh, "relu": F.relu}[activation](up)


def feed_forward(c, params, layer, x_BTM):
    up_BTF = linear(params, layer + "up", x_BTM)
    hidden_BTF = activate(c.activation, up_BTF, lambda: linear(params, layer + "gate", x_BTM))
    return linear(params, layer + "down", hidden_BTF)


def expert_feed_forward(moe, params, layer, x_BTM):
    """The output and how it was routed. Every expert computes every token, with weight 0 where it was not chosen."""
    routing = route(moe, linear(params, layer + "router", x_BTM))
    gate_BTK = routing.gate_BTK * routing.kept_BTK
    y_BTM = torch.zeros_like(x_BTM)
    for e in range(moe.n_experts):
        up_BTF = x_BTM @ params[layer + "experts.up.weight"][e].T
        hidden_BTF = activate(moe.activation, up_BTF, lambda: x_BTM @ params[layer + "experts.gate.weight"][e].T)
        weight_BT = (gate_BTK * (routing.choice_BTK == e)).sum(-1)
        y_BTM = y_BTM + weight_BT[..., None] * (hidden_BTF @ params[layer + "experts.down.weight"][e].T)
    return y_BTM, routing


def logits(c, params, inputs_BT, first_BT, drop=nothing_dropped):
    """Logits of every position, [B, T, V], in the dtype of the parameters, and the routing of each expert layer.

    first_BT says where within its row each token's document begins; drop(place, x) what dropout leaves of x.
    """
    x_BTM = params["token_embedding"][inputs_BT]
    if c.position.kind == "learned":
        x_BTM = x_BTM + params["position_embedding"][torch.arange(inputs_BT.shape[1]) - first_BT]
    x_BTM = drop("input", x_BTM)
    routings = []
    for l in range(c.layers):
        layer = f"layers.{l}."
        x_BTM = drop(layer + "input", x_BTM)
        y_BTM = attention(c, params, layer, normalise(c, params, layer + "attention_norm", x_BTM), first_BT)
        x_BTM = x_BTM + drop(layer + "attention", y_BTM)
        normalised_BTM = normalise(c, params, layer + "mlp_norm", x_BTM)
        if c.has_experts(l):
            y_BTM, routing = expert_feed_forward(c.moe, params, layer, normalised_BTM)
            routings.append(routing)
        else:
            y_BTM = feed_forward(c, params, layer, normalised_BTM)
        x_BTM = x_BTM + drop(layer + "feed_forward", y_BTM)
    x_BTM = normalise(c, params, "final_norm", x_BTM)
    return x_BTM @ params["token_embedding" if c.tied_embedding else "unembedding"].T, routings


def forward(c, params, tokens_BT1, first_BT, drop):
    """Cross-entropy of every position, [B, T], and the routing of each expert layer.

    tokens [B, T+1] hold inputs and shifted targets; first_BT and drop as in logits.
    """
    inputs_BT, targets_BT = tokens_BT1[:, :-1], tokens_BT1[:, 1:]
    logits_BTV, routings = logits(c, params, inputs_BT, first_BT, drop)
    log_likelihood_BT = logits_BTV.log_softmax(-1).gather(-1, targets_BT[..., None])
    return -log_likelihood_BT[..., 0], routings
