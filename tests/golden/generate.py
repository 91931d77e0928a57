#!/usr/bin/env python3
"""Writes the golden files, or with --check compares the committed ones with a fresh computation."""

import argparse
import dataclasses
import json
import math
import pathlib
import sys

import torch

from dropout import Dropout, DropoutConfig
from lora import LoraConfig, adapted, initial_adapters
from models import PERTURB_STD, ModelConfig, PositionConfig, forward, initial_parameters, logits
from routing import MoeConfig
from streams import documents, packed_documents, synthetic_tokens

FOLDER = pathlib.Path(__file__).resolve().parent
FORMAT_VERSION = 1

# --check: another BLAS or PyTorch may sum in another order. Six steps of these models amplify 2^-53 by less than 1e5
# (fp32_abs_diff_* / 2^-24 is below 1e3). The absolute part covers values that are zero except for rounding.
CHECK_RELATIVE = 1e-10
CHECK_ABSOLUTE = 1e-10

# The same in fp32 and fp64: the norm is that of parameters before a nudge, and no choice of an expert depends on rounding.
EXACT = ("initial_parameter_norm", "dropped_choices", "loss_tokens", "padding_tokens", "evaluation_missed")

# The rows that an evaluation scores after the last step of a run: the documents of this many batches, minus a few rows.
EVALUATED_BATCHES = 2
EVALUATED_LESS = 3

# A target's logit and the greatest of the others are further apart, so that rounding makes none a miss.
SMALLEST_GAP = 1e-3

# An fp32 program may deviate by this multiple of the deviation of the fp32 runs here (README.md).
OTHER_ORDERS = 8

# AdamW moves a weight whose gradient is off by d by up to learning_rate * d / eps. Some gradient of a model is always
# near zero; with an eps of 1e-8 an error of 1e-7 changes its sign and the weight's whole step, and two fp32 programs
# differ by 1e-3 of a loss. With 1e-4 weights differ by at most 1e-2 of their gradients' difference relative to eps.
OPTIMIZER = {
    "learning_rate": 1e-2,
    "beta1": 0.9,
    "beta2": 0.95,
    "eps": 1e-4,
    "weight_decay": 0.1,
    "clip_norm": 1.0,
    "warmup_steps": 2,
    "decay_steps": 6,
    "min_lr_ratio": 0.1,
}
# With this seed no choice of an expert is nearly a tie (choices_in_fp32); glam-tiny has its own seed.
EXPERT_SEED = 1241

GPT = ModelConfig(
    name="gpt-tiny", layers=2, d_model=32, n_heads=4, n_kv_heads=4, head_dim=8, d_ff=128, vocab_size=97, max_seq_len=16,
    norm="layernorm", activation="gelu_tanh", bias="all", tied_embedding=True,
    position=PositionConfig(kind="learned"), init_std=0.2,
)  # fmt: skip
LLAMA = ModelConfig(
    name="llama-tiny", layers=2, d_model=32, n_heads=4, n_kv_heads=2, head_dim=16, d_ff=80, vocab_size=101,
    max_seq_len=16, init_std=0.2,
)  # fmt: skip
LLAMA31_POSITION = PositionConfig(
    rope_theta=500000.0, rope_layout="interleaved", rope_scaling="llama3", rope_factor=8.0, rope_low_freq_factor=1.0,
    rope_high_freq_factor=4.0, rope_original_context=8,
)  # fmt: skip
MIXTRAL = dataclasses.replace(LLAMA, name="moe-tiny", moe=MoeConfig(n_experts=4, d_ff=48, load_balance_weight=0.02))
MIXTRAL_CAPACITY = dataclasses.replace(
    MIXTRAL, name="moe-tiny-capacity", moe=dataclasses.replace(MIXTRAL.moe, capacity_factor=0.9)
)
GSHARD = dataclasses.replace(
    LLAMA, name="gshard-tiny", layers=3, n_kv_heads=4, activation="geglu", tied_embedding=True,
    moe=MoeConfig(
        n_experts=8, d_ff=48, layer_stride=2, activation="relu", routing="top2_gshard", capacity_factor=1.25,
        load_balance_weight=0.01,
    ),
)  # fmt: skip
T5 = dataclasses.replace(
    LLAMA, name="t5-tiny", attention_scale=0.5,
    position=PositionConfig(kind="t5_relative_bias", t5_buckets=8, t5_max_distance=12),
)  # fmt: skip
# Scores without a divisor grow with the weights, and so does their amplification: glam-tiny begins smaller.
GLAM = dataclasses.replace(GSHARD, name="glam-tiny", attention_scale=1.0, position=T5.position, init_std=0.1)


def run_spec(model, global_batch=3, grad_accum=1, steps=6, seed=1234):
    """The fields of RunSpec that decide the numbers."""
    model = dataclasses.asdict(model)
    if model["moe"] is None:
        del model["moe"]
    if model["qk_norm"] == "none":
        del model["qk_norm"]
    if model["attention_scale"] == 0:
        del model["attention_scale"]
    if model["position"]["kind"] != "t5_relative_bias":
        del model["position"]["t5_buckets"], model["position"]["t5_max_distance"]
    return {
        "model": model,
        "seq_len": 16,
        "global_batch": global_batch,
        "grad_accum": grad_accum,
        "steps": steps,
        "seed": seed,
        "data": {"kind": "synthetic", "seed": seed},
        "optimizer": OPTIMIZER,
    }


def expert_run(model, grad_accum=1, steps=4, seed=EXPERT_SEED):
    return run_spec(model, 8, grad_accum, steps=steps, seed=seed)


def packed_run(model):
    run = run_spec(model, global_batch=6, grad_accum=2)
    return {**run, "data": {**run["data"], "packing": "documents"}}


RUNS = {
    "gpt-tiny": run_spec(GPT),
    "llama-tiny": run_spec(LLAMA),
    "llama31-tiny": run_spec(
        dataclasses.replace(LLAMA, name="llama31-tiny", tied_embedding=True, position=LLAMA31_POSITION)
    ),
    "qwen-tiny": run_spec(dataclasses.replace(LLAMA, name="qwen-tiny", bias="qkv")),
    "qwen3-tiny": run_spec(dataclasses.replace(LLAMA, name="qwen3-tiny", qk_norm="head")),
    "gpt-tiny-accum2": run_spec(GPT, global_batch=6, grad_accum=2),
    "llama-tiny-geglu": run_spec(dataclasses.replace(LLAMA, name="llama-tiny-geglu", activation="geglu")),
    "llama-tiny-sft": {
        **run_spec(LLAMA, global_batch=6, grad_accum=2),
        "task": "sft",
        "evaluation": {"path": "drawn documents"},
    },
    "llama-tiny-packed": packed_run(LLAMA),
    "gpt-tiny-packed": packed_run(GPT),
    "gpt-tiny-dropout": {**run_spec(GPT, global_batch=6, grad_accum=2), "dropout": {"input": 0.1, "residual": 0.2}},
    "llama-tiny-dropout": {**run_spec(LLAMA), "dropout": {"layer_input": 0.1}},
    "llama-tiny-lora": {
        **run_spec(LLAMA, global_batch=6, grad_accum=2), "task": "lora", "lora": {"rank": 4, "alpha": 6.0, "targets": "all"}
    },  # fmt: skip
    "gpt-tiny-lora-mlp": {**run_spec(GPT), "task": "lora", "lora": {"rank": 5, "alpha": 5.0, "targets": "mlp"}},
    "moe-tiny": expert_run(MIXTRAL),
    "moe-tiny-capacity": expert_run(MIXTRAL_CAPACITY, grad_accum=2),
    "gshard-tiny": expert_run(GSHARD),
    "t5-tiny": run_spec(T5),
    "glam-tiny": expert_run(GLAM, seed=1238),
}


def learning_rate(o, step):
    """Linear warm-up, then a cosine from the peak to min_lr_ratio of it at decay_steps; step counts from 0."""
    peak, floor = o["learning_rate"], o["min_lr_ratio"]
    if step < o["warmup_steps"]:
        return peak * (step + 1) / o["warmup_steps"]
    progress = min(1.0, (step - o["warmup_steps"]) / (o["decay_steps"] - o["warmup_steps"]))
    return peak * (floor + (1.0 - floor) * 0.5 * (1.0 + math.cos(math.pi * progress)))


def adamw(o, params):
    """AdamW that decays only what has two or more dims."""
    matrices = [p for p in params.values() if p.dim() >= 2]
    vectors = [p for p in params.values() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": o["weight_decay"]}, {"params": vectors, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, betas=(o["beta1"], o["beta2"]), eps=o["eps"], foreach=False)


def norms(tensors):
    """L2 norms, summed in fp64 whatever the dtype."""
    return {name: t.detach().double().norm().item() for name, t in tensors.items()}


def joined(microbatches, field, rows):
    """A field of every expert layer's Routing, [layer, sequence, ...], from one list of layers a microbatch."""
    return torch.cat([torch.stack([getattr(layer, field) for layer in m]) for m in microbatches], dim=1)[:, rows]


def as_documents(tokens, rows):
    """The tokens of documents with 0 behind them; whether the token after a position completes a prompt, [B, T]; and
    how many positions hold no token."""
    at = torch.arange(tokens.shape[1])
    prompt, length = torch.tensor(rows).T[..., None]
    padded = torch.where(at < length, tokens, 0)
    return padded, ((at >= prompt) & (at < length))[:, 1:], (at >= length)[:, :-1].sum().item()


def evaluate(run, config, params):
    """Of each evaluated row the log-likelihood of its completion, and how many of its tokens are no greedy choice."""
    rows = EVALUATED_BATCHES * run["global_batch"] - EVALUATED_LESS
    tokens = synthetic_tokens(0, rows, run["seq_len"], config.vocab_size, run["data"]["seed"])
    tokens, counted_BT, _ = as_documents(tokens, documents(0, rows, run["seq_len"], run["data"]["seed"]))
    with torch.no_grad():
        logits_BTV, _ = logits(config, params, tokens[:, :-1], torch.zeros(rows, run["seq_len"], dtype=torch.int64))
    targets_BT1 = tokens[:, 1:, None]
    of_target_BT = logits_BTV.gather(-1, targets_BT1)[..., 0]
    others_BT = logits_BTV.scatter(-1, targets_BT1, -math.inf).max(-1).values
    assert (of_target_BT - others_BT)[counted_BT].abs().min() > SMALLEST_GAP, "a near tie"
    log_likelihood_BT = logits_BTV.log_softmax(-1).gather(-1, targets_BT1)[..., 0]
    return {
        "evaluation_log_likelihood": (log_likelihood_BT * counted_BT).sum(-1).tolist(),
        "evaluation_missed": ((of_target_BT <= others_BT) & counted_BT).sum(-1).tolist(),
    }


def initial(run):
    """fp32: what is trained, and beside adapters the model's own parameters, which are not."""
    config = ModelConfig.from_json(run["model"])
    params = initial_parameters(config, run["seed"])
    if "lora" not in run:
        return params, {}
    return initial_adapters(LoraConfig(**run["lora"]), config, run["seed"]), params


def as_packed(tokens, rows):
    """The tokens of documents in a row with 0 behind them; whether the token after a position is of its document,
    [B, T]; how many positions hold no token; and where each one's document begins, of padding itself, [B, T]."""
    length = tokens.shape[1] - 1
    first = torch.tensor([
        [sum(row[:i]) for i, n in enumerate(row) for _ in range(n)] + list(range(sum(row), length)) for row in rows
    ])  # fmt: skip
    at = torch.arange(length)
    real = at < torch.tensor([sum(row) for row in rows])[:, None]
    inside = torch.zeros_like(real)
    inside[:, :-1] = first[:, 1:] == first[:, :-1]
    padded = torch.where(torch.nn.functional.pad(real, (0, 1), value=False), tokens, 0)
    return padded, inside, (~real).sum().item(), first


def nudged(params, seed):
    """Each value times 1 + u, |u| <= 2^-24, which stands for the rounding of sums in another order."""
    draws = torch.Generator().manual_seed(seed)

    def factors(shape):
        return 1 + (2 * torch.rand(shape, generator=draws, dtype=torch.float64) - 1) * 2**-24

    return {name: p * factors(p.shape) for name, p in params.items()}


def train(run, dtype, row_order=None, nudge=0):
    """What a file holds of a run; and of every step with experts the router's logits and choices, [layer, B, T, ...].
    `nudge`: the seed by which the first weights are nudged, 0 for none."""
    config, optimizer_spec = ModelConfig.from_json(run["model"]), run["optimizer"]
    exact = initial(run)
    first_norms = norms(exact[0])
    params, frozen = ({n: p.to(dtype) for n, p in (nudged(of, nudge) if nudge else of).items()} for of in exact)
    for p in params.values():
        p.requires_grad_()
    lora = LoraConfig(**run["lora"]) if frozen else None
    dropout = DropoutConfig(**run.get("dropout", {}))
    optimizer = adamw(optimizer_spec, params)
    out = {"loss": [], "gradient_norm": [], "initial_parameter_norm": first_norms}
    if config.moe is not None:
        out |= {"auxiliary_loss": [], "dropped_choices": []}
    tuned = run.get("task") == "sft"
    packed = run["data"].get("packing") == "documents"
    if tuned or packed:
        out |= {"loss_tokens": [], "padding_tokens": []}
    routed = []
    batch = run["global_batch"]
    row_order = row_order or list(range(batch))
    for step in range(run["steps"]):
        tokens = synthetic_tokens(step * batch, batch, run["seq_len"], config.vocab_size, run["data"]["seed"])
        counted = torch.ones(batch, run["seq_len"], dtype=torch.bool)
        first = torch.zeros(batch, run["seq_len"], dtype=torch.int64)
        if tuned:
            of_step = documents(step * batch, batch, run["seq_len"], run["data"]["seed"])
            tokens, counted, padding = as_documents(tokens, of_step)
        if packed:
            of_step = packed_documents(step * batch, batch, run["seq_len"], run["data"]["seed"])
            tokens, counted, padding, first = as_packed(tokens, of_step)
        if tuned or packed:
            out["loss_tokens"].append(counted.sum().item())
            out["padding_tokens"].append(padding)
        optimizer.zero_grad()
        loss, auxiliary_loss, routings = 0.0, 0.0, []
        numbers = torch.arange(batch)
        microbatches = (x[row_order].chunk(run["grad_accum"]) for x in (tokens, counted, first, numbers))
        for microbatch, counted_BT, first_BT, sequences in zip(*microbatches):
            drop = Dropout(dropout, run["seed"], step, sequences.tolist(), run["seq_len"])
            weights = adapted(lora, frozen, params) if lora else params
            losses_BT, layers = forward(config, weights, microbatch, first_BT, drop)
            # mean over the step's positions with a loss; this microbatch has a part of them
            part = objective = losses_BT[counted_BT].sum() / counted.sum()
            if config.moe is not None:
                auxiliary = sum(layer.auxiliary_loss for layer in layers) / run["grad_accum"]
                objective = part + config.moe.load_balance_weight * auxiliary
                auxiliary_loss += auxiliary.item()
                routings.append(layers)
            objective.backward()
            loss += part.item()
        if step == 0:
            out["first_gradient_norm"] = norms({name: p.grad for name, p in params.items()})
        out["loss"].append(loss)
        norm = torch.nn.utils.clip_grad_norm_(params.values(), optimizer_spec["clip_norm"], foreach=False)
        out["gradient_norm"].append(norm.item())
        if config.moe is not None:
            rows = torch.tensor(row_order).argsort()  # back to the order of the data
            out["auxiliary_loss"].append(auxiliary_loss)
            out["dropped_choices"].append((~joined(routings, "kept_BTK", rows)).sum().item())
            routed.append((joined(routings, "logits_BTE", rows).detach(), joined(routings, "choice_BTK", rows)))
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(optimizer_spec, step)
        optimizer.step()
    out["final_parameter_norm"] = norms(params)
    if "evaluation" in run:
        out |= evaluate(run, config, adapted(lora, frozen, params) if lora else params)
    return out, routed


def row_orders(batch):
    """Orders of a batch's sequences: they change rounding alone, so they show how far fp32 may be off."""
    rows = list(range(batch))
    rotated = [rows[i:] + rows[:i] for i in range(3)]
    return rotated + [order[::-1] for order in rotated]


def deviation(wide, narrows):
    """Largest |narrow - wide| of every number, two digits."""
    if isinstance(wide, dict):
        return {key: deviation(wide[key], [n[key] for n in narrows]) for key in wide}
    if isinstance(wide, list):
        return [deviation(w, n) for w, n in zip(wide, zip(*narrows))]
    return float(f"{max(abs(n - wide) for n in narrows):.2g}")


def choices_in_fp32(run, wide, narrows):
    """By step how near the router came to other choices. Raises where another fp32 program might choose otherwise."""
    gaps, logit_off = [], []
    for step, (logits, choices) in enumerate(wide):
        assert all(torch.equal(n[step][1], choices) for n in narrows), f"step {step}: fp32 runs choose otherwise"
        ranked = logits.sort(dim=-1, descending=True).values[..., : run["model"]["moe"]["top_k"] + 1]
        gaps.append((ranked[..., :-1] - ranked[..., 1:]).min().item())
        logit_off.append(max(deviation(logits.flatten().tolist(), [n[step][0].flatten().tolist() for n in narrows])))
    # 2: both logits may be off
    assert min(gaps) > 2 * OTHER_ORDERS * max(logit_off), f"logits {gaps} apart, off by {logit_off}: a near tie"
    return {"smallest_choice_gap": gaps, "fp32_abs_diff_router_logit": logit_off}


def golden(name):
    run = RUNS[name]
    model = run["model"]
    wide, wide_routed = train(run, torch.float64)
    orders = row_orders(run["global_batch"])
    narrows, narrows_routed = zip(*(train(run, torch.float32, order, nudge) for nudge, order in enumerate(orders)))
    trained, frozen = initial(run)
    params = {**frozen, **trained}
    tokens = synthetic_tokens(0, 1, run["seq_len"], model["vocab_size"], run["data"]["seed"])
    packed = "packing" in run["data"]
    rows = (packed_documents if packed else documents)(0, run["global_batch"], run["seq_len"], run["data"]["seed"])
    return {
        "format_version": FORMAT_VERSION,
        "name": name,
        "torch_version": torch.__version__,
        "init_perturb_norm_and_bias": True,
        "init_perturb_std": PERTURB_STD,
        "run": run,
        "parameter_shape": {n: list(p.shape) for n, p in params.items()},
        "first_tokens": tokens.flatten().tolist(),
        **({"first_documents": rows} if run.get("task") == "sft" or packed else {}),
        "first_values": {n: p.flatten()[:4].tolist() for n, p in params.items() if n.count(".") < 2},
        "learning_rate": [learning_rate(run["optimizer"], s) for s in range(run["steps"])],
        **wide,
        **{f"fp32_abs_diff_{key}": deviation(wide[key], [n[key] for n in narrows]) for key in wide if key not in EXACT},
        **(choices_in_fp32(run, wide_routed, narrows_routed) if "moe" in model else {}),
    }


def differences(path, committed, fresh):
    """Text for each place where two JSON values disagree."""
    if isinstance(committed, dict) and isinstance(fresh, dict):
        for key in sorted(committed.keys() | fresh.keys()):
            if key == "torch_version" or key.startswith("fp32_abs_diff_"):
                continue  # they describe the machine that wrote the file
            if key not in committed or key not in fresh:
                yield f"{path}/{key}: only in the {'committed' if key in committed else 'fresh'} file"
            else:
                yield from differences(f"{path}/{key}", committed[key], fresh[key])
    elif isinstance(committed, list) and isinstance(fresh, list) and len(committed) == len(fresh):
        for i, (c, f) in enumerate(zip(committed, fresh)):
            yield from differences(f"{path}/{i}", c, f)
    elif isinstance(committed, float) and isinstance(fresh, float):
        if not abs(committed - fresh) <= CHECK_ABSOLUTE + CHECK_RELATIVE * abs(fresh):
            yield f"{path}: committed {committed!r}, fresh {fresh!r}"
    elif committed != fresh:
        yield f"{path}: committed {committed!r}, fresh {fresh!r}"


def dump(value, indent=0):
    """JSON with one line for each list and each plain value, so that a diff is readable."""
    if not isinstance(value, dict):
        return json.dumps(value, allow_nan=False)
    pad = " " * (indent + 1)
    lines = [f"{pad}{json.dumps(key)}: {dump(item, indent + 1)}" for key, item in value.items()]
    return "{\n" + ",\n".join(lines) + "\n" + " " * indent + "}"


def write():
    for name in RUNS:
        path = FOLDER / f"{name}.json"
        path.write_text(dump(golden(name)) + "\n")
        print(f"wrote {path.name}")
    return 0


def check():
    found = []
    training_runs = {p.stem for p in FOLDER.glob("*.json") if "torch_version" in json.loads(p.read_text())}
    found += [f"{name}.json: no such run" for name in sorted(training_runs - RUNS.keys())]
    for name in RUNS:
        path = FOLDER / f"{name}.json"
        if path.exists():
            found += differences(path.name, json.loads(path.read_text()), json.loads(json.dumps(golden(name))))
        else:
            found.append(f"{path.name}: missing")
    print("\n".join(found) or f"{len(RUNS)} golden files agree with PyTorch {torch.__version__}")
    return 1 if found else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the committed files, write nothing")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    return check() if arguments.check else write()


if __name__ == "__main__":
    sys.exit(main())
