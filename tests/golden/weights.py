#!/usr/bin/env python3
"""Losses of small models of transformers, whose weights tests/engine/weights_test.cpp writes by the same rule.

usage: weights.py     prints a line for each family, for the table in that test (transformers 5.24, torch 2.15)

Weight i of a tensor is drawn by a hash of i and of the tensor's name, so both sides know it; nothing is stored.
"""
import math

import numpy as np
import torch
import transformers

VOCABULARY, TOKENS, ROWS = 61, 12, 2


def hashed(count, seed):
    """Numbers of [-1, 1), the same wherever 32-bit integers wrap."""
    x = np.arange(1, count + 1, dtype=np.uint32) * np.uint32(2654435761) + np.uint32(seed * 40503)
    x ^= x >> np.uint32(15)
    x *= np.uint32(2246822519)
    x ^= x >> np.uint32(13)
    return x.astype(np.float64) / 2.0**31 - 1.0


def values(name, shape):
    drawn = hashed(math.prod(shape), sum(name.encode()))
    is_norm = len(shape) == 1 and name.endswith("weight")
    return torch.tensor((1.0 + 0.25 * drawn if is_norm else 0.25 * drawn).astype(np.float32)).reshape(shape)


def loss(config):
    model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="eager").eval()
    state = model.state_dict()
    tied = config.tie_word_embeddings
    with torch.no_grad():
        # Names and shapes as in files: one tensor per expert, where the implementation may hold them as one.
        for name, tensor in state.items():
            if tied and name == "lm_head.weight":
                continue
            if name.endswith("mlp.experts.gate_up_proj"):
                base = layer_experts(name, config)
                gate_up = [torch.cat([values(base(e, "gate"), (tensor.shape[1] // 2, tensor.shape[2])),
                                      values(base(e, "up"), (tensor.shape[1] // 2, tensor.shape[2]))])
                           for e in range(tensor.shape[0])]
                tensor.copy_(torch.stack(gate_up))
            elif name.endswith("mlp.experts.down_proj"):
                base = layer_experts(name, config)
                tensor.copy_(torch.stack([values(base(e, "down"), tuple(tensor.shape[1:]))
                                          for e in range(tensor.shape[0])]))
            else:
                tensor.copy_(values(file_name(name, config), tuple(tensor.shape)))
        ids = torch.tensor(((hashed(ROWS * (TOKENS + 1), 7) + 1.0) / 2.0 * VOCABULARY).astype(np.int64))
        ids = ids.reshape(ROWS, TOKENS + 1)
        logits = model(ids[:, :-1]).logits
        return torch.nn.functional.cross_entropy(logits.flatten(0, 1).double(), ids[:, 1:].flatten()).item()


def file_name(name, config):
    """As files have it: Mixtral's router stands in a block of another name there."""
    return name.replace(".mlp.gate.", ".block_sparse_moe.gate.") if config.model_type == "mixtral" else name


def layer_experts(name, config):
    prefix = name[: name.index("mlp.experts")]
    if config.model_type == "mixtral":
        parts = {"gate": "w1", "up": "w3", "down": "w2"}
        return lambda e, part: f"{prefix}block_sparse_moe.experts.{e}.{parts[part]}.weight"
    return lambda e, part: f"{prefix}mlp.experts.{e}.{part}_proj.weight"


def main():
    sizes = dict(vocab_size=VOCABULARY, hidden_size=24, intermediate_size=40, num_hidden_layers=2, num_attention_heads=4,
                 num_key_value_heads=2, head_dim=8, max_position_embeddings=32, rms_norm_eps=1e-5, tie_word_embeddings=False)
    theta = dict(rope_parameters={"rope_type": "default", "rope_theta": 10000.0})
    llama3 = dict(rope_parameters={"rope_type": "llama3", "rope_theta": 500.0, "factor": 8.0, "low_freq_factor": 1.0,
                                   "high_freq_factor": 4.0, "original_max_position_embeddings": 16})
    experts = dict(num_experts_per_tok=2)
    configs = {
        "gpt2": transformers.GPT2Config(vocab_size=VOCABULARY, n_positions=32, n_embd=32, n_layer=2, n_head=4, n_inner=48),
        "llama": transformers.LlamaConfig(**sizes, **theta),
        "llama3": transformers.LlamaConfig(**{**sizes, "tie_word_embeddings": True}, **llama3),
        "qwen2": transformers.Qwen2Config(**sizes, **theta),
        "qwen3": transformers.Qwen3Config(**sizes, **theta),
        "mixtral": transformers.MixtralConfig(**sizes, **theta, **experts, num_local_experts=4),
        "qwen3_moe": transformers.Qwen3MoeConfig(**sizes, **theta, **experts, num_experts=4, moe_intermediate_size=40,
                                                 norm_topk_prob=True),
    }
    for name, config in configs.items():
        print(f'{name:10} {loss(config):.9f}')


main()
