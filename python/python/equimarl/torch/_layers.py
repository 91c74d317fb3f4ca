"""Layers whose weights are gathered from coefficients."""

from collections.abc import Mapping
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional as F

from .. import _core
from .._core import Rep
from .._groups import rep_text

#: How wide initial weights are: before a ReLU or without one so that squares keep their mean, or a standard deviation.
Initial = Literal["relu", "linear"] | float


class _Gathered(nn.Module):
    """A weight and a bias between two representations: W rho_in(g) = rho_out(g) W and rho_out(g) b = b.

    `weight` and `bias` are the free coefficients, as in our model files; `expand` gives the matrices.
    """

    weight: nn.Parameter
    bias: nn.Parameter | None

    def __init__(
        self, rep_in: Rep, rep_out: Rep, kernel: int | None, bias: bool, initial: Initial, generator: torch.Generator | None
    ) -> None:
        super().__init__()
        for name, one in (("rep_in", rep_in), ("rep_out", rep_out)):
            if not isinstance(one, Rep):
                raise TypeError(f"`{name}` must be an equimarl.Rep, as equimarl.rep(group, text) gives, not {type(one).__name__}")
        space = _core.Space(rep_in, rep_out, kernel)
        ranks = space.ranks
        self.rep_in, self.rep_out = rep_in, rep_out
        self._shape = (rep_out.dim, rep_in.dim) if kernel is None else (rep_out.dim, rep_in.dim, kernel, kernel)
        self._deviation = space.deviation(initial == "relu") if isinstance(initial, str) else float(initial)
        self.weight = nn.Parameter(torch.empty(ranks[0]))
        self.register_parameter("bias", nn.Parameter(torch.empty(ranks[1])) if bias and ranks[1] > 0 else None)
        for part, terms, entries in (
            ("weight", space.weight(), int(np.prod(self._shape))),
            ("bias", space.bias(), rep_out.dim),
        ):
            index, factor = _table(terms, entries)
            self.register_buffer(f"_{part}_index", index, persistent=False)
            self.register_buffer(f"_{part}_factor", factor, persistent=False)
        self.reset_parameters(generator)

    def reset_parameters(self, generator: torch.Generator | None = None) -> None:
        """Fresh coefficients: normal ones for the weight, such that squares keep their mean, and zeros for the bias."""
        with torch.no_grad():
            self.weight.normal_(0.0, self._deviation, generator=generator)
            if self.bias is not None:
                self.bias.zero_()

    def expand(self) -> tuple[Tensor, Tensor]:
        """The weight [out, in] (of filters [out, in, k, k]) and the bias [out]."""
        weight = _gathered(self.weight, self.get_buffer("_weight_index"), self.get_buffer("_weight_factor"))
        if self.bias is None:
            bias = self.weight.new_zeros(self.rep_out.dim)
        else:
            bias = _gathered(self.bias, self.get_buffer("_bias_index"), self.get_buffer("_bias_factor"))
        return weight.view(self._shape), bias

    def extra_repr(self) -> str:
        """What it maps to what."""
        return f"{rep_text(self.rep_in)} -> {rep_text(self.rep_out)}, {self.rep_in.group.name}"


class EquivariantLinear(_Gathered):
    """y = W x + b with W rho_in(g) = rho_out(g) W and rho_out(g) b = b, so that y turns when x turns.

    `initial` says what comes after it: ``"relu"``, ``"linear"``, or a standard deviation of weights (our policies start with
    0.01, so that all actions are about as likely).

    >>> import torch
    >>> from equimarl import rep
    >>> from equimarl.torch import EquivariantLinear
    >>> layer = EquivariantLinear(rep("C4", "16*regular"), rep("C4", "perm[0 4 1 2 3]"), initial=0.01)
    >>> layer(torch.randn(10, 64)).shape
    torch.Size([10, 5])
    >>> [tuple(part.shape) for part in layer.expand()]
    [(5, 64), (5,)]
    """

    def __init__(
        self,
        rep_in: Rep,
        rep_out: Rep,
        *,
        bias: bool = True,
        initial: Initial = "relu",
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__(rep_in, rep_out, None, bias, initial, generator)

    def forward(self, x: Tensor) -> Tensor:
        """Rows [..., in] to rows [..., out]."""
        return F.linear(x, *self.expand())


class EquivariantConv2d(_Gathered):
    """A convolution whose output turns when the image turns: its filters turn along with the group. No padding.

    >>> import torch
    >>> from equimarl import rep
    >>> from equimarl.torch import EquivariantConv2d
    >>> layer = EquivariantConv2d(rep("C4", "3*trivial"), rep("C4", "8*regular"), kernel_size=7, stride=2)
    >>> layer(torch.randn(2, 3, 21, 21)).shape
    torch.Size([2, 32, 8, 8])
    >>> layer(torch.randn(2, 3, 20, 20))
    Traceback (most recent call last):
    ValueError: filters of 7 x 7 with stride 2 leave a row of pixels over in images of 20 x 20, and a turned image would be ...
    """

    def __init__(
        self,
        rep_in: Rep,
        rep_out: Rep,
        kernel_size: int,
        *,
        stride: int = 1,
        bias: bool = True,
        initial: Initial = "relu",
        generator: torch.Generator | None = None,
    ) -> None:
        if kernel_size < 1 or stride < 1:
            raise ValueError(f"`kernel_size` and `stride` must be at least 1, not {kernel_size} and {stride}")
        super().__init__(rep_in, rep_out, kernel_size, bias, initial, generator)
        self.kernel_size, self.stride = kernel_size, stride

    def forward(self, x: Tensor) -> Tensor:
        """Images [batch, in, height, width] to images [batch, out, ...]."""
        k, sides = self.kernel_size, x.shape[-2:]
        if self.rep_in.group.order > 1 and any((side - k) % self.stride for side in sides):
            raise ValueError(
                f"filters of {k} x {k} with stride {self.stride} leave a row of pixels over in images of {sides[0]} x "
                f"{sides[1]}, and a turned image would be cut elsewhere; use a side of {k} plus a multiple of {self.stride}"
            )
        weight, bias = self.expand()
        return F.conv2d(x, weight, bias, self.stride)


class MessageRound(_Gathered):
    """One round of messages: f_i' = relu(W [f_i, sum_j a e_ij, sum_j a f_j] + b) over the neighbours j of i, with
    a = 1 / (1 + neighbours of i).

    >>> import torch
    >>> from equimarl import rep
    >>> from equimarl.torch import MessageRound
    >>> layer = MessageRound(rep("C4", "8*regular"), rep("C4", "rotation"), rep("C4", "8*regular"))
    >>> features, edges = torch.randn(3, 32), torch.randn(2, 2)
    >>> receivers, senders = torch.tensor([0, 0]), torch.tensor([1, 2])  # agent 0 hears the two others
    >>> layer(features, receivers, senders, edges).shape
    torch.Size([3, 32])
    """

    def __init__(
        self, features: Rep, edge: Rep, output: Rep, *, initial: Initial = "relu", generator: torch.Generator | None = None
    ) -> None:
        check_relu(output)
        super().__init__(_plus(features, edge, features), output, None, True, initial, generator)
        self.edge_dim = edge.dim

    def forward(self, features: Tensor, receivers: Tensor, senders: Tensor, edges: Tensor) -> Tensor:
        """Features [agents, f] of all agents to new ones; edge number k goes from senders[k] to receivers[k]."""
        count = features.new_zeros(len(features)).index_add(0, receivers, features.new_ones(len(receivers)))
        sent = torch.cat([edges, features[senders]], 1)
        heard = features.new_zeros(len(features), sent.shape[1]).index_add(0, receivers, sent)
        return F.relu(F.linear(torch.cat([features, heard / (1 + count)[:, None]], 1), *self.expand()))


class EdgeRound(nn.Module):
    """A round of our networks for feature vectors: m_ij = relu(W_k [f_i, e_ij, f_j] + b_k) per edge and kind of sender, their
    mean per kind (zero without any), and f_i' = relu(U [f_i, mean of each kind] + c). `senders` are the kinds besides the
    agents: their features after encoding, or None if they have none.

    >>> import torch
    >>> from equimarl import rep
    >>> from equimarl.torch import EdgeRound
    >>> f = rep("D4", "8*regular")
    >>> layer = EdgeRound(f, rep("D4", "rotation"), f, senders={"pier": None})
    >>> nobody = (torch.zeros(0, dtype=torch.long), torch.zeros(0, 2), torch.zeros(0, 64))
    >>> one_pier = (torch.tensor([1]), torch.randn(1, 2), torch.zeros(1, 0))
    >>> layer(torch.randn(3, 64), [nobody, one_pier]).shape
    torch.Size([3, 64])
    """

    def __init__(
        self,
        features: Rep,
        edge: Rep,
        output: Rep,
        *,
        senders: Mapping[str, Rep | None] | None = None,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        check_relu(output)
        kinds = dict(senders or {})
        self.message = EquivariantLinear(_plus(features, edge, features), output, generator=generator)
        self._kinds = list(kinds)
        for name, sent in kinds.items():
            kind = nn.Module()
            heard = _plus(features, edge) if sent is None else _plus(features, edge, sent)
            kind.add_module("message", EquivariantLinear(heard, output, generator=generator))
            self.add_module(name, kind)
        self.update = EquivariantLinear(_plus(features, *[output] * (1 + len(kinds))), output, generator=generator)

    def forward(self, features: Tensor, heard: list[tuple[Tensor, Tensor, Tensor]]) -> Tensor:
        """Features [agents, f] to new ones; per kind, agents first: receivers, edge vectors and the senders' features."""
        layers = [self.message, *(self.get_submodule(f"{kind}.message") for kind in self._kinds)]
        if len(heard) != len(layers):
            raise ValueError(f"{len(heard)} kinds of senders were given, and there are {len(layers)}, agents among them")
        parts = [features]
        for layer, (receivers, edges, sent) in zip(layers, heard, strict=True):
            messages = F.relu(layer(torch.cat([features[receivers], edges, sent], 1)))
            count = features.new_zeros(len(features)).index_add(0, receivers, features.new_ones(len(receivers)))
            total = features.new_zeros(len(features), messages.shape[1]).index_add(0, receivers, messages)
            parts.append(total / count.clamp(min=1)[:, None])
        return F.relu(self.update(torch.cat(parts, 1)))


def check_relu(rep: Rep) -> None:
    """A pointwise function commutes with permutations of coordinates only."""
    if not rep.is_permutation:
        raise ValueError(
            f"a ReLU on `{rep_text(rep)}` of {rep.group.name} breaks equivariance, because its elements do not permute "
            "coordinates; put it on regular, quotient or trivial representations"
        )


def _plus(*reps: Rep) -> Rep:
    return Rep(reps[0].group, " + ".join(rep_text(one) for one in reps))


def _table(terms: tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float32]], entries: int) -> tuple[Tensor, Tensor]:
    """Coefficients and factors of every entry: one each if the group permutes, else as many as the entry with most."""
    at, coefficient, factor = terms
    counts = np.bincount(at, minlength=entries)
    width = max(1, int(counts.max(initial=0)))
    place = np.arange(len(at)) - np.repeat(np.cumsum(counts) - counts, counts)
    index, factors = np.zeros((entries, width), np.int64), np.zeros((entries, width), np.float32)
    index[at, place], factors[at, place] = coefficient, factor
    shape = (entries,) if width == 1 else (entries, width)
    return torch.from_numpy(index.reshape(shape)), torch.from_numpy(factors.reshape(shape))


def _gathered(coefficients: Tensor, index: Tensor, factor: Tensor) -> Tensor:
    terms = coefficients[index] * factor
    return terms if terms.dim() == 1 else terms.sum(1)
