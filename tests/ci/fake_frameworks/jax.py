"""JAX's names without its arithmetic: a jitted step answers with its state and always the same loss."""

import sys
from unittest import mock

__version__ = "0+fake"
LOSS = 1.5

everything = mock.MagicMock()
sys.modules["jax.numpy"] = everything.numpy


def jit(function, donate_argnums=None):
    return lambda *arguments: (arguments[0], LOSS)


def default_backend():
    return "cpu"


def devices():
    return [mock.MagicMock(**{"memory_stats.return_value": {"peak_bytes_in_use": 1}})]


def __getattr__(name):
    return getattr(everything, name)
