"""Adapters of low rank (arXiv:2106.09685), multiplied out: a model runs on W + alpha/rank * B A in place of W. The engine
keeps both apart; the sums are the same."""

from dataclasses import dataclass

import models
from streams import normal_tensor

LINEARS = {"attention": ("query", "key", "value", "out"), "mlp": ("gate", "up", "down")}


@dataclass(frozen=True)
class LoraConfig:
    rank: int
    alpha: float
    targets: str

    def adapts(self, linear):
        return any(linear in linears for block, linears in LINEARS.items() if self.targets in ("all", block))


def initial_adapters(lora, c, seed):
    """fp32, by name: layers.0.lora.query.a as the weights begin, layers.0.lora.query.b around zero."""
    adapters = {}
    for name, shape in models.parameter_shapes(c).items():
        parts = name.split(".")  # layers.0.query.weight
        if len(parts) != 4 or parts[3] != "weight" or not lora.adapts(parts[2]):
            continue
        adapter = f"layers.{parts[1]}.lora.{parts[2]}"
        adapters[adapter + ".a"] = normal_tensor(adapter + ".a", (lora.rank, shape[1]), seed, c.init_std)
        adapters[adapter + ".b"] = normal_tensor(adapter + ".b", (shape[0], lora.rank), seed, models.PERTURB_STD)
    return adapters


def adapted(lora, params, adapters):
    """The model's parameters, with the adapters in them."""
    out = dict(params)
    for name, a in adapters.items():
        if name.endswith(".a"):
            weight = name.replace(".lora.", ".").removesuffix(".a") + ".weight"
            out[weight] = params[weight] + lora.alpha / lora.rank * adapters[name.removesuffix(".a") + ".b"] @ a
    return out
