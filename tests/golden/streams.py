"""Counter-based random streams: any element of any stream in O(1), the same on every machine and every mesh."""

import math

import torch

MASK64 = (1 << 64) - 1


def fnv1a64(text):
    """FNV-1a, 64 bits, of the UTF-8 bytes of text."""
    state = 0xCBF29CE484222325
    for byte in text.encode():
        state = ((state ^ byte) * 0x100000001B3) & MASK64
    return state


def splitmix64(x):
    """The output of SplitMix64 whose state before the step is x."""
    z = (x + 0x9E3779B97F4A7C15) & MASK64
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK64
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK64
    return z ^ (z >> 31)


def stream_key(name, seed):
    """The start of the stream called name."""
    return fnv1a64(name) ^ splitmix64(seed)


def normal(key, index):
    """Element index of the standard normal stream at key (Box-Muller, cosine branch)."""
    bits = splitmix64((key + index) & MASK64)
    u1 = ((bits >> 32) + 0.5) / 2.0**32
    u2 = ((bits & 0xFFFFFFFF) + 0.5) / 2.0**32
    return math.sqrt(-2.0 * math.log(u1)) * math.cos(2.0 * math.pi * u2)


def normal_tensor(name, shape, seed, std, mean=0.0):
    """fp32 tensor of mean + std * normal, indexed row-major; rounded to fp32 once, from fp64."""
    key = stream_key(name, seed)
    values = [mean + std * normal(key, i) for i in range(math.prod(shape))]
    return torch.tensor(values, dtype=torch.float64).to(torch.float32).reshape(shape)


def synthetic_tokens(first_sequence, sequences, seq_len, vocab_size, seed):
    """int64 [sequences, seq_len + 1]: inputs are columns 0..seq_len-1, targets are columns 1..seq_len."""
    key = stream_key("synthetic_tokens", seed)
    row = seq_len + 1
    first = first_sequence * row
    tokens = [splitmix64((key + first + i) & MASK64) % vocab_size for i in range(sequences * row)]
    return torch.tensor(tokens, dtype=torch.int64).reshape(sequences, row)


def documents(first_sequence, sequences, seq_len, seed):
    """By sequence how many tokens its prompt has, and how many it has with its completion, at most seq_len + 1."""
    key = stream_key("documents", seed)
    rows = []
    for sequence in range(first_sequence, first_sequence + sequences):
        prompt = 1 + splitmix64((key + 2 * sequence) & MASK64) % seq_len
        rows.append((prompt, prompt + 1 + splitmix64((key + 2 * sequence + 1) & MASK64) % (seq_len + 1 - prompt)))
    return rows


def packed_documents(first_sequence, sequences, seq_len, seed):
    """By sequence how many tokens each of its documents has: drawn up to half a row, until one does not fit."""
    key = stream_key("packed_documents", seed)
    rows = []
    for sequence in range(first_sequence, first_sequence + sequences):
        row, draw = [], sequence * seq_len
        while True:
            tokens = 1 + splitmix64((key + draw) & MASK64) % max(1, seq_len // 2)
            if sum(row) + tokens > seq_len:
                break
            row.append(tokens)
            draw += 1
        rows.append(row)
    return rows
