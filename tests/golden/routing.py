"""Which experts a token goes to, which of them have room for it, and the loss that balances them; plain loops.

Dims: B sequences, T positions, E experts, K choices of a token (top_k). Field names are MoeSpec's. Slots are counted
within a sequence: another batch size or split of the batch drops the same choices.
"""

import math
from dataclasses import dataclass

import torch
import torch.nn.functional as F


@dataclass(frozen=True)
class MoeConfig:
    n_experts: int
    d_ff: int
    top_k: int = 2
    layer_stride: int = 1
    activation: str = "swiglu"
    routing: str = "topk_softmax"
    capacity_factor: float = 0.0
    load_balance_weight: float = 0.0


@dataclass(frozen=True)
class Routing:
    """One layer's. The auxiliary loss is unweighted, the mean over the sequences."""

    logits_BTE: torch.Tensor
    choice_BTK: torch.Tensor  # experts, the likeliest first
    kept_BTK: torch.Tensor  # whether the expert had a slot
    gate_BTK: torch.Tensor  # softmax over the chosen logits, dropped or not
    auxiliary_loss: torch.Tensor


def slots_of_expert(moe, seq_len):
    """Choices that an expert takes of one sequence; None: all."""
    if moe.capacity_factor == 0.0:
        return None
    if moe.routing == "top2_gshard":  # praxis, gshard_utils.py
        share = math.floor(seq_len * moe.capacity_factor / moe.n_experts)
        return math.ceil(share / 4) * 4 if share > 1 else 1
    share = math.ceil(seq_len * moe.top_k / moe.n_experts)  # MaxText, moe.py
    return max(1, math.floor(max(share * moe.capacity_factor, moe.capacity_factor)))


def kept_choices(moe, choice_BTK):
    """top2_gshard serves all first choices before any second one, topk_softmax token after token."""
    B, T, K = choice_BTK.shape
    slots = slots_of_expert(moe, T)
    kept_BTK = torch.ones(B, T, K, dtype=torch.bool)
    if slots is None:
        return kept_BTK
    if moe.routing == "top2_gshard":
        order = [(t, k) for k in range(K) for t in range(T)]
    else:
        order = [(t, k) for t in range(T) for k in range(K)]
    for b in range(B):
        taken = [0] * moe.n_experts
        for t, k in order:
            expert = choice_BTK[b, t, k].item()
            kept_BTK[b, t, k] = taken[expert] < slots
            taken[expert] += 1
    return kept_BTK


def load_balance_loss(moe, logits_BTE, choice_BTK):
    """E * sum over experts of (share of the tokens that choose it) * (its mean probability), mean over sequences.

    Dropped choices count; top2_gshard looks at first choices only. The shares are counts: no gradient.
    """
    counted_BTK = choice_BTK[..., :1] if moe.routing == "top2_gshard" else choice_BTK
    share_BE = F.one_hot(counted_BTK, moe.n_experts).sum(2).to(logits_BTE.dtype).mean(1)
    probability_BE = logits_BTE.softmax(-1).mean(1)
    return moe.n_experts * (share_BE * probability_BE).sum(-1).mean()


def route(moe, logits_BTE):
    ordered_BTE = logits_BTE.argsort(dim=-1, descending=True, stable=True)  # of equal logits the lower index
    choice_BTK = ordered_BTE[..., : moe.top_k]
    return Routing(
        logits_BTE=logits_BTE,
        choice_BTK=choice_BTK,
        kept_BTK=kept_choices(moe, choice_BTK),
        gate_BTK=logits_BTE.gather(-1, choice_BTK).softmax(-1),
        auxiliary_loss=load_balance_loss(moe, logits_BTE, choice_BTK),
    )
