"""Layers and networks in PyTorch against ours. Skipped where PyTorch is not installed; EQUIMARL_NEED_TORCH=1 makes that an
error."""

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equimarl
from equimarl import _core, basis, rep

if os.environ.get("EQUIMARL_NEED_TORCH") != "1":
    pytest.importorskip(
        "torch", reason="PyTorch is not installed: the torch comparison did not run", exc_type=ImportError
    )
import torch  # noqa: E402

from equimarl.torch import EdgeRound, EquivariantConv2d, EquivariantLinear, MessageRound, Network  # noqa: E402

FIXTURES = Path(__file__).resolve().parents[2] / "tests" / "fixtures" / "first-house"
DRONES = FIXTURES / "runs" / "finished"
MODELS = [*sorted(FIXTURES.glob("models/*.safetensors")), DRONES / "model.safetensors"] if DRONES.exists() else []
TOLERANCE = 1e-5


def tensor(array: Any) -> torch.Tensor:
    return torch.tensor(np.asarray(array), dtype=torch.float32)


def normals(*shape: int, seed: int = 0) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


# Layers.


@pytest.mark.parametrize(
    ("group", "input", "output"),
    [("C4", "2*regular + rotation", "3*regular"), ("D4", "rotation + trivial", "8*regular"), ("S3", "natural", "regular"),
     ("C3", "rotation", "regular + trivial"), ("D4", "regular", "rotation + sign"), ("C1", "3*trivial", "2*trivial")],
)
def test_linear_layers(group: str, input: str, output: str) -> None:
    rep_in, rep_out = rep(group, input), rep(group, output)
    layer = EquivariantLinear(rep_in, rep_out, generator=torch.Generator().manual_seed(1))
    if layer.bias is not None:
        torch.nn.init.normal_(layer.bias, generator=torch.Generator().manual_seed(2))
    # As many free numbers as there are equivariant maps, and what they make is one.
    maps = basis(rep_in, rep_out)
    assert layer.weight.numel() == len(maps)
    weight, bias = (part.detach().numpy().astype(float) for part in layer.expand())
    flat = maps.reshape(len(maps), -1)
    assert np.abs(flat.T @ (flat @ weight.ravel()) - weight.ravel()).max() < 1e-6
    for g in rep_in.group.elements:
        assert np.abs(rep_out.matrices(g) @ bias - bias).max() < 1e-6
        x = normals(5, rep_in.dim)
        turned = layer(x @ tensor(rep_in.matrices(g)).T)
        assert torch.allclose(turned, layer(x) @ tensor(rep_out.matrices(g)).T, atol=TOLERANCE)
    # Every coefficient has a gradient.
    layer(normals(5, rep_in.dim)).pow(2).sum().backward()
    assert layer.weight.grad is not None and (layer.weight.grad != 0).all()


@pytest.mark.parametrize("group", ["C2", "C4", "D4"])
def test_convolutions_turn_with_images(group: str) -> None:
    rep_in, rep_out, n = rep(group, "2*trivial"), rep(group, "3*regular"), 9
    layer = EquivariantConv2d(rep_in, rep_out, 3, stride=2)
    images, between = rep(group, f"2*pixels({n})"), rep(group, "pixels(4)")
    x = normals(2, 2, n, n)
    plain = layer(x)
    for g in rep_in.group.elements:
        turned = layer((x.flatten(1) @ tensor(images.matrices(g)).T).view_as(x))
        # The channels turn, and the pixels of each.
        wanted = torch.einsum("oi,bip,qp->boq", tensor(rep_out.matrices(g)), plain.flatten(2), tensor(between.matrices(g)))
        assert torch.allclose(turned.flatten(2), wanted, atol=TOLERANCE)
    with pytest.raises(ValueError, match="leave a row of pixels over"):
        layer(normals(1, 2, 8, 8))


def test_rounds_turn() -> None:
    features, edge, output = rep("D4", "2*regular"), rep("D4", "rotation"), rep("D4", "3*regular")
    receivers, senders = torch.tensor([0, 0, 1]), torch.tensor([1, 2, 2])
    x, e = normals(3, 16), normals(3, 2, seed=1)
    paper, own = MessageRound(features, edge, output), EdgeRound(features, edge, output, senders={"pier": rep("D4", "regular")})
    piers = normals(2, 8, seed=2)

    def run(g: int) -> tuple[torch.Tensor, torch.Tensor]:
        def turn(one: torch.Tensor, by: equimarl.Rep) -> torch.Tensor:
            return one @ tensor(by.matrices(g)).T

        y, f = turn(x, features), turn(e, edge)
        pier = (torch.tensor([0, 2]), turn(e[:2], edge), turn(piers, rep("D4", "regular")))
        return paper(y, receivers, senders, f), own(y, [(receivers, f, y[senders]), pier])

    for g in range(8):
        for plain, turned in zip(run(0), run(g), strict=True):
            assert torch.allclose(turned, plain @ tensor(output.matrices(g)).T, atol=TOLERANCE)
    # The equation, written out for an agent that hears two and for one that hears nobody.
    weight, bias = paper.expand()
    heard = torch.cat([(e[0] + e[1]) / 3, (x[1] + x[2]) / 3])
    found = paper(x, receivers, senders, e)
    assert torch.allclose(found[0], torch.relu(weight @ torch.cat([x[0], heard]) + bias), atol=TOLERANCE)
    assert torch.allclose(found[2], torch.relu(weight[:, :16] @ x[2] + bias), atol=TOLERANCE)


def test_initial_weights_have_our_law() -> None:
    """Squares keep their mean, as docs say; the deviation is what the Rust library draws with."""
    rep_in, rep_out = rep("D4", "16*regular"), rep("D4", "16*regular")
    layer = EquivariantLinear(rep_in, rep_out, generator=torch.Generator().manual_seed(3))
    wanted = _core.Space(rep_in, rep_out).deviation(True)
    assert wanted == pytest.approx(np.sqrt(2 / rep_in.dim))
    assert float(layer.weight.detach().std()) == pytest.approx(wanted, rel=0.05)
    assert layer.bias is not None and float(layer.bias.detach().abs().max()) == 0
    linear = EquivariantLinear(rep_in, rep_out, initial="linear")
    assert float(linear.weight.detach().std()) == pytest.approx(wanted / np.sqrt(2), rel=0.05)
    assert float(EquivariantLinear(rep_in, rep_out, initial=0.01).weight.detach().std()) == pytest.approx(0.01, rel=0.05)
    x = normals(4000, rep_in.dim)
    layer.requires_grad_(False)
    assert float(torch.relu(layer(x)).pow(2).mean() / x.pow(2).mean()) == pytest.approx(1, rel=0.15)


def test_layers_that_cannot_be() -> None:
    plane, regular = rep("C4", "rotation"), rep("C4", "regular")
    with pytest.raises(ValueError, match="a ReLU on `rotation` of C4 breaks equivariance"):
        MessageRound(regular, plane, plane)
    with pytest.raises(ValueError, match="a ReLU on"):
        EdgeRound(regular, plane, plane)
    with pytest.raises(ValueError):
        EquivariantLinear(regular, rep("C2", "regular"))
    with pytest.raises(TypeError, match="must be an equimarl.Rep"):
        EquivariantLinear("regular", regular)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="must be at least 1"):
        EquivariantConv2d(rep("C4", "trivial"), regular, 0)
    nobody = (torch.zeros(0, dtype=torch.long), torch.zeros(0, 2), torch.zeros(0, 4))
    with pytest.raises(ValueError, match="2 kinds of senders were given, and there are 1"):
        EdgeRound(regular, plane, regular)(normals(3, 4), [nobody, nobody])


# Networks: those that were trained by us.


def state(network: dict[str, Any], seed: int) -> tuple[Any, ...]:
    """A random state: observations, receivers, senders, edges, others."""
    rng = np.random.default_rng(seed)
    interface, central = network["interface"], network["kind"].startswith("central")
    agents = 1 if central else 4
    if interface.get("features"):
        seen = rng.normal(size=(agents, rep(network["group"], interface["features"]).dim))
    else:
        seen = rng.random((agents, *interface["team_image" if central else "image"]))
    pairs = [] if central else [(0, 1), (0, 2), (1, 0), (3, 1)]
    edges = rng.normal(size=(len(pairs), 2))
    others = []
    for kind in interface.get("senders", []):
        dim = rep(network["group"], kind["features"]).dim if kind.get("features") else 0
        others.append((np.array([0, 0, 2]), rng.normal(size=(3, 2)).astype(np.float32), rng.normal(size=(3, dim)).astype(np.float32)))
    receivers, senders = (np.array([pair[k] for pair in pairs], np.int64) for k in range(2))
    return seen.astype(np.float32), receivers, senders, edges.astype(np.float32), others


def compare(model: Any, network: Network, seed: int) -> float:
    """The largest difference of logits and value between our code and PyTorch."""
    seen, receivers, senders, edges, others = state(network.network, seed)
    logits, value = model.forward(seen.reshape(len(seen), -1), receivers, senders, edges, others)
    with torch.no_grad():
        given = [tuple(torch.from_numpy(part) for part in kind) for kind in others]
        found, values = network(*(torch.from_numpy(part) for part in (seen, receivers, senders, edges)), given)
    found = found[0] if found.dim() == 3 else found
    assert logits.shape == tuple(found.shape)
    return max(float(np.abs(logits - found.numpy()).max()), abs(float(value) - float(values.mean())))


@pytest.mark.skipif(not MODELS, reason="this is no clone: the trained models are not here")
@pytest.mark.parametrize("file", MODELS, ids=lambda file: file.parent.name + "-" + file.stem)
def test_trained_models_load(file: Path, tmp_path: Path) -> None:
    ours, network = _core.Model.load(file), Network.load(file)
    assert sorted(network.state_dict()) == sorted(ours.parameters())
    assert max(compare(ours, network, seed) for seed in range(5)) < TOLERANCE
    # Back: what was changed in PyTorch is played by our code.
    with torch.no_grad():
        for k, parameter in enumerate(network.parameters()):
            parameter.add_(0.05 * normals(*parameter.shape, seed=k))
    network.save(tmp_path / "model.safetensors", {"trained": "in PyTorch"})
    again = _core.Model.load(tmp_path / "model.safetensors")
    assert json.loads(again.metadata())["extra"] == {"trained": "in PyTorch"}
    assert max(compare(again, network, seed) for seed in range(5)) < TOLERANCE
    assert compare(ours, network, 0) > 1e-3
    assert compare(again, Network.load(tmp_path), 0) < TOLERANCE


FEATURES = {
    "interface": {
        "world": "landmarks", "agents": 3, "image": [0, 0, 0], "actions": "perm[0 4 1 2 3]", "team_image": [0, 0, 0],
        "team_heads": [], "features": "rotation + trivial",
        "senders": [{"name": "landmark", "features": "3*trivial"}, {"name": "stone-pier"}],
    },
    "kind": "equivariant", "group": "C4", "widths": {"convolutions": [0, 0], "rounds": [16, 12], "hidden": [8, 16]},
}


@pytest.mark.parametrize(("kind", "group"), [("equivariant", "C4"), ("equivariant", "C1"), ("plain", "C1")])
def test_networks_for_feature_vectors(kind: str, group: str, tmp_path: Path) -> None:
    text = json.dumps(FEATURES).replace('"C4"', f'"{group}"').replace('"equivariant"', f'"{kind}"')
    if group == "C1":
        text = text.replace("perm[0 4 1 2 3]", "5*trivial").replace("rotation + trivial", "3*trivial")
    network = Network(json.loads(text), {"name": "landmarks"}, generator=torch.Generator().manual_seed(4))
    with torch.no_grad():
        for k, parameter in enumerate(network.parameters()):
            parameter.add_(0.1 * normals(*parameter.shape, seed=k))
    network.save(tmp_path / "own.safetensors")
    ours = _core.Model.load(tmp_path / "own.safetensors")
    assert max(compare(ours, network, seed) for seed in range(5)) < TOLERANCE


def test_a_model_plays_in_its_world_from_both_sides() -> None:
    """Greedy actions of both in whole episodes of the world that it was trained in."""
    if not DRONES.exists():
        pytest.skip("this is no clone: the trained models are not here")
    ours, network = _core.Model.load(DRONES / "model.safetensors"), Network.load(DRONES)
    batch = equimarl.Batch("wildlife", drones=network.network["interface"]["agents"], seed=7)
    seen, checked = batch.reset(), 0
    for _ in range(60):
        edges = _core.neighbours(batch._envs, 0)
        logits, _ = ours.forward(seen[0].reshape(len(seen[0]), -1), *edges, [])
        with torch.no_grad():
            found, _ = network(torch.from_numpy(seen[0].copy()), *(torch.from_numpy(part) for part in edges))
        assert np.abs(logits - found.numpy()).max() < TOLERANCE
        clear = np.diff(np.sort(logits, 1)[:, -2:], axis=1)[:, 0] > 1e-4
        assert (logits.argmax(1) == found.numpy().argmax(1))[clear].all()
        checked += int(clear.sum())
        seen, *_ = batch.step(logits.argmax(1)[None].astype(np.int32))
    assert checked > 100


def test_files_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="nothing.safetensors"):
        Network.load(tmp_path / "nothing.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"\x10\0\0\0\0\0\0\0{}")
    with pytest.raises(ValueError, match="bad.safetensors"):
        Network.load(tmp_path / "bad.safetensors")
    with pytest.raises(ValueError, match="does not fit"):
        Network({"kind": "equivariant"})
    network = Network(FEATURES)
    with pytest.raises(ValueError, match="`others` has 0 kinds of senders, and there are 2"):
        network(normals(3, 3))
    with torch.no_grad():
        next(network.parameters())[0] = float("nan")
    with pytest.raises(ValueError, match="not finite"):
        network.save(tmp_path / "nan.safetensors")
    assert not (tmp_path / "nan.safetensors").exists()


def test_what_our_model_refuses() -> None:
    model = _core.Model(json.dumps(FEATURES), "null")
    none, edges = np.zeros(0, np.int64), np.zeros((0, 2), np.float32)
    seen = np.zeros((3, 3), np.float32)
    nobody = (none, edges, np.zeros((0, 3), np.float32))
    no_pier = (none, edges, np.zeros((0, 0), np.float32))
    model.forward(seen, none, none, edges, [nobody, no_pier])
    for given, part in [
        ((seen, none, none, edges, []), "`others` has 0 kinds"),
        ((seen[:, :2].copy(), none, none, edges, [nobody, no_pier]), "2"),
        ((seen, np.array([5]), np.array([0]), np.zeros((1, 2), np.float32), [nobody, no_pier]), "receiver 5"),
        ((seen, np.array([0]), np.array([-1]), np.zeros((1, 2), np.float32), [nobody, no_pier]), "sender -1"),
        ((seen, np.array([0]), none, edges, [nobody, no_pier]), "one entry per edge"),
        ((seen, none, none, edges, [(np.array([0]), edges, nobody[2]), no_pier]), "one edge and one row"),
    ]:
        with pytest.raises(ValueError, match=part):
            model.forward(*given)
    with pytest.raises(ValueError, match="no parameter `other`"):
        model.set_parameters({"other": np.zeros(1, np.float32)})
    with pytest.raises(ValueError, match="is missing"):
        model.set_parameters({})
