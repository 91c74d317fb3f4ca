"""Training from Python: the program's trainer, on its worlds and on a world of forty lines that it does not know."""

import gc
import json
import logging
import multiprocessing
import os
import pickle
import resource
import shutil
import signal
import struct
import subprocess
import sys
import threading
import traceback
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ducks import MOVES, SPEC, TALKING, Pond

import equimarl
from equimarl import Spec, Update

#: Short runs: what is tested is not how well they learn.
SHORT: dict[str, Any] = {"steps": 1024, "environments": 4, "rollout": 16, "minibatches": 2, "evaluate_episodes": 4}


def program() -> str:
    """The command, where it has been built."""
    built = Path(__file__).parents[2] / "target/release/equimarl"
    found = os.environ.get("EQUIMARL") or (str(built) if built.exists() else shutil.which("equimarl"))
    if not found:
        pytest.skip("the program is not built; cargo build --release, or EQUIMARL=its path")
    return found


def command(*words: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run([program(), *map(str, words)], capture_output=True, text=True, timeout=300, check=False)


def model(run: Path) -> tuple[dict[str, Any], bytes]:
    """What a model file says of itself, without where it was made, and all its numbers."""
    data = (run / "model.safetensors").read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8 : 8 + length])
    notes = {key: json.loads(value) if value[:1] in "{[" else value for key, value in header["__metadata__"].items()}
    return without_origin(notes) | {"tensors": {k: v for k, v in header.items() if k != "__metadata__"}}, data[8 + length :]


def without_origin(notes: Any) -> Any:
    """Without what says where a file was made, and the checksum over all that it says."""
    origin = ("version", "commit", "cpu", "simd", "made_in")
    if isinstance(notes, dict):
        return {
            key: {k: v for k, v in value.items() if k not in origin} if key == "extra" else without_origin(value)
            for key, value in notes.items()
            if key != "checksum"
        }
    return notes


def test_the_same_seed_gives_the_same_run_here_and_there(tmp_path: Path) -> None:
    options = ["--drones", 2, "--grid", 5, "--steps", 4096, "--seed", 3, "--quiet", "--set", "evaluate_episodes=10"]
    done = command("train", "--world", "wildlife", "--out", tmp_path / "there", *options)
    assert done.returncode == 0, done.stderr
    run = equimarl.train(
        "wildlife", drones=2, grid=5, steps=4096, seed=3, out=tmp_path / "here", evaluate_episodes=10
    )
    for name in ("config.toml", "metrics.jsonl", "spec.json"):
        assert (tmp_path / "there" / name).read_bytes() == (run.path / name).read_bytes(), name
    assert model(tmp_path / "there") == model(run.path)
    there = json.loads((tmp_path / "there/summary.json").read_text())
    for key in ("return", "evaluation", "config_hash", "parameters"):
        assert run.summary[key] == there[key]


def test_a_foreign_team_learns_equivariant_and_plain_with_the_same_bits_for_the_same_seed(tmp_path: Path) -> None:
    best: dict[str, float] = {}
    once: dict[str, Any] = {"evaluate_every": 0, "evaluate_episodes": 40}
    for method in ("equivariant", "plain"):
        runs = [
            equimarl.train(Pond(), method, spec=SPEC, steps=16384, seed=1, out=tmp_path / f"{method}-{k}", **once)
            for k in range(2)
        ]
        assert model(runs[0].path) == model(runs[1].path)
        assert (runs[0].path / "model.safetensors").read_bytes() == (runs[1].path / "model.safetensors").read_bytes()
        assert (runs[0].path / "metrics.jsonl").read_bytes() == (runs[1].path / "metrics.jsonl").read_bytes()
        curve = runs[0].curve()["return"]
        curve = curve[np.isfinite(curve)]
        best[method] = runs[0].summary["evaluation"]["greedy"]["return"]["mean"]
        # Wherever two ducks begin, nobody does better than this on average; and random ducks are far from it.
        assert curve[0] < -1.0 < curve[-1], (method, curve)
        assert best[method] > -0.8, best
        other = equimarl.train(Pond(), method, spec=SPEC, seed=2, out=tmp_path / f"{method}-other", **SHORT)
        assert model(other.path)[1] != model(runs[0].path)[1]
    assert best["equivariant"] > best["plain"] - 0.3
    figure = equimarl.plot(tmp_path)
    assert "equivariant" in figure.svg and "pond-v0" in figure.svg


def turned(observations: dict[str, Any]) -> dict[str, Any]:
    return {agent: np.array([-y, x]) for agent, (x, y) in observations.items()}


def test_a_trained_team_plays_and_turns_with_what_it_sees(tmp_path: Path) -> None:
    run = equimarl.train(Pond(), spec=spec(), out=tmp_path / "a", **{**SHORT, "steps": 8192})
    team = run.team()
    assert (team.world, team.kind, team.group) == ("pond-v0", "equivariant", "C4")
    assert team.made["made_in"] == "Python" and team.made["steps"] == 8192
    env = Pond()
    after = [0, 2, 3, 4, 1]  # down becomes right, right becomes up
    totals = []
    for seed in range(50):
        observations, _ = env.reset(seed=seed)
        total = 0.0
        while env.agents:
            actions = team.act(observations)
            same = team.act(turned(observations))
            for agent, action in actions.items():
                # Nothing has a direction for a duck that is there: all moves are equally likely.
                if observations[agent].any():
                    assert same[agent] == after[action]
            observations, rewards, *_ = env.step(actions)
            total += rewards["duck_0"]
        totals.append(total)
    assert np.mean(totals) > -0.8
    seen = np.array([[3, 1], [-2, 0]])
    assert team.act(seen).shape == (2,)
    assert team.act(np.stack([seen, seen, seen])).shape == (3, 2)
    beginner = equimarl.train(Pond(), spec=spec(), out=tmp_path / "b", **{**SHORT, "steps": 64}).team()
    many = np.tile(seen, (64, 1, 1))
    drawn = [beginner.act(many, greedy=False, seed=7) for _ in range(2)]
    assert (drawn[0] == drawn[1]).all() and (drawn[0] != beginner.act(many, greedy=False)).any()
    assert len({tuple(state) for state in drawn[0].tolist()}) > 5
    assert team.act({}) == {}
    for bad, error in [
        (np.zeros((2, 3)), ValueError),
        (np.zeros(2), ValueError),
        (np.array([["a", "b"]]), TypeError),
        (np.full((2, 2), np.nan), ValueError),
    ]:
        with pytest.raises(error):
            team.act(bad)


def test_ducks_that_talk_hear_each_other(tmp_path: Path) -> None:
    run = equimarl.train(lambda: Pond(3), "plain", spec=TALKING, out=tmp_path / "a", **SHORT)
    env = Pond(3)
    observations, _ = env.reset(seed=1)
    with pytest.raises(TypeError, match="spec=spec"):
        equimarl.load(run).act(observations, env)
    team = equimarl.load(run.path, spec=TALKING)
    with pytest.raises(TypeError, match="give the environment as well"):
        team.act(observations)
    actions = team.act(observations, env)
    assert list(actions) == env.agents and all(0 <= a < 5 for a in actions.values())
    silent = equimarl.train(lambda: Pond(3), "plain", spec=SPEC, out=tmp_path / "b", **SHORT)
    assert model(silent.path)[1] != model(run.path)[1]


def test_own_teams_act_in_batches_and_in_pettingzoo(tmp_path: Path) -> None:
    run = equimarl.train("wildlife", drones=3, grid=5, out=tmp_path / "a", **SHORT)
    team = equimarl.load(run)
    batch = equimarl.Batch("wildlife", drones=3, grid=5, num_envs=8, seed=4)
    together = team.act(batch.reset(), batch)
    for e in range(8):
        assert together[e].shape == (3,)
    with pytest.raises(TypeError, match="give the environment"):
        team.act(batch.observations)
    other = equimarl.Batch("traffic", num_envs=1)
    with pytest.raises(ValueError, match="sees an array"):
        team.act(other.reset(), other)
    zoo = pytest.importorskip("equimarl.zoo")
    env = zoo.parallel_env("wildlife", drones=3, grid=5)
    observations, _ = env.reset(seed=4)
    assert list(team.act(observations, env).values()) == together[0].tolist()
    same = equimarl.train(env, out=tmp_path / "b", **SHORT)
    assert model(same.path) == model(run.path)
    with pytest.raises(ValueError, match="the world's own limit"):
        equimarl.train(zoo.parallel_env("wildlife", max_cycles=5), out=tmp_path / "c", **SHORT)


def test_a_callback_hears_and_stops(tmp_path: Path) -> None:
    heard: list[Update] = []

    def listen(update: Update) -> bool:
        heard.append(update)
        return update.steps < 640

    run = equimarl.train("wildlife", drones=2, grid=5, out=tmp_path / "a", callback=listen, **SHORT)
    assert not run.finished and run.summary == {} and heard[-1].steps == 640 and heard[0].total == 1024
    assert list((run.path / "checkpoint").iterdir()) == [run.path / "checkpoint/640.safetensors"]
    # A team so far can play, and goes on with the bits of one that never stopped.
    assert equimarl.load(run).made["steps"] == 640
    assert equimarl.resume(run).finished
    whole = equimarl.train("wildlife", drones=2, grid=5, out=tmp_path / "b", **SHORT)
    assert model(run.path) == model(whole.path)
    assert (run.path / "metrics.jsonl").read_bytes() == (whole.path / "metrics.jsonl").read_bytes()


def test_what_a_callback_raises_comes_through_after_a_checkpoint(tmp_path: Path) -> None:
    def listen(update: Update) -> None:
        if update.steps == 320:
            raise LookupError("enough")

    with pytest.raises(LookupError, match="enough"):
        equimarl.train("wildlife", drones=2, grid=5, out=tmp_path / "a", callback=listen, **SHORT)
    assert (tmp_path / "a/checkpoint/320.safetensors").exists()


@pytest.mark.usefixtures("hears_control_c")
@pytest.mark.parametrize("where", ["own", "foreign", "callback"])
def test_control_c_leaves_a_checkpoint(tmp_path: Path, where: str) -> None:
    class Interrupted(Pond):
        count = 0

        def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
            Interrupted.count += 1
            if Interrupted.count == 300:
                os.kill(os.getpid(), signal.SIGINT)
            return super().step(actions)

    def listen(update: Update) -> None:
        if update.steps == 256 and where != "foreign":
            os.kill(os.getpid(), signal.SIGINT)
        assert update.steps < 10_000, "nobody heard Ctrl-C"

    before = signal.getsignal(signal.SIGINT)
    settings: dict[str, Any] = {**SHORT, "steps": 10**6, "out": tmp_path / "a", "callback": listen}
    with pytest.raises(KeyboardInterrupt, match="resume"):
        if where == "own":
            equimarl.train("wildlife", drones=2, grid=5, **settings)
        else:
            equimarl.train(Interrupted if where == "foreign" else Pond, spec=SPEC, **settings)
    assert signal.getsignal(signal.SIGINT) is before
    assert len(list((tmp_path / "a/checkpoint").iterdir())) == 1
    assert equimarl.load(tmp_path / "a").made["steps"] >= 256


def test_a_foreign_run_goes_on_with_new_episodes(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    listen = lambda update: update.steps < 512  # noqa: E731
    run = equimarl.train(Pond(), spec=SPEC, out=tmp_path / "a", callback=listen, decay=False, **SHORT)
    with pytest.raises(ValueError, match="lives in Python.*Give the environment and its Spec"):
        equimarl.resume(run)
    with caplog.at_level(logging.WARNING, "equimarl"):
        assert equimarl.resume(run, Pond(), spec=SPEC).finished
    assert "goes on with new episodes" in caplog.text
    assert equimarl.resume(run, Pond(), spec=SPEC, steps=2048).summary["steps"] == 2048
    with pytest.raises(ValueError, match="not to fewer"):
        equimarl.resume(run, Pond(), spec=SPEC, steps=64)
    with pytest.raises(FileExistsError, match="resume"):
        equimarl.train(Pond(), spec=SPEC, out=run.path, **SHORT)
    with pytest.raises(FileNotFoundError, match="holds no run"):
        equimarl.resume(tmp_path / "nowhere")
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match="empty holds no run: it has no config.toml"):
        equimarl.resume(tmp_path / "empty", Pond(), spec=SPEC)
    with pytest.raises(TypeError, match=r"equimarl.resume\(run\) goes on"):
        equimarl.train("wildlife", out=tmp_path / "c", resume=tmp_path / "a")  # type: ignore[arg-type]
    with pytest.raises(FileNotFoundError, match="there is no"):
        equimarl.load(tmp_path / "nowhere")


class Broken(Pond):
    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        if self.steps == 3:
            self.sink()
        return super().step(actions)

    def sink(self) -> None:
        raise OSError(28, "the pond is full")


def test_what_an_environment_raises_comes_through_with_its_traceback(tmp_path: Path) -> None:
    with pytest.raises(OSError, match="the pond is full") as caught:
        equimarl.train(Broken(), spec=SPEC, out=tmp_path / "a", **SHORT)
    assert caught.type is OSError and caught.value.errno == 28
    names = [frame.name for frame in traceback.extract_tb(caught.tb)]
    assert names[-2:] == ["step", "sink"] and "train" in names
    with pytest.raises(ZeroDivisionError):
        equimarl.train(lambda: 1 // 0, spec=SPEC, out=tmp_path / "b", **SHORT)
    assert not (tmp_path / "b").exists()


def altered(**change: Any) -> type[Pond]:
    """A pond in which one part of what a step, or a reset, gives is something else."""

    class Altered(Pond):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            answer = super().reset(seed, options)
            return change["reset"](answer) if "reset" in change else answer

        def step(self, actions: dict[str, int]) -> Any:
            answer = list(super().step(actions))
            if "step" in change:
                return change["step"](answer)
            if self.steps >= 2:
                for k, name in enumerate(("seen", "rewards", "over", "late")):
                    if name in change:
                        answer[k] = {**answer[k], **change[name]}
                        answer[k] = {agent: value for agent, value in answer[k].items() if value is not None}
            return tuple(answer)

    return Altered


@pytest.mark.parametrize(
    ("change", "error", "text"),
    [
        ({"seen": {"duck_1": np.zeros(3)}}, ValueError, r"duck_1 sees an array of the shape \(3,\).*Spec says \(2,\)"),
        ({"seen": {"duck_1": np.array(["a", "b"])}}, TypeError, "duck_1 sees an array of <U1; numbers are needed"),
        ({"seen": {"duck_0": {"mask": 1}}}, TypeError, "duck_0 sees a dict with mask"),
        ({"seen": {"duck_0": np.array([0.0, np.nan])}}, ValueError, "number 1 of what duck_0 sees is NaN"),
        ({"seen": {"duck_1": [[1.0], [2.0, 3.0]]}}, ValueError, "what duck_1 sees is no array: its rows are not of one length"),
        ({"seen": {"duck_0": np.array([0.0, 1e300])}}, ValueError, "number 1 of what duck_0 sees is inf"),
        ({"seen": {"duck_1": None}}, ValueError, "duck_1 left after 2 steps.*black_death"),
        ({"seen": {"swan": np.zeros(2)}}, ValueError, "swan came into the episode"),
        ({"rewards": {"duck_0": float("inf")}}, ValueError, "the reward of duck_0 is inf after 2 steps"),
        ({"rewards": {"duck_0": "much"}}, TypeError, "'much', which is no number"),
        ({"rewards": {"duck_1": None}}, ValueError, "no reward for duck_1"),
        ({"over": {"duck_0": True}}, ValueError, "after 2 steps duck_0 had ended, and others had not: a team stays together"),
        ({"step": lambda answer: answer[:4]}, TypeError, "five dicts"),
        ({"reset": lambda answer: answer[0]}, TypeError, "two dicts"),
        ({"reset": lambda answer: ({"duck_0": np.zeros(2)}, {})}, ValueError, "began with the agents duck_0, and the team"),
    ],
)
def test_what_an_environment_does_wrong_is_said(tmp_path: Path, change: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        equimarl.train(altered(**change), spec=SPEC, out=tmp_path / "a", **SHORT)


class Uncopied(Pond):
    def __deepcopy__(self, memo: Any) -> Any:
        raise RuntimeError("no")


def named(agents: list[Any]) -> Pond:
    pond = Pond()
    pond.possible_agents = agents
    return pond


class Vector(Pond):
    def action_space(self, agent: str) -> Any:
        return SimpleNamespace(shape=(2,))


#: Three quarter turns would be none.
CIRCLE = {"duck_0": "duck_1", "duck_1": "duck_2", "duck_2": "duck_0"}


def spec(**change: Any) -> Spec:
    given: dict[str, Any] = {"group": "C4", "observations": "rotation", "actions": "perm[0 4 1 2 3]", **change}
    return Spec(**given)


@pytest.mark.parametrize(
    ("make", "error", "text"),
    [
        (lambda: (Pond(), spec(observations="2*rotation")), ValueError, r"duck_0 sees an array of the shape \(2,\)"),
        (lambda: (Pond(), spec(observations=(1, 5, 5))), ValueError, r"`observations` say \(1, 5, 5\)"),
        (lambda: (Pond(), spec(actions="regular")), ValueError, "has 5 actions, and the Spec's `actions`.*dimension 4"),
        (lambda: (Pond(), spec(actions="perm[1 2 0]")), ValueError, "`actions` is `perm.1 2 0.`: .*not a representation"),
        (lambda: (Pond(), spec(actions="5*rotation")), ValueError, "does not permute choices"),
        (lambda: (Pond(), spec(observations=(5, 5))), ValueError, "channels, height, width"),
        (lambda: (Pond(), spec(group="C0")), ValueError, "C0"),
        (lambda: (Pond(), spec(edges="rotation")), ValueError, "belong together"),
        (lambda: (Pond(), spec(agents={"r": {"duck_0": "duck_1"}})), ValueError, "does not send 2 agents"),
        (lambda: (Pond(3), spec(agents={"r": CIRCLE})), ValueError, "is no action of C4"),
        (lambda: (Pond(), spec(agents={"m": {}})), ValueError, "`agents` has 'm'; the generators of C4 are r"),
        (lambda: (Pond(), spec(agents={"r": {"swan": "duck_0"}})), ValueError, "names 'swan'"),
        (lambda: (Pond(), spec(name="wildlife")), ValueError, "one of this name already"),
        (lambda: (Pond(), spec(name="My Pond")), ValueError, "lower-case letters"),
        (lambda: (Pond(), spec(options={"size": [1]})), TypeError, "option `size` must be"),
        (lambda: (Pond(), spec(max_steps=0)), ValueError, "at least 1"),
        (lambda: (Pond(), spec(max_steps="x")), TypeError, "`max_steps` is 'x'; it must be a whole number"),
        (lambda: (Pond(), spec(max_steps=1.5)), TypeError, "`max_steps` is 1.5; it must be a whole number"),
        (lambda: (Pond(), spec(thresholds=3)), TypeError, "`thresholds` is 3; it must be a list of numbers"),
        (lambda: (Pond(), spec(thresholds=[float("nan")])), ValueError, "returns are finite"),
        (lambda: (Pond(), spec(options=[1])), TypeError, "`options` is .1.; it must be a dict"),
        (lambda: (Pond(), spec(agents={"r": 3})), TypeError, "`agents` has 3 for 'r'; it must be a dict"),
        (lambda: (Pond(), spec(name=3)), TypeError, "`name` is 3; it must be text"),
        (lambda: (Pond(), spec(group=4)), TypeError, "a group is named by text"),
        (lambda: (Pond(), spec(action_names="abcde")), TypeError, "a list of texts"),
        (lambda: (Pond(), {}), TypeError, "`spec` must be an equimarl.Spec, not dict"),
        (lambda: (named(["duck_0", "duck_0"]), spec()), ValueError, "has 'duck_0' more than once"),
        (lambda: (named([[], []]), spec()), TypeError, "must be names"),
        (lambda: (Pond(), spec(action_names=["a"])), ValueError, "1 `action_names` and 5 actions"),
        (lambda: (Pond(), None), TypeError, "needs `spec="),
        (lambda: (7, None), TypeError, "not int"),
        (lambda: (lambda: 7, spec()), TypeError, "int has no reset"),
        (lambda: (SimpleNamespace(step=len, reset=len), spec()), TypeError, "possible_agents"),
        (lambda: (Uncopied(), spec()), TypeError, r"Uncopied cannot be copied \(no\).*give a function"),
        (lambda: (Vector(), spec()), TypeError, "a Discrete space"),
        (lambda: ("wildlife", spec()), ValueError, "worlds by name have their own"),
        (lambda: ("pond", None), ValueError, "no world is called `pond`"),
    ],
)
def test_what_is_declared_wrong_is_said(tmp_path: Path, make: Any, error: Any, text: str) -> None:
    with pytest.raises(error, match=text):
        world, given = make()
        equimarl.train(world, spec=given, out=tmp_path / "a", **SHORT)


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({"method": "magic"}, "magic"),
        ({"preset": "best"}, "no preset is called `best`"),
        ({"group": "C2"}, "declares how C4 acts, not C2"),
        ({"method": "central-plain"}, "a picture of the whole state"),
        ({"discont": 0.9}, "did you mean `discount`"),
        ({"minibatches": 3}, "must divide"),
        ({"seed": -1}, "`seed` must be"),
        ({"steps": 0}, "`steps` must be at least 1"),
        ({"learning_rate": float("nan")}, "`learning_rate` must be above 0 and at most 1, not NaN"),
        ({"learning_rate": float("inf")}, "`learning_rate` must be above 0 and at most 1, not inf"),
        ({"seed": 2**70}, "seed"),
    ],
)
def test_settings_that_cannot_be_are_refused(tmp_path: Path, given: dict[str, Any], text: str) -> None:
    with pytest.raises(ValueError, match=text):
        equimarl.train(Pond(), spec=spec(), out=tmp_path / "a", **{**SHORT, **given})


def test_neighbours_that_are_none_are_refused(tmp_path: Path) -> None:
    for given, error, text in [
        ([("swan", [0, 1])], ValueError, "cannot hear 'swan'"),
        ([("duck_0", [0, 1]), ("duck_0", [0, 1])], ValueError, "hears somebody twice|cannot hear"),
        ([("duck_1", [0, 1, 2])], ValueError, "2 finite numbers|cannot hear"),
        (["x"], TypeError, "pairs"),
        (7, TypeError, "`neighbours` gave 7 for duck_0"),
        (None, TypeError, "`neighbours` gave None for duck_0; it gives a list of .* pairs, empty if nobody is heard"),
        ([("duck_1", [0, 1e300]), ("duck_0", [0, 1e300])], ValueError, "2 finite numbers of at most 3.4e.38|cannot hear"),
        ([([], [0, 1])], ValueError, r"cannot hear \[\]"),
        ([("duck_1", "north"), ("duck_0", "north")], ValueError, "2 finite numbers|cannot hear"),
    ]:
        wrong = spec(neighbours=lambda env, agent, given=given: given, edges="rotation")
        with pytest.raises(error, match=text):
            equimarl.train(Pond(), spec=wrong, out=tmp_path / "a", **SHORT)
        shutil.rmtree(tmp_path / "a", ignore_errors=True)


class Endless(Pond):
    def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
        answer = super().step(actions)
        self.agents = list(self.possible_agents)
        off = dict.fromkeys(self.agents, False)
        return answer[0], answer[1], off, off, answer[4]

    def seen(self) -> dict[str, Any]:
        return dict(zip(self.possible_agents, np.zeros((2, 2)), strict=True))


def test_an_environment_that_never_ends_is_cut_off(tmp_path: Path) -> None:
    short = spec(max_steps=50)
    run = equimarl.train(Endless(), spec=short, out=tmp_path / "a", **SHORT)
    assert run.summary["evaluation"]["greedy"]["length"]["mean"] == 50


def test_environments_are_closed_and_the_one_that_was_given_stays_as_it_is(tmp_path: Path) -> None:
    made: list["Closing"] = []

    class Closing(Pond):
        def __init__(self) -> None:
            super().__init__()
            self.closed = 0
            made.append(self)

        def close(self) -> None:
            self.closed += 1

    equimarl.train(Closing, spec=SPEC, out=tmp_path / "a", **SHORT)
    assert 4 <= len(made) <= 8 and all(env.closed == 1 for env in made)
    mine = Pond()
    mine.reset(seed=5)
    before = pickle.dumps(mine)
    equimarl.train(mine, spec=SPEC, out=tmp_path / "b", **SHORT)
    assert pickle.dumps(mine) == before


def test_an_image_world_and_actions_that_begin_elsewhere(tmp_path: Path) -> None:
    class Seen(Pond):
        def action_space(self, agent: str) -> Any:
            return SimpleNamespace(n=5, start=10)

        def observation_space(self, agent: str) -> Any:
            return SimpleNamespace(shape=(1, 15, 15))

        def seen(self) -> dict[str, Any]:
            images = {}
            for agent, duck in zip(self.agents, self.ducks, strict=True):
                image = np.zeros((1, 15, 15), np.uint8)
                row, column = self.bread - duck + 7
                image[0, row, column] = 1
                images[agent] = image
            return images

        def step(self, actions: dict[str, int]) -> tuple[dict[str, Any], ...]:
            assert all(10 <= a < 15 for a in actions.values())
            return super().step({agent: a - 10 for agent, a in actions.items()})

    env = Seen()
    run = equimarl.train(env, spec=spec(observations=(1, 15, 15)), out=tmp_path / "a", **SHORT)
    observations, _ = env.reset(seed=0)
    assert all(10 <= a < 15 for a in run.team().act(observations, env).values())


def child(folder: str, queue: Any) -> None:
    run = equimarl.train(Pond(), spec=SPEC, out=folder, **SHORT)
    queue.put(model(run.path)[1])


def test_a_fork_while_a_thread_trains(tmp_path: Path) -> None:
    going, stop = threading.Event(), threading.Event()

    def listen(_: Update) -> bool:
        going.set()
        return not stop.is_set()

    settings = {**SHORT, "steps": 10**8, "callback": listen}
    thread = threading.Thread(
        target=lambda: equimarl.train("wildlife", drones=2, grid=5, out=tmp_path / "thread", **settings)
    )
    thread.start()
    assert going.wait(60)
    fork = multiprocessing.get_context("fork")
    queue = fork.Queue()
    other = fork.Process(target=child, args=(str(tmp_path / "child"), queue))
    other.start()
    found = queue.get(timeout=120)
    other.join(60)
    stop.set()
    thread.join(60)
    assert other.exitcode == 0 and not thread.is_alive()
    assert found == model(equimarl.train(Pond(), spec=SPEC, out=tmp_path / "here", **SHORT).path)[1]


class Littering(Pond):
    """What it gives is gone as soon as nobody holds it, and the collector runs all the time."""

    def seen(self) -> dict[str, Any]:
        gc.collect(0)
        wide = np.full((2, 4), np.nan)
        wide[:, ::2] = [self.bread - duck for duck in self.ducks]
        return dict(zip(self.possible_agents, wide[:, ::2], strict=True))


def test_garbage_changes_nothing(tmp_path: Path) -> None:
    clean = equimarl.train(Pond(), spec=SPEC, out=tmp_path / "a", **SHORT)
    littered = equimarl.train(Littering(), spec=SPEC, out=tmp_path / "b", **SHORT)
    assert model(clean.path)[1] == model(littered.path)[1]


def test_memory_is_given_back(tmp_path: Path) -> None:
    def once(k: int) -> None:
        run = equimarl.train(Pond(), spec=SPEC, out=tmp_path / str(k), **{**SHORT, "steps": 256})
        run.team().act(np.zeros((2, 2)))

    for k in range(5):
        once(k)
    gc.collect()
    before, objects = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, len(gc.get_objects())
    for k in range(5, 25):
        once(k)
    gc.collect()
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    # A single leaked trainer has some megabytes; a leaked environment some objects.
    assert grown < 15, f"{grown:.1f} MB"
    assert len(gc.get_objects()) - objects < 100


def test_the_program_shows_a_run_of_a_world_that_it_does_not_have(tmp_path: Path) -> None:
    run = equimarl.train(Pond(), spec=spec(options={"size": 3}), out=tmp_path / "whole", **SHORT)
    part = equimarl.train(Pond(), spec=spec(), out=tmp_path / "part", callback=lambda u: u.steps < 512, **SHORT)
    report = command("report", run.path, "--json")
    assert report.returncode == 0, report.stderr
    assert "pond-v0, size 3" in report.stdout
    inspect = command("inspect", run.path)
    assert inspect.returncode == 0 and "pond-v0" in inspect.stdout, inspect.stderr
    for words in (
        ["play", "--model", run.path],
        ["play", "--model", part.path],
        ["inspect", part.path],
        ["train", "--resume", part.path],
        ["train", "--from", run.path, "--out", tmp_path / "c"],
        ["view", run.path / "model.safetensors", "--port", 0],
    ):
        refused = command(*words)
        assert refused.returncode == 2, words
        assert "the world `pond-v0`, which lives in Python" in refused.stderr, (words, refused.stderr)


def test_a_page_shows_it_too(tmp_path: Path) -> None:
    equimarl.train(Pond(), spec=SPEC, out=tmp_path / "a", **SHORT)
    from urllib.request import urlopen

    page = subprocess.Popen([program(), "view", str(tmp_path), "--port", "0"], stdout=subprocess.PIPE, text=True)
    try:
        assert page.stdout is not None
        url = page.stdout.readline().strip()
        # The page hears of its runs as events, and the first one is all of them.
        with urlopen(f"{url}api/events", timeout=20) as answer:
            rows = "".join(answer.readline().decode() for _ in range(2))
    finally:
        page.terminate()
        page.wait(20)
        assert page.stdout is not None
        page.stdout.close()
    assert "pond-v0" in rows and "finished" in rows


def test_figures_are_files(tmp_path: Path) -> None:
    run = equimarl.train("wildlife", drones=2, grid=5, out=tmp_path / "a", **{**SHORT, "steps": 4096})
    for ending, start in (("svg", b"<svg"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        run.plot(tmp_path / f"f.{ending}")
        assert (tmp_path / f"f.{ending}").read_bytes().startswith(start)
    assert run.plot()._repr_svg_().startswith("<svg")
    with pytest.raises(ValueError, match="neither"):
        run.plot(tmp_path / "f.gif")
    with pytest.raises(ValueError, match="nothing to plot"):
        equimarl.plot()
    traffic = equimarl.train("traffic", rows=1, cols=1, step_limit=20, out=tmp_path / "b", **SHORT)
    with pytest.raises(ValueError, match="different worlds"):
        equimarl.plot(run, [traffic])


def test_progress_is_one_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    equimarl.train(Pond(), spec=SPEC, out=tmp_path / "a", progress=True, **SHORT)
    said = capsys.readouterr().err
    assert "1,024 of 1,024 steps" in said and said.endswith("\n")
    equimarl.train(Pond(), spec=SPEC, out=tmp_path / "b", **SHORT)
    assert capsys.readouterr().err == ""


def test_examples_run(tmp_path: Path) -> None:
    pytest.importorskip("pettingzoo")
    folder = Path(__file__).parents[2] / "examples/python"
    for name, *more in (["own_environment.py"], ["compare.py", "--seeds", "1"]):
        done = subprocess.run(
            [sys.executable, "-W", "error::DeprecationWarning:__main__", str(folder / name), "--steps", "2048", *more],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert (tmp_path / "curves.svg").exists()


def test_moves_of_the_pond_are_those_of_the_spec() -> None:
    """The declaration of the tests themselves is right: moves turn as arrows do."""
    arrows = equimarl.rep("D4", "rotation")
    choices = equimarl.rep("D4", "perm[0 4 1 2 3; 0 1 4 3 2]")
    for g in range(8):
        assert (arrows.matrices(g) @ MOVES.T == (MOVES.T @ choices.matrices(g))).all()


def test_a_team_of_particles_plays_in_its_surroundings(tmp_path: Path) -> None:
    """What agents see beside themselves is more than the team takes; it reads from the environment whom it hears."""
    run = equimarl.train("spread", "equivariant", seed=1, out=tmp_path / "spread", **SHORT)
    team = equimarl.load(run)
    batch = equimarl.Batch("spread", num_envs=4, seed=2)
    alone = equimarl.Batch("spread", num_envs=4, seed=2, observe="features")
    actions = team.act(batch.reset(), batch)
    assert actions.shape == (4, 3)
    assert np.array_equal(actions, team.act(alone.reset(), alone))
    with pytest.raises(ValueError, match="sees an array of the shape"):
        team.act(batch.observations[..., :-1], batch)


def test_a_team_plays_with_more_agents_and_other_landmarks(tmp_path: Path) -> None:
    """Senders are known by their kind: the second prey is no obstacle, whatever there was in training.

    The oracle reads whom agents hear from their surroundings, and asks the bare network.
    """
    cases: list[tuple[str, dict[str, Any], list[tuple[int, int]]]] = [
        ("spread", {"agents": 4, "landmarks": 4}, [(4, 0)]),
        ("spread", {"agents": 3, "landmarks": 1}, [(1, 0)]),
        ("tag", {"prey": 2, "obstacles": 1}, [(2, 2), (1, 0)]),
        ("tag", {"prey": 1, "obstacles": 2}, [(1, 2), (2, 0)]),
    ]
    runs = {
        world: equimarl.train(world, "equivariant", seed=1, out=tmp_path / world, **SHORT) for world in ("spread", "tag")
    }
    teams = {world: equimarl.load(run) for world, run in runs.items()}
    for world, options, kinds in cases:
        network = equimarl._core.Model.load(str(runs[world].path / "model.safetensors"))
        batch = equimarl.Batch(world, num_envs=16, seed=2, **options)
        batch.reset()
        for _ in range(4):
            actions = teams[world].act(batch.observations, batch)
            for e, seen in enumerate(batch.observations):
                logits = network.forward(*heard(seen, kinds))[0]
                assert np.array_equal(actions[e], logits.argmax(1)), (world, options)
            batch.step(actions)


def heard(seen: Any, kinds: list[tuple[int, int]], own: int = 4) -> tuple[Any, ...]:
    """Own features, who hears whom with which edge, and the same for senders: so many of each kind, with so many features."""
    agents = len(seen)
    edges: list[tuple[int, int, Any]] = []
    others: list[list[tuple[int, Any, Any]]] = [[] for _ in kinds]
    for i, row in enumerate(seen):
        at = own
        for j in (j for j in range(agents) if j != i):
            if row[at]:
                edges.append((i, j, row[at + 1 : at + 3]))
            at += 3
        for k, (count, features) in enumerate(kinds):
            for _ in range(count):
                if row[at]:
                    others[k].append((i, row[at + 1 : at + 3], row[at + 3 : at + 3 + features]))
                at += 3 + features
        assert at == len(row)

    def rows(values: list[Any], width: int) -> Any:
        return np.array(values, np.float32).reshape(len(values), width)

    return (
        np.ascontiguousarray(seen[:, :own]),
        np.array([e[0] for e in edges], np.int64),
        np.array([e[1] for e in edges], np.int64),
        rows([e[2] for e in edges], 2),
        [
            (np.array([o[0] for o in all_of], np.int64), rows([o[1] for o in all_of], 2), rows([o[2] for o in all_of], features))
            for all_of, (_, features) in zip(others, kinds, strict=True)
        ],
    )


def test_what_broke_an_environment_is_raised_also_if_it_cannot_be_closed(tmp_path: Path) -> None:
    class Broken(Pond):
        def step(self, actions: Any) -> Any:
            raise KeyError("step broke")

        def close(self) -> None:
            raise OSError("cannot close")

    with pytest.raises(KeyError, match="step broke") as caught:
        equimarl.train(Broken, "plain", spec=SPEC, out=tmp_path / "a", **SHORT)
    assert any("cannot close" in note for note in caught.value.__notes__)


def test_settings_whose_names_python_keeps_for_itself(tmp_path: Path) -> None:
    run = equimarl.train("wildlife", "plain", drones=2, grid=5, out=tmp_path / "a", lambda_=0.5, **SHORT)
    assert "lambda = 0.5" in (run.path / "config.toml").read_text()
