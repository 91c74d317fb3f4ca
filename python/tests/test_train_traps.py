"""What training must not fall for, and what it says instead."""

import logging
import os
import signal
from functools import partial
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ducks import SPEC, TALKING, Pond
from test_train import SHORT, Broken, model, spec

import equimarl
from equimarl import Spec, Update


def test_a_run_goes_on_with_the_spec_it_was_made_with(tmp_path: Path) -> None:
    half = lambda update: update.steps < 512  # noqa: E731
    run = equimarl.train(Pond(), spec=spec(), out=tmp_path / "a", callback=half, **SHORT)
    for other, what in [
        (spec(actions="perm[0 2 3 4 1]"), "`actions` was"),
        (spec(group="C2", actions="perm[0 3 4 1 2]"), "`actions` was"),
        (spec(neighbours=TALKING.neighbours, edges="rotation"), "`edge` was|`home` was"),
        (spec(agents={"r": {"duck_0": "duck_1", "duck_1": "duck_0"}}), "`agent_moves` was"),
    ]:
        with pytest.raises(ValueError, match=f"not the Spec that .* was made with: ({what})"):
            equimarl.resume(run, Pond(), spec=other)
    assert equimarl.resume(run, Pond(), spec=spec(thresholds=[0.5])).finished


def test_a_run_that_never_began_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the pond is full"):
        equimarl.train(Broken(), spec=SPEC, out=tmp_path / "a", **SHORT)
    assert not (tmp_path / "a").exists()
    (tmp_path / "a").mkdir()
    (tmp_path / "a/mine.txt").write_text("stays")
    with pytest.raises(OSError, match="the pond is full"):
        equimarl.train(Broken(), spec=SPEC, out=tmp_path / "a", **SHORT)
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["mine.txt"]
    assert equimarl.train(Pond(), spec=SPEC, out=tmp_path / "a", **SHORT).finished
    for world, given in ((Pond(), SPEC), ("wildlife", None)):
        with pytest.raises(FileExistsError, match="holds a run already; go on with it by equimarl.resume"):
            equimarl.train(world, spec=given, out=tmp_path / "a", **SHORT)
    with pytest.raises(FileExistsError, match="choose"):
        equimarl.train("wildlife", out=tmp_path, **SHORT)


@pytest.mark.usefixtures("hears_control_c")
def test_control_c_before_the_first_update_says_so(tmp_path: Path) -> None:
    class Interrupted(Pond):
        def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
            os.kill(os.getpid(), signal.SIGINT)
            return super().step(actions)

    with pytest.raises(KeyboardInterrupt) as raised:
        equimarl.train(Interrupted, spec=SPEC, out=tmp_path / "a", **SHORT)
    checkpoints = list((tmp_path / "a").glob("checkpoint/*"))
    said = str(raised.value)
    # Whatever is said is so.
    assert ("resume" in said) == bool(checkpoints), (said, checkpoints)


def test_a_batch_is_no_world_and_a_subclass_is_another(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="give the name of its world"):
        equimarl.train(equimarl.Batch("wildlife"), out=tmp_path / "a", **SHORT)
    zoo = pytest.importorskip("equimarl.zoo")

    class Rewarded(zoo.World):  # type: ignore[misc, name-defined]
        pass

    with pytest.raises(TypeError, match="needs `spec="):
        equimarl.train(Rewarded("wildlife"), out=tmp_path / "a", **SHORT)


def test_false_is_false_whoever_says_it(tmp_path: Path) -> None:
    def listen(update: Update) -> np.bool_:
        return np.float64(update.steps) < 256

    run = equimarl.train("wildlife", drones=2, grid=5, out=tmp_path / "a", callback=listen, **SHORT)
    assert not run.finished and equimarl.load(run).made["steps"] == 256
    whole = equimarl.train("wildlife", drones=2, grid=5, out=tmp_path / "b", callback=lambda update: 0, **SHORT)  # type: ignore[arg-type, return-value]
    assert whole.finished


def test_a_callback_that_is_none_is_refused_before_training(tmp_path: Path) -> None:
    wrong: Any = 3
    for begin in (partial(equimarl.train, "wildlife"), partial(equimarl.train, Pond(), spec=SPEC)):
        with pytest.raises(TypeError, match="`callback` is 3; it must be a function of an equimarl.Update"):
            begin(out=tmp_path / "a", callback=wrong, **SHORT)
    with pytest.raises(TypeError, match="`callback` is 3"):
        equimarl.resume(tmp_path / "a", callback=wrong)
    assert not (tmp_path / "a").exists()


def test_a_mistyped_option_is_known(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="there is no setting `drone`; did you mean `drones`, an option of wildlife?"):
        equimarl.train("wildlife", drone=2, out=tmp_path / "a", **SHORT)
    with pytest.raises(ValueError, match="there is no setting `colour`; .*; options of wildlife: drones, grid"):
        equimarl.train("wildlife", colour=2, out=tmp_path / "a", **SHORT)


def test_what_a_team_cannot_look_at(tmp_path: Path) -> None:
    run = equimarl.train(Pond(), spec=SPEC, out=tmp_path / "a", **SHORT)
    bad: list[tuple[Any, str]] = [
        ([[1.0, 2.0], [3.0]], "`observations` is no array"),
        ({"duck_0": [1.0, 2.0], "duck_1": [1.0]}, r"duck_0 sees an array of the shape \(2,\), and duck_1 one of \(1,\)"),
        (np.full((2, 2), 1e300), "agent 0 sees inf"),
    ]
    for seen, text in bad:
        with pytest.raises(ValueError, match=text):
            run.team().act(seen)
    with pytest.raises(TypeError, match="`spec` must be an equimarl.Spec, not dict"):
        equimarl.load(run, spec={})  # type: ignore[arg-type]


def test_options_are_what_the_spec_says(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="`size` is an option of the Spec"):
        equimarl.train(Pond(), spec=spec(options={"size": 3}), out=tmp_path / "a", size=7, **SHORT)
    for name in ("seed", "discount", "steps"):
        with pytest.raises(ValueError, match=f"option `{name}`|`{name}` is an option of the Spec"):
            equimarl.train(Pond(), spec=spec(options={name: 3}), out=tmp_path / "a", **SHORT)
    assert not (tmp_path / "a").exists()


def test_nobody_hears_anybody_after_the_end(tmp_path: Path) -> None:
    class Short(Pond):
        """Its episodes end for good, and then nobody is there."""

        def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
            seen, rewards, _, _, infos = super().step(actions)
            over = self.steps >= 3
            ended, late = dict.fromkeys(self.possible_agents, over), dict.fromkeys(self.possible_agents, False)
            self.agents = [] if over else list(self.possible_agents)
            return seen, rewards, ended, late, infos

        def seen(self) -> dict[str, Any]:
            return {agent: self.bread - duck for agent, duck in zip(self.possible_agents, self.ducks, strict=True)}

    def who(env: Pond, agent: str) -> Any:
        assert env.agents, "asked after the end"
        return TALKING.neighbours(env, agent)  # type: ignore[misc]

    talking = spec(neighbours=who, edges="rotation")
    assert equimarl.train(Short, spec=talking, out=tmp_path / "a", **SHORT).finished


def test_copies_that_ignore_their_seed_are_noticed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    class Deaf(Pond):
        def __init__(self) -> None:
            super().__init__()
            self.rng = np.random.default_rng(0)

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(int(self.rng.integers(1 << 30)), options)

    with caplog.at_level(logging.WARNING, "equimarl"):
        equimarl.train(Deaf(), spec=SPEC, out=tmp_path / "a", **SHORT)
        assert caplog.text.count("began alike") == 1
        caplog.clear()
        equimarl.train(Pond(), spec=SPEC, out=tmp_path / "b", **SHORT)
        assert caplog.text == ""


def test_images_of_bytes_are_scaled(tmp_path: Path) -> None:
    class Seen(Pond):
        high: int = 255
        dtype: Any = np.dtype(np.uint8)

        def observation_space(self, agent: str) -> Any:
            return SimpleNamespace(shape=(1, 15, 15), low=0, high=self.high, dtype=self.dtype)

        def seen(self) -> dict[str, Any]:
            images = {}
            for agent, duck in zip(self.agents, self.ducks, strict=True):
                image = np.zeros((1, 15, 15), self.dtype)
                row, column = self.bread - duck + 7
                image[0, row, column] = self.high
                images[agent] = image
            return images

    class Fractions(Seen):
        high = 1
        dtype = np.dtype(np.float32)

    pictures = spec(observations=(np.int64(1), 15, 15), name="seen")
    runs = [equimarl.train(kind, spec=pictures, out=tmp_path / kind.__name__, **SHORT) for kind in (Seen, Fractions)]
    assert model(runs[0].path)[1] == model(runs[1].path)[1]
    env = Seen()
    seen, _ = env.reset(seed=3)
    fractions = {agent: one / np.float32(255) for agent, one in seen.items()}
    assert equimarl.load(runs[0]).act(seen) == equimarl.load(runs[1]).act(fractions)


def test_so_much_is_a_mistake(tmp_path: Path) -> None:
    class Blind(Pond):
        observation_space = None  # type: ignore[assignment]

    for shape in ((1, 2**20, 2**20), (2**31, 2**31, 2**31)):
        with pytest.raises(ValueError, match="cannot see so much"):
            equimarl.train(Blind, spec=spec(observations=shape), out=tmp_path / "a", **SHORT)


def test_bits_are_no_choices(tmp_path: Path) -> None:
    class Bits(Pond):
        def action_space(self, agent: str) -> Any:
            return SimpleNamespace(n=5, shape=(5,))

    with pytest.raises(TypeError, match="a Discrete space"):
        equimarl.train(Bits(), spec=SPEC, out=tmp_path / "a", **SHORT)
    with pytest.raises(ValueError, match="a Spec has its shape"):
        Spec(group="C4", observations="image", actions="perm[0 4 1 2 3]")
    with pytest.raises(TypeError, match="aec_to_parallel"):
        equimarl.train(SimpleNamespace(agent_iter=0, step=0), spec=SPEC, out=tmp_path / "a", **SHORT)


def test_teams_act_by_name(tmp_path: Path) -> None:
    run = equimarl.train(lambda: Pond(3), "plain", spec=TALKING, out=tmp_path / "a", **SHORT)
    team, env = equimarl.load(run, spec=TALKING), Pond(3)
    seen, _ = env.reset(seed=1)
    backwards = dict(reversed(seen.items()))
    actions = team.act(backwards, env)
    assert list(actions) == list(backwards) and actions == team.act(seen, env)
    with pytest.raises(ValueError, match="one state at a time"):
        team.act(np.zeros((4, 3, 2)), env)
    zoo = pytest.importorskip("equimarl.zoo")
    own = equimarl.train("wildlife", drones=3, grid=5, out=tmp_path / "b", **SHORT)
    place = zoo.parallel_env("wildlife", drones=3, grid=5)
    for seed in range(5):
        seen, _ = place.reset(seed=seed)
        assert own.team().act(dict(reversed(seen.items())), place) == own.team().act(seen, place)


def test_all_are_closed_even_if_one_cannot(tmp_path: Path) -> None:
    closed: list[Any] = []

    class Stuck(Pond):
        def close(self) -> None:
            closed.append(self)
            if len(closed) == 1:
                raise OSError("stuck")

    with pytest.raises(OSError, match="stuck"):
        equimarl.train(Stuck, spec=SPEC, out=tmp_path / "a", **SHORT)
    assert len(closed) >= 4
    closed.clear()
    closed.append(None)
    with pytest.raises(ValueError, match="2 numbers|dimension|sees an array"):
        equimarl.train(Stuck, spec=spec(observations="2*rotation"), out=tmp_path / "b", **SHORT)
    assert len(closed) == 2
