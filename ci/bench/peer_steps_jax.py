#!/usr/bin/env python3
"""Times JAX's training steps of a run.json, as a user would write them for speed: one jitted step with donated state,
bf16 over fp32 weights, jax.nn.dot_product_attention (cuDNN on a GPU), the MLPs recomputed. Prints one JSON line.

example: peer_steps_jax.py --run runs/ID/001/run.json --steps 20
Exit code 6: the model has something that the peer cannot express.
"""

import argparse
import functools
import json
import pathlib
import sys
import time

import jax
import jax.numpy as jnp

SEED = 1234
LEARNING_RATE, BETA1, BETA2, EPSILON, WEIGHT_DECAY, CLIP_NORM = 3e-4, 0.9, 0.95, 1e-8, 0.1, 1.0


def check_expressible(model):
    position = model["position"]
    if model["activation"] not in ("swiglu", "gelu_tanh"):
        raise ValueError(f"{model['name']}: no {model['activation']}")
    if model["moe"]["n_experts"] > 0:
        raise ValueError(f"{model['name']}: no experts")
    if model.get("qk_norm", "none") != "none":
        raise ValueError(f"{model['name']}: no norm of queries and keys")
    if model.get("attention_scale", 0) != 0:
        raise ValueError(f"{model['name']}: no attention_scale {model['attention_scale']}")
    if position["kind"] not in ("rope", "learned") or position["rope_layout"] != "half":
        raise ValueError(f"{model['name']}: no positions of kind {position['kind']}, {position['rope_layout']}")


def initial_weights(m, key):
    """A tree of fp32 arrays; matrices are [in, out]."""
    keys = iter(jax.random.split(key, 8 * m["layers"] + 8))

    def matrix(rows, columns):
        return m["init_std"] * jax.random.normal(next(keys), (rows, columns), jnp.float32)

    def linear(rows, columns, biased):
        made = {"w": matrix(rows, columns)}
        return {**made, "b": jnp.zeros(columns)} if biased else made

    def norm():
        made = {"w": jnp.ones(m["d_model"])}
        return {**made, "b": jnp.zeros(m["d_model"])} if m["norm"] == "layernorm" else made

    q, kv = m["n_heads"] * m["head_dim"], m["n_kv_heads"] * m["head_dim"]
    bias, gated = m["bias"], m["activation"] == "swiglu"
    layers = [{"attention_norm": norm(), "mlp_norm": norm(), "qkv": linear(m["d_model"], q + 2 * kv, bias != "none"),
               "out": linear(q, m["d_model"], bias == "all"),
               "up": linear(m["d_model"], m["d_ff"] * (2 if gated else 1), bias == "all"),
               "down": linear(m["d_ff"], m["d_model"], bias == "all")} for _ in range(m["layers"])]
    weights = {"embedding": matrix(m["vocab_size"], m["d_model"]), "layers": layers, "final_norm": norm()}
    if m["position"]["kind"] == "learned":
        weights["positions"] = matrix(m["max_seq_len"], m["d_model"])
    if not m["tied_embedding"]:
        weights["unembedding"] = matrix(m["d_model"], m["vocab_size"])
    return weights


def normed(x, w, eps):
    wide = x.astype(jnp.float32)
    if "b" in w:
        wide = wide - wide.mean(-1, keepdims=True)
    scaled = wide * jax.lax.rsqrt((wide * wide).mean(-1, keepdims=True) + eps) * w["w"]
    return (scaled + w["b"] if "b" in w else scaled).astype(x.dtype)


def product(x, w):
    y = x @ w["w"].astype(x.dtype)
    return y + w["b"].astype(x.dtype) if "b" in w else y


def rotated(x_BTND, theta):
    T, D = x_BTND.shape[1], x_BTND.shape[3]
    frequencies = theta ** (-jnp.arange(0, D, 2, dtype=jnp.float32) / D)
    angles = jnp.outer(jnp.arange(T, dtype=jnp.float32), frequencies)[:, None]
    a, b = jnp.split(x_BTND.astype(jnp.float32), 2, axis=-1)
    turned = jnp.concatenate([a * jnp.cos(angles) - b * jnp.sin(angles), b * jnp.cos(angles) + a * jnp.sin(angles)], -1)
    return turned.astype(x_BTND.dtype)


def loss_of(weights, tokens, m, dtype, attention):
    eps, D, H, K = m["norm_eps"], m["head_dim"], m["n_heads"], m["n_kv_heads"]
    inputs, targets = tokens[:, :-1], tokens[:, 1:]
    x = weights["embedding"][inputs].astype(dtype)
    if "positions" in weights:
        x = x + weights["positions"][: inputs.shape[1]].astype(dtype)

    def mlp(x, w):
        y = product(normed(x, w["mlp_norm"], eps), w["up"])
        if m["activation"] == "swiglu":
            gate, up = jnp.split(y, 2, axis=-1)
            y = jax.nn.silu(gate) * up
        else:
            y = jax.nn.gelu(y, approximate=True)
        return product(y, w["down"])

    for w in weights["layers"]:
        B, T, _ = x.shape
        qkv = product(normed(x, w["attention_norm"], eps), w["qkv"]).reshape(B, T, -1, D)
        q, k, v = jnp.split(qkv, [H, H + K], axis=2)
        if "positions" not in weights:
            theta = m["position"]["rope_theta"]
            q, k = rotated(q, theta), rotated(k, theta)
        context = jax.nn.dot_product_attention(q, k, v, is_causal=True, implementation=attention)
        x = x + product(context.reshape(B, T, -1), w["out"])
        x = x + jax.checkpoint(mlp)(x, {name: w[name] for name in ("mlp_norm", "up", "down")})
    x = normed(x, weights["final_norm"], eps)
    head = weights["unembedding"] if "unembedding" in weights else weights["embedding"].T
    logits = (x @ head.astype(dtype)).astype(jnp.float32)
    chosen = jnp.take_along_axis(logits, targets[..., None], axis=-1)[..., 0]
    return (jax.nn.logsumexp(logits, axis=-1) - chosen).mean()


def make_step(m, dtype, attention):
    def update(p, g, mean, square, correction1, correction2):
        mean = BETA1 * mean + (1 - BETA1) * g
        square = BETA2 * square + (1 - BETA2) * g * g
        change = mean / correction1 / (jnp.sqrt(square / correction2) + EPSILON)
        return p - LEARNING_RATE * (change + (WEIGHT_DECAY * p if p.ndim >= 2 else 0)), mean, square

    @functools.partial(jax.jit, donate_argnums=0)
    def step(state, tokens):
        weights, means, squares, count = state
        loss, gradients = jax.value_and_grad(loss_of)(weights, tokens, m, dtype, attention)
        leaves, shape = jax.tree.flatten(gradients)
        length = jnp.sqrt(sum(jnp.vdot(g, g) for g in leaves))
        scale = jnp.minimum(1.0, CLIP_NORM / (length + 1e-6))
        count = count + 1
        corrections = 1 - BETA1**count, 1 - BETA2**count
        updated = [update(p, scale * g, a, b, *corrections) for p, g, a, b in
                   zip(jax.tree.leaves(weights), leaves, jax.tree.leaves(means), jax.tree.leaves(squares))]
        trees = [jax.tree.unflatten(shape, [entry[i] for entry in updated]) for i in range(3)]
        return (*trees, count), loss

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    options = parser.parse_args()
    run = json.loads(options.run.read_text())
    m = run["model"]
    try:
        check_expressible(m)
    except ValueError as error:
        print(f"peer_steps_jax: {error}", file=sys.stderr)
        return 6
    narrow = run["precision"] == "bf16"
    attention = "cudnn" if options.device == "cuda" and narrow else "xla"
    weights = jax.jit(functools.partial(initial_weights, m))(jax.random.key(SEED))
    zeros = [jax.tree.map(jnp.zeros_like, weights) for _ in range(2)]
    state = (weights, *zeros, jnp.zeros((), jnp.int32))
    tokens = jax.random.randint(jax.random.key(SEED + 1), (run["global_batch"], run["seq_len"] + 1), 0, m["vocab_size"])
    step = make_step(m, jnp.bfloat16 if narrow else jnp.float32, attention)
    steps = []
    for _ in range(options.steps):
        start_ns = time.perf_counter_ns()
        state, loss = step(state, tokens)
        loss = float(loss)  # waits for the device
        steps.append((time.perf_counter_ns() - start_ns, loss))
    device = jax.devices()[0]
    memory = (device.memory_stats() or {}).get("peak_bytes_in_use", 0)
    print(json.dumps({"version": jax.__version__, "steps_ns": [ns for ns, _ in steps], "first_loss": steps[0][1],
                      "last_loss": steps[-1][1], "peak_memory_bytes": memory}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
