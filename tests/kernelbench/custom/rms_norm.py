import torch
import torch.nn as nn


class Model(nn.Module):
    """
    Each row over the root of its mean square, times a learned weight.
    """

    def __init__(self, features: int, eps: float = 1e-5):
        super().__init__()
        self.weight = nn.Parameter(torch.rand(features) + 0.5)
        self.eps = eps

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x * torch.rsqrt(x.pow(2).mean(dim=-1, keepdim=True) + self.eps) * self.weight


tokens = 16384
features = 4096


def get_inputs():
    return [torch.randn(tokens, features)]


def get_init_inputs():
    return [features]
