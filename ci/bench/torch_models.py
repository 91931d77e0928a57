"""The benchmark's peer: the decoder families as a good PyTorch user writes them for speed (fused products, SDPA)."""

import dataclasses
import pathlib
import sys

import torch
import torch.nn.functional as F
from torch import nn

GOLDEN = pathlib.Path(__file__).resolve().parents[2] / "tests" / "golden"
sys.path.insert(0, str(GOLDEN))

from models import ModelConfig, PositionConfig  # noqa: E402


def config_of(model):
    """The model of a run.json, which names every field of every kind. Raises ValueError for what the peer has not."""
    if model["moe"]["n_experts"] > 0 or model["position"]["kind"] not in ("rope", "learned"):
        raise ValueError(f"{model['name']}: no experts, and no positions of kind {model['position']['kind']}")
    if model.get("qk_norm", "none") != "none":
        raise ValueError(f"{model['name']}: no norm of queries and keys")

    if model.get("attention_scale", 0) != 0:
        raise ValueError(f"{model['name']}: no attention_scale {model['attention_scale']}")

    def known(kind, fields):
        return {field.name: fields[field.name] for field in dataclasses.fields(kind) if field.name in fields}

    position = PositionConfig(**known(PositionConfig, model["position"]))
    return ModelConfig(**{**known(ModelConfig, model), "position": position, "moe": None})


def make_norm(c):
    kind = nn.LayerNorm if c.norm == "layernorm" else nn.RMSNorm
    return kind(c.d_model, eps=c.norm_eps)


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.q_heads, self.kv_heads, self.head_dim = c.n_heads, c.n_kv_heads, c.head_dim
        all_heads = c.n_heads + 2 * c.n_kv_heads
        self.qkv = nn.Linear(c.d_model, all_heads * c.head_dim, bias=c.bias != "none")
        self.out = nn.Linear(c.n_heads * c.head_dim, c.d_model, bias=c.bias == "all")

    def forward(self, x_BTM, rope):
        B, T, _ = x_BTM.shape
        qkv_BTND = self.qkv(x_BTM).view(B, T, -1, self.head_dim)
        qk_BTND, v_BTKD = qkv_BTND.split([self.q_heads + self.kv_heads, self.kv_heads], dim=2)
        if rope is not None:
            cos_T1D, sin_T1D = rope
            a, b = qk_BTND.chunk(2, dim=-1)
            qk_BTND = qk_BTND * cos_T1D + torch.cat((-b, a), dim=-1) * sin_T1D
        q_BTHD, k_BTKD = qk_BTND.split([self.q_heads, self.kv_heads], dim=2)
        context_BHTD = F.scaled_dot_product_attention(
            q_BTHD.transpose(1, 2), k_BTKD.transpose(1, 2), v_BTKD.transpose(1, 2), is_causal=True,
            enable_gqa=self.q_heads != self.kv_heads,
        )  # fmt: skip
        return self.out(context_BHTD.transpose(1, 2).reshape(B, T, -1))


class FeedForward(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.gated = c.activation == "swiglu"
        self.up = nn.Linear(c.d_model, c.d_ff * (2 if self.gated else 1), bias=c.bias == "all")
        self.down = nn.Linear(c.d_ff, c.d_model, bias=c.bias == "all")

    def forward(self, x_BTM):
        if self.gated:
            gate_BTF, up_BTF = self.up(x_BTM).chunk(2, dim=-1)
            return self.down(F.silu(gate_BTF) * up_BTF)
        return self.down(F.gelu(self.up(x_BTM), approximate="tanh"))


class Layer(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.attention_norm, self.attention = make_norm(c), Attention(c)
        self.mlp_norm, self.mlp = make_norm(c), FeedForward(c)

    def forward(self, x_BTM, rope):
        x_BTM = x_BTM + self.attention(self.attention_norm(x_BTM), rope)
        return x_BTM + self.mlp(self.mlp_norm(x_BTM))


class Decoder(nn.Module):
    """A model of tests/golden/models.py's ModelConfig: learned or half-rotated positions, gelu_tanh or swiglu."""

    def __init__(self, c):
        super().__init__()
        if c.activation not in ("gelu_tanh", "swiglu") or c.position.rope_layout != "half":
            raise ValueError(f"{c.name}: the fast model has no {c.activation} with {c.position.rope_layout} rotation")
        self.learned = c.position.kind == "learned"
        self.token_embedding = nn.Embedding(c.vocab_size, c.d_model)
        if self.learned:
            self.position_embedding = nn.Embedding(c.max_seq_len, c.d_model)
        else:
            frequency_D2 = c.position.rope_theta ** (-torch.arange(0, c.head_dim, 2, dtype=torch.float64) / c.head_dim)
            angle_TD = torch.outer(torch.arange(c.max_seq_len, dtype=torch.float64), frequency_D2).repeat(1, 2)
            self.register_buffer("cos_T1D", angle_TD.cos().float()[:, None], persistent=False)
            self.register_buffer("sin_T1D", angle_TD.sin().float()[:, None], persistent=False)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.final_norm = make_norm(c)
        self.unembedding = nn.Linear(c.d_model, c.vocab_size, bias=False)
        if c.tied_embedding:
            self.unembedding.weight = self.token_embedding.weight
        for name, p in self.named_parameters():
            if p.dim() >= 2:
                nn.init.normal_(p, std=c.init_std)
            elif name.endswith(".bias"):
                nn.init.zeros_(p)

    def forward(self, inputs_BT, targets_BT):
        """The mean cross-entropy."""
        T = inputs_BT.shape[1]
        x_BTM, rope = self.token_embedding(inputs_BT), None
        if self.learned:
            x_BTM = x_BTM + self.position_embedding.weight[:T]
        else:
            rope = self.cos_T1D[:T], self.sin_T1D[:T]
        for layer in self.layers:
            x_BTM = layer(x_BTM, rope)
        logits_BTV = self.unembedding(self.final_norm(x_BTM))
        return F.cross_entropy(logits_BTV.flatten(0, 1), targets_BT.flatten())


# Where the fused products keep what the engine names apart.
FUSED = {"attention.qkv": ("query", "key", "value"), "attention.out": ("out",), "mlp.down": ("down",)}


@torch.no_grad()
def load_named(model, c, named):
    """Copies parameters that bear the engine's names into the model."""
    fused = {**FUSED, "mlp.up": ("gate", "up") if c.activation == "swiglu" else ("up",)}
    for name, p in model.named_parameters():
        stem, _, kind = name.rpartition(".")
        if stem in ("token_embedding", "position_embedding", "unembedding"):
            p.copy_(named[stem])
        elif stem.startswith("layers.") and not stem.endswith("_norm"):
            _, layer, part = stem.split(".", 2)
            p.copy_(torch.cat([named[f"layers.{layer}.{n}.{kind}"] for n in fused[part]]))
        else:
            p.copy_(named[name])
