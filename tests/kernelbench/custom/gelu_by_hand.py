import math

import torch
import torch.nn as nn


class Model(nn.Module):
    """
    The tanh form of GELU, written out.
    """

    def forward(self, x):
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


def get_inputs():
    return [torch.randn(4096, 16384)]


def get_init_inputs():
    return []
