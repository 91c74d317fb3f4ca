"""Equivariant layers in PyTorch: a network in ten lines, and one of ours there and back.

    pip install './python[torch]'
    python examples/python/torch_layers.py [MODEL]

MODEL is a model file or a finished run of `equimarl train`.
"""

import sys
from pathlib import Path

import torch
from torch import nn

from equimarl import rep
from equimarl.torch import EquivariantConv2d, EquivariantLinear, Network


class Pool(nn.Module):
    """The maximum over pixels, which turning does not change."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x.amax((-2, -1))


# From an image of 21 x 21 pixels to five logits: stay, down, right, up, left. All of it turns with the image.
image, hidden, features = rep("C4", "trivial"), rep("C4", "8*regular"), rep("C4", "16*regular")
moves = rep("C4", "perm[0 4 1 2 3]")
network = nn.Sequential(
    EquivariantConv2d(image, hidden, 7, stride=2),
    nn.ReLU(),
    EquivariantConv2d(hidden, features, 5),
    nn.ReLU(),
    Pool(),
    EquivariantLinear(features, moves, initial=0.01),
)


def train() -> None:
    """Learns to point at a bright pixel, from pixels on the right half alone: the other directions come for free."""
    rng, optimiser = torch.Generator().manual_seed(0), torch.optim.Adam(network.parameters(), 3e-3)
    for _ in range(150):
        rows, columns = (torch.randint(low, 21, (64,), generator=rng) for low in (0, 15))
        x = torch.zeros(64, 1, 21, 21)
        x[torch.arange(64), 0, rows, columns] = 1
        loss = nn.functional.cross_entropy(network(x), torch.full((64,), 2))
        optimiser.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimiser.step()


def pointed(row: int, column: int) -> str:
    x = torch.zeros(1, 1, 21, 21)
    x[0, 0, row, column] = 1
    with torch.no_grad():
        return ["stay", "down", "right", "up", "left"][int(network(x).argmax())]


def there_and_back(file: Path) -> None:
    """A trained model of ours as a module, changed, and written as a file that `equimarl play` takes."""
    ours = Network.load(file)
    print(f"{file}: {sum(p.numel() for p in ours.parameters())} free coefficients, {ours.network['kind']}, {ours.network['group']}")
    with torch.no_grad():
        shape = ours.network["interface"]["image"]
        logits, values = ours(torch.rand(3, *shape), torch.tensor([0]), torch.tensor([1]), torch.randn(1, 2))
        print(f"logits {tuple(logits.shape)}, the team's value {values.mean():.3f}")
    ours.save("from-torch.safetensors", {"made": "in PyTorch"})
    print("written to from-torch.safetensors: equimarl play --model from-torch.safetensors")


if __name__ == "__main__":
    plain = sum(layer.rep_in.dim * layer.rep_out.dim * (layer.kernel_size**2 if isinstance(layer, EquivariantConv2d) else 1)
                for layer in network if isinstance(layer, EquivariantConv2d | EquivariantLinear))
    print(f"{sum(p.numel() for p in network.parameters())} free coefficients; a plain network of this width has {plain} weights")
    train()
    # A pixel in the middle of the right side, and the same turned.
    print("trained on the right:", {side: pointed(*at) for side, at in
                                    {"right": (10, 18), "up": (2, 10), "left": (10, 2), "down": (18, 10)}.items()})
    if len(sys.argv) > 1:
        there_and_back(Path(sys.argv[1]))
