#!/usr/bin/env python3
"""Times PyTorch's training steps of a run.json, as a user would write them for speed: torch.compile, bf16 autocast over
fp32 weights, fused AdamW, scaled_dot_product_attention (flash or cuDNN). Prints one JSON line.

example: peer_steps_torch.py --run runs/ID/001/run.json --steps 20
Exit code 6: the model has something that the peer cannot express.
"""

import argparse
import contextlib
import json
import pathlib
import sys
import time

import torch

from torch_models import Decoder, config_of

SEED = 1234


def make_trainer(run, device, compiled):
    torch.manual_seed(SEED)
    config = config_of(run["model"])
    torch.set_float32_matmul_precision("high" if run["precision"] == "tf32" else "highest")
    model = Decoder(config).to(device)
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    groups = [{"params": matrices, "weight_decay": 0.1}, {"params": vectors, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), eps=1e-8, fused=True)
    loss_of = torch.compile(model) if compiled else model
    narrow = run["precision"] == "bf16"
    tokens = torch.randint(config.vocab_size, (run["global_batch"], run["seq_len"] + 1), device=device)

    def step():
        start_ns = time.perf_counter_ns()
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device, dtype=torch.bfloat16) if narrow else contextlib.nullcontext():
            loss = loss_of(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        loss = loss.item()  # waits for the device
        return time.perf_counter_ns() - start_ns, loss

    return step


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--run", type=pathlib.Path, required=True)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--device", choices=["cuda", "cpu"], default="cuda")
    parser.add_argument("--eager", action="store_true", help="without torch.compile")
    options = parser.parse_args()
    run = json.loads(options.run.read_text())
    try:
        step = make_trainer(run, options.device, not options.eager)
    except ValueError as error:
        print(f"peer_steps_torch: {error}", file=sys.stderr)
        return 6
    steps = [step() for _ in range(options.steps)]
    memory = torch.cuda.max_memory_allocated() if options.device == "cuda" else 0
    print(json.dumps({"version": torch.__version__, "steps_ns": [ns for ns, _ in steps], "first_loss": steps[0][1],
                      "last_loss": steps[-1][1], "peak_memory_bytes": memory}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
