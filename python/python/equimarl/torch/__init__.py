"""Equivariant layers for PyTorch, and our models in it: ``pip install equimarl[torch]``.

Layers are ordinary modules. Their parameters are the free coefficients, from which the weights are gathered in every
forward pass; where the group permutes coordinates, every weight is plus or minus one coefficient. They start as ours do,
and compute what ours compute.

>>> import torch
>>> from equimarl import rep
>>> from equimarl.torch import EquivariantLinear
>>> layer = EquivariantLinear(rep("D4", "2*rotation"), rep("D4", "8*regular"))
>>> sum(p.numel() for p in layer.parameters())  # a plain layer has 320
40
>>> x = torch.randn(3, 4)
>>> turn = torch.tensor(rep("D4", "2*rotation").matrices("r"), dtype=torch.float32)
>>> turned = torch.tensor(rep("D4", "8*regular").matrices("r"), dtype=torch.float32)
>>> torch.allclose(layer(x @ turn.T), layer(x) @ turned.T, atol=1e-5)
True
"""

try:
    import torch as _torch  # noqa: F401
except ImportError:
    # Python shows what was missing above this.
    raise ImportError("equimarl.torch needs PyTorch: pip install 'equimarl[torch]'")

from ._layers import EdgeRound, EquivariantConv2d, EquivariantLinear, MessageRound
from ._network import Network

__all__ = ["EdgeRound", "EquivariantConv2d", "EquivariantLinear", "MessageRound", "Network"]
