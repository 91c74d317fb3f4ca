"""What an audit must not fall for: rounding, generators in states, wrappers, time, and half a ParallelEnv."""

import json
import random
import subprocess
import sys
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from ducks import TALKING, neighbours
from ducks import Pond as Ducks
from pond import MOVES, Pond, Settable
from test_audit import pond_action, settled

import equimarl
from equimarl import GroupAction, Spec, audit, rep
from equimarl._audit._joint import Joint
from equimarl._own import own_envs
from equimarl._spaces import count

EIGHT = np.stack([np.cos(np.arange(8) * np.pi / 4), np.sin(np.arange(8) * np.pi / 4)], 1)


class Compass:
    """One of eight directions, in single precision: it goes where the agent says, or stays."""

    possible_agents = ["needle"]

    def observation_space(self, agent: str) -> Any:
        return SimpleNamespace(low=np.full(2, -3.0), high=np.full(2, 3.0), shape=(2,))

    def action_space(self, agent: str) -> Any:
        return SimpleNamespace(n=8)

    def reset(self, seed: int | None = None, options: Any = None) -> Any:
        self.rng = np.random.default_rng(seed)
        self.agents, self.time, self.at = ["needle"], 0, int(self.rng.integers(8))
        return self.seen(), {"needle": {}}

    def seen(self) -> Any:
        # Of length 2.3, single precision rounds diagonals up and the others down; the shorter ones make the long ones rare.
        return {"needle": ((2.3 if self.rng.random() < 0.6 else 1.0) * EIGHT[self.at]).astype(np.float32)}

    def step(self, actions: Any) -> Any:
        self.at = int(actions["needle"]) if self.rng.random() < 0.5 else self.at
        self.time += 1
        over = self.time == 5
        self.agents = [] if over else ["needle"]
        return self.seen(), {"needle": 0.0}, {"needle": False}, {"needle": over}, {"needle": {}}


def test_rounding_is_no_asymmetry() -> None:
    action = GroupAction("C8", observations="rotation", actions=EIGHT)
    alarms = [audit(Compass(), action, episodes=300, seed=seed, permutations=199).refuted for seed in range(1, 5)]
    assert sum(alarms) <= 1


class Remembers(Settable):
    """Its state holds its generator, as people write it."""

    how: Any = staticmethod(lambda rng: rng.bit_generator.state)

    def get_state(self) -> Any:
        return {**super().get_state(), "rng": self.how(self.rng)}

    def set_state(self, state: Any) -> None:
        super().set_state(state)
        if isinstance(state["rng"], np.random.Generator):
            self.rng = state["rng"]
        else:
            self.rng.bit_generator.state = state["rng"]


class Whole(Remembers):
    how = staticmethod(lambda rng: rng)


@pytest.mark.parametrize("kind", [Remembers, Whole])
def test_a_generator_in_the_state_is_not_transformed_chance(kind: type[Remembers]) -> None:
    report = audit(kind(length=5), pond_action(state=settled), episodes=40)
    assert (report.tier, report.verdict) == ("statistical", "not refuted"), str(report)
    assert "draws from the state['rng'], a random generator" in str(report)
    with pytest.raises(ValueError, match="random generator"):
        audit(kind(), pond_action(state=settled), tier="exact")
    # One that nobody draws from does no harm.
    still = audit(kind(noise=0.0), pond_action(state=settled), steps=20)
    assert (still.tier, still.verdict) == ("exact", "holds")


def test_generators_are_known_however_they_are_written() -> None:
    from equimarl._audit._exact import generators

    old = np.random.RandomState(0)
    for one in (np.random.default_rng(0), np.random.PCG64(0), old, old.get_state(), random.Random(0), random.getstate()):
        assert [where for where, _ in generators([1, {"a": one}])] == ["the state[1]['a']"]
    assert list(generators([1, {"a": (3, (1, 2), None)}, np.zeros(3), "MT19937"])) == []


def test_who_is_there_belongs_to_the_state() -> None:
    class Forgets(Settable):
        def set_state(self, state: Any) -> None:
            self.places, self.time = state["places"].copy(), state["time"]

    with pytest.raises(ValueError, match=r"does not restore who is there: `env.agents` is \[\]"):
        audit(Forgets(noise=0.0), pond_action(state=settled), tier="exact")


def test_half_a_parallel_env_is_audited_statistically() -> None:
    class Stateless(Pond):
        def state(self) -> Any:
            raise NotImplementedError("as PettingZoo's base class does")

    class Plain(Pond):
        def reset(self, seed: int | None = None) -> Any:  # type: ignore[override]
            return super().reset(seed)

    for env, why in [(Stateless(length=3), "state.. is not implemented"), (Plain(length=3), "reset has no `options`")]:
        report = audit(env, pond_action(state="2*rotation"), episodes=40)
        assert report.tier == "statistical" and report.verdict == "not refuted"
        with pytest.raises(ValueError, match=why):
            audit(env, pond_action(state="2*rotation"), tier="deterministic")


def test_what_changes_with_time_is_no_asymmetry() -> None:
    class Aging(Pond):
        """Waves grow from episode to episode."""

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            self.noise += 0.001
            return super().reset(seed, options)

    assert audit(Aging(length=5, noise=0.0), pond_action(), episodes=100).verdict == "not refuted"


def test_whole_numbers_are_drawn_as_such() -> None:
    class Whole(Pond):
        def action_space(self, agent: str) -> Any:
            return SimpleNamespace(low=np.full(2, -2), high=np.full(2, 2), shape=(2,), dtype=np.dtype(np.int8))

        def step(self, actions: Any) -> Any:
            assert all(one.dtype == np.int8 for one in actions.values())
            return super().step(actions)

    env = Whole(length=3, continuous=True)
    team = Joint(env, GroupAction("D4", observations="2*rotation", actions="rotation"))
    drawn = np.array([team.draw(np.random.default_rng(k)) for k in range(200)])
    assert set(drawn.ravel()) == {-2.0, -1.0, 0.0, 1.0, 2.0}
    assert audit(env, GroupAction("D4", observations="2*rotation", actions="rotation"), episodes=40).verdict == "not refuted"
    with pytest.raises(ValueError, match="does not map the whole numbers"):
        audit(env, GroupAction("C8", observations="2*rotation", actions="rotation"))


def test_spaces_that_look_like_choices() -> None:
    assert count(SimpleNamespace(n=5)) == count(SimpleNamespace(n=np.int64(5), shape=())) == 5
    assert count(SimpleNamespace(n=5, shape=(5,))) is None

    class Bits(Pond):
        def action_space(self, agent: str) -> Any:
            return SimpleNamespace(n=5, shape=(5,))

    with pytest.raises(ValueError, match="needs a Discrete or Box space"):
        audit(Bits(), pond_action())


def test_a_wrapper_is_not_what_it_wraps() -> None:
    batch = equimarl.Batch("wildlife", drones=2)
    assert own_envs(batch) is not None

    class Other(equimarl.Batch):
        pass

    class Wrapper:
        def __getattr__(self, name: str) -> Any:
            return getattr(batch, name)

    assert own_envs(Other("wildlife", drones=2)) is None and own_envs(Wrapper()) is None
    zoo = pytest.importorskip("equimarl.zoo")

    class Rewarded(zoo.World):  # type: ignore[misc, name-defined]
        pass

    assert own_envs(zoo.parallel_env("wildlife")) is not None and own_envs(Rewarded("wildlife")) is None
    with pytest.raises(TypeError, match="a group alone does not say"):
        audit(Rewarded("wildlife"), "D4")


def test_plain_data_and_numbers_of_numpy() -> None:
    numbers: Any = {"steps": np.int64(5), "seed": np.int64(1)}
    report = audit(Settable(noise=0.0, wind=0.1), pond_action(state=settled), **numbers)
    assert report.verdict == "refuted"
    assert json.loads(json.dumps(report.as_dict()))["refuted"] is True


def test_agents_may_be_called_anything() -> None:
    class Tuples(Pond):
        def __init__(self) -> None:
            super().__init__(length=3)
            self.possible_agents = [("boat", 0), ("boat", 1)]  # type: ignore[list-item]

    swap: Any = {"r": {("boat", 0): ("boat", 1), ("boat", 1): ("boat", 0)}}
    action = GroupAction("C2", observations="4*trivial", actions="5*trivial", agents=swap)
    assert audit(Tuples(), action, episodes=40).verdict == "not refuted"


#: An audit without an end, which is told to stop after a while. Shells start what runs in the background deaf to Ctrl-C.
STOPPED = """
import os, signal, threading
import equimarl
signal.signal(signal.SIGINT, signal.default_int_handler)
threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
try:
    equimarl.audit(equimarl.Batch("wildlife", drones=2, grid=5), "D4", steps=10**12)
except KeyboardInterrupt:
    print("stopped")
"""


def test_long_exact_audits_are_whole_and_can_be_stopped() -> None:
    report = audit(equimarl.Batch("wildlife", drones=2, grid=5), "D4", steps=4500)
    assert report.verdict == "holds" and "4500 random steps" in report.amount
    child = subprocess.run([sys.executable, "-c", STOPPED], capture_output=True, text=True, timeout=120)
    assert (child.stdout, child.returncode) == ("stopped\n", 0), child.stderr


# A Spec is audited with whom agents hear.


def test_a_spec_is_audited_with_its_neighbours() -> None:
    report = audit(Ducks(), TALKING, episodes=60)
    assert (report.group, report.verdict) == ("C4", "not refuted"), str(report)
    silent = {"group": "C4", "observations": "rotation", "actions": "perm[0 4 1 2 3]"}
    assert audit(Ducks(), Spec(**silent), episodes=40).verdict == "not refuted"  # type: ignore[arg-type]
    wrong = Spec(**silent, neighbours=TALKING.neighbours, edges="2*trivial")  # type: ignore[arg-type]
    report = audit(Ducks(), wrong, episodes=300)
    assert report.refuted, str(report)

    def only_right(env: Ducks, agent: str) -> Any:
        return [(other, edge) for other, edge in neighbours(env, agent) if edge[1] > 0]

    sided = Spec(**silent, neighbours=only_right, edges="rotation")  # type: ignore[arg-type]
    report = audit(Ducks(), sided, episodes=100)
    assert report.refuted and ("hear" in str(report) or "edge" in str(report)), str(report)


def test_who_hears_whom_turns_as_an_action_does() -> None:
    swap = {"r": {"boat_0": "boat_1", "boat_1": "boat_0"}}
    action = GroupAction(
        "D4", observations="2*rotation", actions=MOVES, agents=swap, neighbours=lambda env, agent: [], edges="trivial + rotation"
    )
    team = Joint(Pond(), action)
    assert team.width == 8 + 4 * 4 == len(team.owner)
    seen, present = np.random.default_rng(0).normal(size=(3, team.width)), np.ones((3, 2), bool)
    table = action.group.table
    for g in range(8):
        for h in range(8):
            twice = team.turn_observations(g, team.turn_observations(h, seen, present), present)
            assert np.allclose(twice, team.turn_observations(int(table[g, h]), seen, present))
    turned = team.turn_observations(1, seen, present)
    pair = slice(8 + 4 * 1, 8 + 4 * 2)  # boat_0 hears boat_1; after the turn, boat_1 hears boat_0
    assert np.allclose(turned[:, 8 + 4 * 2 : 8 + 4 * 3][:, 2:], seen[:, pair][:, 2:] @ rep("D4", "rotation").matrices("r").T)
    assert team.place(8 + 4) == "hearing of boat_1 by boat_0" and team.place(8 + 5) == "edge[0] from boat_1 to boat_0"


def test_images_may_be_declared_by_their_shape() -> None:
    batch = equimarl.Batch("wildlife", drones=2)
    assert audit(batch, GroupAction("C4", observations=(1, 21, 21), actions="perm[0 4 1 2 3]"), steps=50).verdict == "holds"
    with pytest.raises(ValueError, match=r"have the shape .channels, n, n."):
        GroupAction("C4", observations=(1, 21, 20), actions="perm[0 4 1 2 3]")
