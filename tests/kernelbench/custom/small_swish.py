import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Swish at a size that runs anywhere in a moment.
    """

    def forward(self, x):
        return x * torch.sigmoid(x)


def get_inputs():
    return [torch.rand(256, 1000)]
