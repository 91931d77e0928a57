#!/usr/bin/env python3
"""Trains the model of a run.json in PyTorch one step per request, so that a benchmark can alternate it with the engine.

Prints `ready {...}`, then answers each line `step` on stdin with one JSON line; `quit` or the end of stdin ends it.
"""

import argparse
import json
import pathlib
import sys
import time

import torch

from torch_models import GOLDEN, Decoder, config_of, load_named

from models import ModelConfig, initial_parameters  # isort: skip, found through torch_models
from streams import synthetic_tokens  # isort: skip

SEED = 1234
# OpenMP workers spin for some 20 ms after their last loop; an answer waits until they sleep, so that whoever is timed
# next does not share its cores with them.
SETTLE_S = 0.05


def peak_rss_bytes():
    """VmHWM: the most physical memory this process has held."""
    for line in pathlib.Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise RuntimeError("/proc/self/status has no VmHWM")


class Trainer:
    """A model, its optimizer and its data; OptimizerSpec's defaults at a constant learning rate.

    One of several ranks has its share of each step's `batch` sequences, and `spread` divides the work on the model among
    them; it gives what is called for the loss."""

    def __init__(self, config, batch, seq_len, rank=0, ranks=1, spread=lambda model: model, clip_norm=1.0):
        torch.manual_seed(SEED)
        self.clip_norm = clip_norm  # 0: no clipping
        self.config, self.batch, self.seq_len, self.rank, self.ranks = config, batch, seq_len, rank, ranks
        self.model = Decoder(config)
        self.loss_of = spread(self.model)
        matrices = [p for p in self.model.parameters() if p.dim() >= 2]
        vectors = [p for p in self.model.parameters() if p.dim() < 2]
        groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
        settings = {"lr": 3e-4, "betas": (0.9, 0.95), "eps": 1e-8}
        try:
            self.optimizer_kind = "fused"
            self.optimizer = torch.optim.AdamW(groups, fused=True, **settings)
        except (RuntimeError, TypeError):
            self.optimizer_kind = "foreach"
            self.optimizer = torch.optim.AdamW(groups, foreach=True, **settings)
        self.steps = 0

    def tokens(self):
        share = self.batch // self.ranks
        first = self.steps * self.batch + self.rank * share
        tokens = synthetic_tokens(first, share, self.seq_len, self.config.vocab_size, SEED)
        return tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()

    def compile(self):
        """Tries torch.compile on a forward and a backward pass; returns what went wrong, or None."""
        try:
            self.loss_of = torch.compile(self.model)
            self.loss_of(*self.tokens()).backward()
        except Exception as error:  # whatever the compiler raises, eager is the answer
            self.loss_of = self.model
            return f"{type(error).__name__}: {error}".splitlines()[0]
        finally:
            self.optimizer.zero_grad(set_to_none=True)
        return None

    def step(self):
        """One training step: its nanoseconds (data excluded) and its loss."""
        inputs, targets = self.tokens()
        start_ns = time.perf_counter_ns()
        self.optimizer.zero_grad(set_to_none=True)
        loss = self.loss_of(inputs, targets)
        loss.backward()
        if self.clip_norm > 0:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip_norm)
        self.optimizer.step()
        loss = loss.item()
        self.steps += 1
        return time.perf_counter_ns() - start_ns, loss


def announce(trainer, **more):
    """Says what steps can be asked of."""
    ready = {
        "torch": torch.__version__,
        "model": trainer.config.name,
        "params": sum(p.numel() for p in trainer.model.parameters()),
        "batch": trainer.batch,
        "seq_len": trainer.seq_len,
        "threads": torch.get_num_threads(),
        "optimizer": trainer.optimizer_kind,
        "peak_rss_bytes": peak_rss_bytes(),
        **more,
    }
    print("ready " + json.dumps(ready), flush=True)


def serve(trainer):
    for line in sys.stdin:
        request = line.strip()
        if request == "quit":
            return 0
        if request != "step":
            print(f"peer_torch: unknown request '{request}' (step or quit)", file=sys.stderr)
            return 3
        step_ns, loss = trainer.step()
        time.sleep(SETTLE_S)
        print(json.dumps({"step_ns": step_ns, "loss": loss, "peak_rss_bytes": peak_rss_bytes()}), flush=True)
    return 0


def self_check():
    """The fast model must give the first loss and gradient norm of the goldens it can express."""
    failures = 0
    for name in ("gpt-tiny", "llama-tiny"):
        golden = json.loads((GOLDEN / f"{name}.json").read_text())
        run = golden["run"]
        config = ModelConfig.from_json(run["model"])
        model = Decoder(config)
        load_named(model, config, initial_parameters(config, run["seed"]))
        tokens = synthetic_tokens(0, run["global_batch"], run["seq_len"], config.vocab_size, run["data"]["seed"])
        loss = model(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        for what, tensor in (("loss", loss), ("gradient_norm", norm)):
            got, want = tensor.item(), golden[what][0]
            # another order of summation than the golden's own fp32 runs had: 8 of their deviations, and the rounding
            tolerance = 8 * golden[f"fp32_abs_diff_{what}"][0] + torch.finfo(torch.float32).eps * want
            failures += abs(got - want) > tolerance
            print(f"{name} {what}: {got:.9g}, golden {want:.9g}, tolerance {tolerance:.2g}")
    print("differs" if failures else "agrees")
    return 1 if failures else 0


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=pathlib.Path, help="run.json: model, sequences of a step and their length")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--compile", action="store_true", help="use torch.compile if it works")
    parser.add_argument("--self-check", action="store_true", help="compare the model with the golden files")
    arguments = parser.parse_args()
    if not arguments.self_check and not arguments.run:
        parser.error("--run is required")
    return arguments


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    if arguments.self_check:
        return self_check()
    run = json.loads(arguments.run.read_text())
    trainer = Trainer(config_of(run["model"]), run["global_batch"], run["seq_len"],
                      clip_norm=run["optimizer"]["clip_norm"])
    compile_error = trainer.compile() if arguments.compile else None
    announce(trainer, compiled=arguments.compile and compile_error is None, compile_error=compile_error)
    return serve(trainer)


if __name__ == "__main__":
    sys.exit(main())
