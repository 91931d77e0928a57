#!/usr/bin/env python3
"""One rank of a data-parallel training in PyTorch over gloo; it takes its steps when asked, as peer_torch.py does.

The rank has its share of each step's sequences. dp: DistributedDataParallel. fsdp: FSDP2, each layer a unit of its own.
"""

import argparse
import datetime
import json
import os
import pathlib
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.nn.parallel import DistributedDataParallel

from peer_torch import Trainer, announce, serve
from torch_models import config_of

LONGEST_WAIT = datetime.timedelta(minutes=5)  # of a rank for another that has failed


def replicate(model):
    # Its buffers are constants: there is nothing to broadcast.
    return DistributedDataParallel(model, broadcast_buffers=False, gradient_as_bucket_view=True)


def shard(model):
    mesh = init_device_mesh("cpu", (dist.get_world_size(),))
    for layer in model.layers:
        fully_shard(layer, mesh=mesh)
    fully_shard(model, mesh=mesh)
    return model


SPREADS = {"dp": replicate, "fsdp": shard}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--run", type=pathlib.Path, required=True,
                        help="run.json: model, sequences of a step of all ranks, and their length")
    parser.add_argument("--kind", choices=list(SPREADS), required=True)
    parser.add_argument("--rank", type=int, required=True)
    parser.add_argument("--ranks", type=int, required=True)
    parser.add_argument("--store", type=pathlib.Path, required=True,
                        help="a file that is not there yet, the same for all ranks")
    parser.add_argument("--threads", type=int, default=1)
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    torch.set_num_threads(arguments.threads)
    os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # all ranks are here, and the host's name need not resolve
    dist.init_process_group("gloo", init_method=f"file://{arguments.store.resolve()}", rank=arguments.rank,
                            world_size=arguments.ranks, timeout=LONGEST_WAIT)
    run = json.loads(arguments.run.read_text())
    trainer = Trainer(config_of(run["model"]), run["global_batch"], run["seq_len"], arguments.rank, arguments.ranks,
                      SPREADS[arguments.kind])
    announce(trainer, rank=arguments.rank, kind=arguments.kind)
    exit_code = serve(trainer)
    dist.destroy_process_group()
    return exit_code


if __name__ == "__main__":
    sys.exit(main())
