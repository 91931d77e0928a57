"""PyTorch's names without its arithmetic: what a peer's script does around its model runs as it does beside the real one.

Modules and optimizers are built by the code under test, parameters are two, and a loss is always the same number.
"""

import sys
from unittest import mock

__version__ = "0+fake"
LOSS = 1.5


class FakeParameter:
    def __init__(self, dims):
        self.dims = dims

    def dim(self):
        return self.dims

    def numel(self):
        return 6


class Module:
    def __init__(self):
        # Like PyTorch, which loads a large part of the standard library at its first use and not when it is imported.
        import statistics

        assert statistics.median([1, 2, 3]) == 2

    def register_buffer(self, name, tensor, persistent=True):
        setattr(self, name, tensor)

    def named_parameters(self):
        return [("matrix.weight", FakeParameter(2)), ("vector.bias", FakeParameter(1))]

    def parameters(self):
        return [parameter for _, parameter in self.named_parameters()]

    def to(self, device):
        return self

    def __call__(self, *arguments):
        return mock.MagicMock(**{"item.return_value": LOSS})


everything = mock.MagicMock()
nn = everything.nn
nn.Module = Module
nn.ModuleList = list
sys.modules["torch.nn"] = nn
sys.modules["torch.nn.functional"] = nn.functional
sys.modules["torch.nn.parallel"] = nn.parallel
nn.parallel.DistributedDataParallel = lambda module, **options: module
sys.modules["torch.distributed"] = everything.distributed
sys.modules["torch.distributed.device_mesh"] = everything.distributed.device_mesh
sys.modules["torch.distributed.fsdp"] = everything.distributed.fsdp


def compile(model):  # noqa: A001, the name is PyTorch's
    return model


def get_num_threads():
    return 1


def __getattr__(name):
    return getattr(everything, name)
