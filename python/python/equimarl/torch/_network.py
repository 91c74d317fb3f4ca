"""Our networks as one module, from a model file and back."""

import json
from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .. import _core
from .._core import Group, Rep
from ._layers import EdgeRound, EquivariantConv2d, EquivariantLinear, Initial, MessageRound

_STRIDES = {"conv1": 2, "conv2": 1}
#: Our policies start with weights so small that all actions are about as likely.
_POLICY = 0.01


class Network(nn.Module):
    """A policy and value network of ours: of any kind, for images or feature vectors.

    `Network.load` takes a model file or a finished run; `save` writes a model file that our program plays, continues to
    check, and flies. Names and shapes of the parameters are those of the file.

    `network` is what a file says under ``network``, and `world` what it says under ``world``: with a description alone, the
    weights are fresh.
    """

    def __init__(
        self,
        network: Mapping[str, Any],
        world: Mapping[str, Any] | None = None,
        *,
        generator: torch.Generator | None = None,
    ) -> None:
        super().__init__()
        self._description, self._world = json.dumps(network), json.dumps(world)
        # All that is wrong with a description is found here.
        metadata = json.loads(_core.Model(self._description, self._world).metadata())
        #: What makes the network.
        self.network: dict[str, Any] = metadata["network"]
        self._rows = metadata["representations"]
        interface = self.network["interface"]
        self._central = self.network["kind"].startswith("central")
        self._kinds = {kind["name"]: kind.get("features", "") for kind in interface.get("senders", [])}
        self._sees_features = bool(interface.get("features"))
        if self.network["group"] in ("SO2", "O2"):
            raise ValueError(
                f"a network under {self.network['group']} has gates, which torch layers do not have yet; equimarl.load runs it"
            )
        group, edge = Group(self.network["group"]), None
        for row in self._rows:
            name, last = row["name"], row["name"].rsplit(".", 1)[-1]
            rep_in, rep_out = Rep(group, row["input"]), Rep(group, row["output"])
            initial: Initial = _POLICY if name.startswith("policy") else "linear" if name == "value" else "relu"
            if last in ("message", "update"):
                if last == "update":
                    # The messages before it follow from it.
                    self.add_module(name[: -len(".update")], self._edge_round(group, name, rep_out, generator))
            elif row["kernel"] is not None:
                stride = _STRIDES[name]
                self.add_module(name, EquivariantConv2d(rep_in, rep_out, row["kernel"], stride=stride, generator=generator))
            elif name.startswith("round"):
                edge = edge or self._edge(group)
                features = Rep(group, self._output_before(name))
                self.add_module(name, MessageRound(features, edge, rep_out, generator=generator))
            else:
                layer = EquivariantLinear(rep_in, rep_out, initial=initial, generator=generator)
                self._nested(name, layer)

    def _edge(self, group: Group) -> Rep:
        if text := self.network["interface"].get("edge"):
            return Rep(group, text)
        try:
            return Rep(group, "rotation")
        except ValueError:
            return Rep(group, "natural")

    def _output_before(self, name: str) -> str:
        at = next(k for k, row in enumerate(self._rows) if row["name"] == name)
        return str(self._rows[at - 1]["output"])

    def _edge_round(self, group: Group, update: str, output: Rep, generator: torch.Generator | None) -> EdgeRound:
        first = update.replace(".update", ".message")
        at = next(k for k, row in enumerate(self._rows) if row["name"] == first)
        # What the agents have before the first round comes out of their encoder.
        before = "features%d" % len(self.network["widths"]["hidden"]) if first.startswith("round1.") else None
        own = next(row for row in self._rows if row["name"] == before) if before else self._rows[at - 1]
        encoded = {row["name"]: row["output"] for row in self._rows}
        deepest = "features%d" % len(self.network["widths"]["hidden"])
        senders = {kind: Rep(group, encoded[f"{kind}.{deepest}"]) if has else None for kind, has in self._kinds.items()}
        return EdgeRound(Rep(group, own["output"]), self._edge(group), output, senders=senders, generator=generator)

    def _nested(self, name: str, layer: nn.Module) -> None:
        *path, last = name.split(".")
        holder: nn.Module = self
        for part in path:
            if part not in holder._modules:
                holder.add_module(part, nn.Module())
            holder = holder.get_submodule(part)
        holder.add_module(last, layer)

    @classmethod
    def load(cls, path: str | PathLike[str]) -> "Network":
        """The network of a model file, or of a finished run's folder."""
        file = Path(path)
        model = _core.Model.load(file / "model.safetensors" if file.is_dir() else file)
        metadata = json.loads(model.metadata())
        network = cls(metadata["network"], metadata.get("world"))
        network.load_state_dict({name: torch.from_numpy(values) for name, values in model.parameters().items()})
        return network

    def save(self, path: str | PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Writes a model file, whole or not at all. `extra` is whatever you want it to say about how it was made."""
        model = _core.Model(self._description, self._world)
        state = {name: one.detach().to("cpu", torch.float32).contiguous().numpy() for name, one in self.state_dict().items()}
        model.set_parameters(state)
        model.save(path, json.dumps(dict(extra or {})))

    def forward(
        self,
        observations: Tensor,
        receivers: Tensor | None = None,
        senders: Tensor | None = None,
        edges: Tensor | None = None,
        others: Sequence[tuple[Tensor, Tensor, Tensor]] = (),
    ) -> tuple[Tensor, Tensor]:
        """Logits [agents, actions] and values [agents]; a team's value is the mean over its agents.

        `observations` has one row per agent, of as many states as you like. Edge number k goes from agent ``senders[k]`` to
        agent ``receivers[k]`` with the vector ``edges[k]``; without them nobody hears anybody. `others` has, per kind of
        sender that does not act, receivers, edge vectors and features. A central network sees one image per state, and gives
        logits [states, agents, actions] and values [states].
        """
        if receivers is None or senders is None or edges is None:
            receivers = senders = observations.new_zeros(0, dtype=torch.long)
            edges = observations.new_zeros(0, self._edge(Group(self.network["group"])).dim)
        if self._sees_features:
            x = self._features(observations, receivers, senders, edges, others)
        else:
            for name in _STRIDES:
                observations = F.relu(self.get_submodule(name)(observations))
            x = observations.amax((-2, -1))
            for row in self._rows:
                name = row["name"]
                if name.startswith("round"):
                    x = self.get_submodule(name)(x, receivers, senders, edges)
                elif name.startswith("hidden"):
                    x = F.relu(self.get_submodule(name)(x))
        heads = [row["name"] for row in self._rows if row["name"].startswith("policy")]
        logits = torch.cat([self.get_submodule(name)(x) for name in heads], -1)
        values: Tensor = self.get_submodule("value")(x)[..., 0]
        if self._central:
            logits = logits.view(len(logits), self.network["interface"]["agents"], -1)
        return logits, values

    def _features(
        self, own: Tensor, receivers: Tensor, senders: Tensor, edges: Tensor, others: Sequence[tuple[Tensor, Tensor, Tensor]]
    ) -> Tensor:
        if len(others) != len(self._kinds):
            raise ValueError(f"`others` has {len(others)} kinds of senders, and there are {len(self._kinds)}: {list(self._kinds)}")
        x = self._encoded("", own)
        heard = []
        for (kind, has), (whom, vectors, features) in zip(self._kinds.items(), others, strict=True):
            heard.append((whom, vectors, self._encoded(f"{kind}.", features) if has else features[:, :0]))
        for k in range(len(self.network["widths"]["rounds"])):
            x = self.get_submodule(f"round{k + 1}")(x, [(receivers, edges, x[senders]), *heard])
        return x

    def _encoded(self, prefix: str, x: Tensor) -> Tensor:
        for k in range(len(self.network["widths"]["hidden"])):
            x = F.relu(self.get_submodule(f"{prefix}features{k + 1}")(x))
        return x
