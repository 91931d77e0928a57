"""Dropout by keyed draws: an element of the residual stream stays, or becomes 0, by its place in the run alone."""

from dataclasses import dataclass

import torch

from streams import MASK64, splitmix64, stream_key


@dataclass(frozen=True)
class DropoutConfig:
    input: float = 0.0  # on the summed embeddings
    layer_input: float = 0.0  # on the input of a layer
    residual: float = 0.0  # on what each block adds

    def rate(self, place):
        if place == "input":
            return self.input
        return self.layer_input if place.endswith(".input") else self.residual


def keeps(place, seed, step, rows, width, rate):
    """bool [rows, width] for token rows of the step's global batch: the lower and the upper half of a row's words are
    numbers below 2^32, and an element is dropped where its number is below rate * 2^32, rounded down."""
    key = splitmix64((stream_key(f"dropout of {place}", seed) + step) & MASK64)
    words = (width + 1) // 2
    drawn = [[splitmix64((key + row * words + word) & MASK64) for word in range(words)] for row in rows]
    numbers = torch.tensor([[half for word in of_row for half in (word & 0xFFFFFFFF, word >> 32)] for of_row in drawn])
    return numbers[:, :width] >= int(rate * 2**32)


class Dropout:
    """Of sequences of a step's global batch, by their numbers in it."""

    def __init__(self, config, seed, step, sequences, seq_len):
        self.config, self.seed, self.step = config, seed, step
        self.rows = [sequence * seq_len + t for sequence in sequences for t in range(seq_len)]

    def __call__(self, place, x_BTM):
        rate = self.config.rate(place)
        if rate == 0.0:
            return x_BTM
        kept = keeps(place, self.seed, self.step, self.rows, x_BTM.shape[-1], rate).reshape(x_BTM.shape)
        return torch.where(kept, x_BTM / (1.0 - rate), 0.0)


def nothing_dropped(place, x_BTM):
    """Of an evaluation."""
    return x_BTM
