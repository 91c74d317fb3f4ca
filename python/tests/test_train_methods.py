"""Methods and actions beyond those of the paper, from Python: imperfect symmetry, and agents that act by vectors."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from ducks import SPEC, Pond
from test_train import SHORT

import equimarl


@pytest.mark.parametrize(
    ("method", "kind"), [("relaxed", "relaxed"), ("subgroup", "equivariant"), ("cause", "equivariant"), ("plain", "plain")]
)
def test_a_windy_world(tmp_path: Path, method: str, kind: str) -> None:
    options: dict[str, Any] = {"drones": 2, "grid": 5, "wind": 0.3}
    run = equimarl.train("wildlife", method, out=tmp_path / "a", **options, **SHORT)
    team, batch = run.team(), equimarl.Batch("wildlife", num_envs=4, **options)
    assert run.finished and team.kind == kind
    assert team.act(batch.reset(), batch).shape == (4, 2)
    with pytest.raises(TypeError, match="agents of wildlife talk: give the environment as well"):
        team.act(batch.observations)


def test_a_team_that_knows_the_wind_is_told_of_it(tmp_path: Path) -> None:
    options: dict[str, Any] = {"drones": 2, "grid": 5, "wind": 0.3}
    team = equimarl.train("wildlife", "cause", out=tmp_path / "a", **options, **{**SHORT, "steps": 4096}).team()
    chosen = []
    for wind in ("west", "north"):
        batch = equimarl.Batch("wildlife", num_envs=256, seed=1, wind_from=wind, **options)
        chosen.append(team.act(batch.reset(), batch))
    # The same places, another wind: were it not told, it would do the same.
    assert (chosen[0] != chosen[1]).any()
    # Where nothing blows it is told that.
    calm = equimarl.Batch("wildlife", num_envs=4, drones=2, grid=5)
    assert team.act(calm.reset(), calm).shape == (4, 2)
    # Nor does it harm a team that knows of no wind.
    still = equimarl.train("wildlife", out=tmp_path / "b", drones=2, grid=5, **SHORT).team()
    windy = equimarl.Batch("wildlife", num_envs=4, **options)
    assert still.act(windy.reset(), windy).shape == (4, 2)


def test_every_episode_has_tokens_of_its_own(tmp_path: Path) -> None:
    options: dict[str, Any] = {"agents": 2, "actions": "continuous"}
    settings = {**SHORT, "steps": 4096, "evaluate_episodes": 3}
    run = equimarl.train("spread", group="D4", tokens=True, out=tmp_path / "a", **options, **settings)
    team = run.team()
    batch = equimarl.Batch("spread", num_envs=8, seed=1, **options)
    batch.reset()

    def act(**told: Any) -> NDArray[Any]:
        found: NDArray[Any] = team.act(batch.observations, batch, **told)
        return found

    # Without a number, states are episodes 0, 1, ...; another number or another seed, other tokens.
    assert (act() == act(episode=range(8))).all()
    first = act(episode=5)
    assert (first == act(episode=[5] * 8)).all()
    for others in (act(episode=6), act(episode=5, episode_seed=1)):
        assert (first != others).any(axis=(1, 2)).all()
    # More agents than learned have tokens, too.
    many = equimarl.Batch("spread", num_envs=1, **{**options, "agents": 5})
    assert team.act(many.reset(), many, episode=2).shape == (1, 5, 2)
    with pytest.raises(ValueError, match="`episode` has 3 numbers, and `observations` are of 8 state"):
        act(episode=[1, 2, 3])
    with pytest.raises(ValueError, match="a whole number from 0"):
        act(episode=-1)


@pytest.mark.parametrize("group", ["SO2", "O2", "D4"])
def test_agents_that_act_by_vectors(tmp_path: Path, group: str) -> None:
    options: dict[str, Any] = {"actions": "continuous", "arena": "disc"}
    runs = [
        equimarl.train("spread", out=tmp_path / str(k), group=group, seed=1, **options, **SHORT) for k in range(2)
    ]
    assert (runs[0].path / "model.safetensors").read_bytes() == (runs[1].path / "model.safetensors").read_bytes()
    team, batch = runs[0].team(), equimarl.Batch("spread", num_envs=3, **options)
    batch.reset()
    for _ in range(3):
        actions = team.act(batch.observations, batch)
        assert actions.shape == (3, 3, 2) and actions.dtype == np.float32
        batch.step(actions)


def test_methods_that_a_stranger_s_world_does_not_have(tmp_path: Path) -> None:
    assert equimarl.train(Pond(), "relaxed", spec=SPEC, out=tmp_path / "a", **SHORT).finished
    for method, text in (("cause", "declares nothing that does"), ("subgroup", "give `group` instead")):
        with pytest.raises(ValueError, match=text):
            equimarl.train(Pond(), method, spec=SPEC, out=tmp_path / "b", **SHORT)
        assert not (tmp_path / "b").exists()
