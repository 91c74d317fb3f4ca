"""Audits of our worlds, of a pond, of mpe2, and of whatever people hand in."""

import json
import pickle
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from pond import MOVES, Pond, Settable

import equimarl
from equimarl import GroupAction, audit, group, moves, rep
from equimarl._audit._statistical import holm
from equimarl._audit._joint import Joint
from equimarl._audit._parts import fewest_points


def pond_action(name: str = "D4", boats: int = 2, **more: Any) -> GroupAction:
    return GroupAction(name, observations=f"{boats}*rotation", actions=MOVES, **more)


def settled(element: str, state: Any) -> Any:
    return {**state, "places": state["places"] @ rep("D4", "rotation").matrices(element).T}


# Our worlds: the exact tier.


@pytest.mark.parametrize(("world", "options", "name"), [("wildlife", {"drones": 4}, "D4"), ("traffic", {}, "C4")])
def test_our_worlds_hold(world: str, options: dict[str, Any], name: str) -> None:
    report = audit(equimarl.Batch(world, **options), name, steps=1500)
    assert (report.tier, report.verdict, report.group) == ("exact", "holds", name)
    assert [one.verdict for one in report.elements] == ["holds"] * group(name).order
    assert "bit by bit" in str(report) and "holds" in str(report)


def test_mirrored_traffic_fails() -> None:
    report = audit(equimarl.Batch("traffic"), "D4", steps=200)
    assert report.verdict == "refuted" and report.refuted
    assert [one.verdict == "holds" for one in report.elements] == [True] * 4 + [False] * 4
    found = report.element("m").counterexample
    assert found is not None and "maps the lane" in found.text and found.state is not None
    assert "REFUTED at step 0" in str(report)
    json.dumps(report.as_dict())
    assert pickle.loads(pickle.dumps(report)) == report


def test_a_wrong_declaration_of_our_world_is_refused() -> None:
    batch = equimarl.Batch("wildlife", drones=2)
    right = GroupAction("C4", observations="image", actions="perm[0 4 1 2 3]")
    assert audit(batch, right, steps=50).verdict == "holds"
    for wrong, part in [
        (GroupAction("C4", observations="image", actions="perm[0 2 3 4 1]"), "sends actions to"),
        (GroupAction("C4", observations="image", actions="regular"), "all agents have 5 actions"),
        (GroupAction("C4", observations="2*rotation", actions="perm[0 4 1 2 3]"), "observe 'image'"),
    ]:
        with pytest.raises(ValueError, match=part):
            audit(batch, wrong)
    with pytest.raises(ValueError, match="moves agents, and `agents` is not given"):
        audit(equimarl.Batch("traffic"), GroupAction("C4", observations="image", actions="perm[1 0]"))


def test_the_start_of_traffic_is_not_symmetric() -> None:
    """All lights begin on phase 0, so a quarter turn gives another start: the dynamics are not blamed."""
    zoo = pytest.importorskip("equimarl.zoo")
    env = zoo.parallel_env("traffic", step_limit=30)
    report = audit(env, "C4", tier="statistical", episodes=60)
    assert report.verdict == "start not symmetric" and report.refuted
    turn = report.element("r")
    assert "the start is not symmetric, the dynamics were not tested" in turn.text
    # The half turn brings every light to where it was.
    assert report.element("r2").verdict == "not refuted"
    assert audit(env, "C4", steps=300).verdict == "holds"


def test_the_statistical_tier_on_wildlife() -> None:
    zoo = pytest.importorskip("equimarl.zoo")
    report = audit(zoo.parallel_env("wildlife", drones=2), "D4", tier="statistical", episodes=100, max_steps=10)
    assert report.verdict == "not refuted"
    turned_wrong = GroupAction("C4", observations="image", actions="perm[0 2 3 4 1]")
    env = zoo.parallel_env("wildlife", drones=2)
    assert audit(env, turned_wrong, tier="statistical", episodes=300, max_steps=10).verdict == "refuted"


# A stranger's environment: the exact tiers.


def test_states_that_can_be_set_are_audited_exactly() -> None:
    report = audit(Settable(noise=0.0), pond_action(state=settled), steps=100)
    assert (report.tier, report.verdict) == ("exact", "holds")
    cases: list[tuple[dict[str, Any], str]] = [
        ({"wind": 1e-3}, "observation"),
        ({"favour": 1e-3}, "should get"),
        ({"crooked": 1e-3}, "observation"),
    ]
    for broken, part in cases:
        report = audit(Settable(noise=0.0, **broken), pond_action(state=settled), steps=100)
        assert report.verdict == "refuted", broken
        # What goes to the right is left alone by the mirror that makes down of up; what is sheared, by the half turn.
        left = [one.element for one in report.elements if one.verdict == "holds"]
        assert left == (["e", "r2"] if "crooked" in broken else ["e", "m"])
        found = report.element("r").counterexample
        assert found is not None and part in found.text and found.state is not None
    wrong = pond_action(state=lambda element, state: state)
    assert audit(Settable(noise=0.0), wrong, steps=100).verdict == "refuted"


def test_starts_that_can_be_given_are_audited_exactly() -> None:
    report = audit(Pond(noise=0.0), pond_action(state="2*rotation"), steps=200)
    assert (report.tier, report.verdict) == ("deterministic", "holds")
    assert "Pond" not in str(report) and "exact for deterministic environments" in str(report)
    report = audit(Pond(noise=0.0, uneven=0.01), pond_action(state="2*rotation"), steps=200)
    assert report.verdict == "refuted" and report.element("m").verdict == "holds"
    assert report.element("r2").counterexample is not None


def test_chance_is_noticed() -> None:
    for env, action, part in [
        (Settable(), pond_action(state=settled), "chance is not a part of the state"),
        (Pond(), pond_action(state="2*rotation"), "not deterministic"),
    ]:
        report = audit(env, action, episodes=40)
        assert report.tier == "statistical" and part in str(report)
        tier: Any = "exact" if isinstance(env, Settable) else "deterministic"
        with pytest.raises(ValueError, match=part):
            audit(env, action, tier=tier)

    class Deaf(Pond):
        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            return super().reset(seed)

    report = audit(Deaf(noise=0.0), pond_action(state="2*rotation"), episodes=40)
    assert "does not begin in that state" in str(report) and report.tier == "statistical"


# The statistical tier.


def test_a_symmetric_pond_is_not_refuted_and_says_what_that_means() -> None:
    report = audit(Pond(), pond_action(), episodes=200)
    assert (report.tier, report.verdict, report.refuted) == ("statistical", "not refuted", False)
    assert "A p-value never proves symmetry" in str(report)
    assert report.element("r").p_value is not None and report.element("r3").p_value is None
    assert str(audit(Pond(), pond_action(), episodes=200)) == str(report)


@pytest.mark.parametrize("broken", [{"wind": 0.3}, {"uneven": 0.6}, {"favour": 0.8}])
def test_broken_dynamics_are_found(broken: dict[str, Any]) -> None:
    report = audit(Pond(**broken), pond_action(), episodes=400)
    assert report.verdict == "refuted", str(report)
    assert report.element("r").verdict == "refuted" and report.element("m").verdict == "not refuted"
    assert report.element("r").counterexample is not None


@pytest.mark.parametrize("broken", [{"corner": 0.3}, {"crooked": 0.5}])
def test_broken_starts_are_found_first(broken: dict[str, Any]) -> None:
    report = audit(Pond(**broken), pond_action(), episodes=400)
    assert report.element("r").verdict == "start not symmetric", str(report)


def test_exchanged_agents() -> None:
    swap = {"r": {"boat_0": "boat_1", "boat_1": "boat_0"}}
    right = GroupAction("C2", observations="4*trivial", actions="5*trivial", agents=swap)
    assert audit(Pond(), right, episodes=100).verdict == "not refuted"

    class Unequal(Pond):
        def step(self, actions: Any) -> Any:
            return super().step({"boat_0": 0, "boat_1": actions["boat_1"]})

    assert audit(Unequal(), right, episodes=100).verdict == "refuted"


def test_continuous_actions() -> None:
    for name in ("D4", "C8"):
        action = GroupAction(name, observations="2*rotation", actions="rotation")
        report = audit(Pond(continuous=True), action, episodes=600)
        # A square pond is none of eight directions: its shore is found, or its start.
        assert report.refuted == (name == "C8"), str(report)
    assert audit(Pond(continuous=True, uneven=1.0), GroupAction("D4", observations="2*rotation", actions="rotation"),
                 episodes=300).verdict == "refuted"


def test_functions_of_observations() -> None:
    def turned(element: str, agent: str, seen: Any) -> Any:
        return rep("D4", "2*rotation").matrices(element) @ seen

    action = GroupAction("D4", observations=turned, actions=MOVES)
    by_function = audit(Pond(), action, episodes=40)
    assert [one.p_value for one in by_function.elements] == [
        one.p_value for one in audit(Pond(), pond_action(), episodes=40).elements
    ]


def test_agents_that_leave() -> None:
    class Leaving(Pond):
        """A boat that comes to the shore is gone."""

        def step(self, actions: Any) -> Any:
            there = list(self.agents)
            full = {agent: actions.get(agent, 0) for agent in self.possible_agents}
            self.agents = list(self.possible_agents)
            seen, rewards, _, over, infos = super().step(full)
            ashore = {a: bool(np.abs(self.places[k]).max() >= 1) for k, a in enumerate(self.possible_agents)}
            self.agents = [a for a in there if not ashore[a]] if self.agents else []
            return tuple({a: one[a] for a in there} for one in (seen, rewards, ashore, over, infos))

    by_rep = audit(Leaving(), pond_action(), episodes=200)
    assert by_rep.verdict == "not refuted"
    turned = GroupAction("D4", observations=lambda g, _, seen: rep("D4", "2*rotation").matrices(g) @ seen, actions=MOVES)
    assert str(audit(Leaving(), turned, episodes=200)) == str(by_rep)
    assert audit(Leaving(wind=0.4), pond_action(), episodes=200).verdict == "refuted"


def test_few_alarms() -> None:
    """40 audits of a symmetric environment at the level of 5%: 2 alarms are expected, more than 6 come once in 300 times if
    the level is right. `examples/audit_power.py` does 200."""
    alarms = sum(
        audit(Pond(length=5), pond_action(), episodes=40, seed=seed, permutations=199).refuted for seed in range(100, 140)
    )
    assert alarms <= 6


def test_holm() -> None:
    found = holm({1: 0.01, 2: 0.04, 3: 0.03})
    assert found == pytest.approx({1: 0.03, 3: 0.06, 2: 0.06})
    assert holm({1: 0.6, 2: 0.9}) == {1: 1.0, 2: 1.0}


# mpe2.


def spread_action(name: str, **more: Any) -> GroupAction:
    # Its velocity and place, three landmarks, two others; and what the others say, which is nothing.
    return GroupAction(name, observations="7*rotation + 4*trivial", actions=MOVES, **more)


def spread(**options: Any) -> Any:
    simple_spread_v3 = pytest.importorskip("mpe2.simple_spread_v3", reason="mpe2 is not installed")
    return simple_spread_v3.parallel_env(**{"N": 3, "max_cycles": 15, **options})


def test_simple_spread_has_d4() -> None:
    report = audit(spread(), spread_action("D4"), episodes=120)
    assert (report.tier, report.verdict) == ("statistical", "not refuted"), str(report)


def test_simple_spread_has_no_c8() -> None:
    spread()
    with pytest.raises(ValueError, match="no permutation of these 5 actions fits C8"):
        spread_action("C8")
    with pytest.raises(ValueError, match="no permutation of 5 actions fits C8 .* order 8, which takes at least 8 actions"):
        audit(spread(), GroupAction("C8", observations="7*rotation + 4*trivial", actions="regular"))
    # Who writes down a permutation anyway, for the quarter turns alone, is refuted.
    halved = GroupAction("C8", observations="7*rotation + 4*trivial", actions="perm[0 4 3 1 2]")
    assert audit(spread(), halved, episodes=60).refuted


def test_simple_spread_exactly() -> None:
    """mpe2 keeps its state in plain arrays, so ten lines make the exact tier possible."""
    env = spread(max_cycles=1000)

    class Exact:
        def __getattr__(self, name: str) -> Any:
            return getattr(env, name)

        def world(self) -> Any:
            return env.unwrapped.world

        def get_state(self) -> Any:
            bodies = [(b.state.p_pos.copy(), b.state.p_vel.copy()) for b in self.world().entities]
            return {"bodies": bodies}

        def set_state(self, state: Any) -> None:
            for body, (place, velocity) in zip(self.world().entities, state["bodies"], strict=True):
                body.state.p_pos, body.state.p_vel = place.copy(), velocity.copy()

    def turned(element: str, state: Any) -> Any:
        turn = rep("D4", "rotation").matrices(element)
        return {**state, "bodies": [(turn @ place, turn @ velocity) for place, velocity in state["bodies"]]}

    report = audit(Exact(), spread_action("D4", state=turned), steps=100, tier="exact")
    assert report.verdict == "holds", str(report)


# Bad input.


def test_declarations_that_cannot_be() -> None:
    bad: list[tuple[Any, str]] = [
        (lambda: GroupAction("C", observations="rotation", actions="regular"), "cannot read the group"),
        (lambda: GroupAction("C4", observations="spin", actions="regular"), "`observations` is `spin`: "),
        (lambda: GroupAction("C4", observations="rotation", actions="perm[1 2 0]"), "`actions` is `perm.1 2 0.`: "),
        (lambda: GroupAction("C4", observations=rep("C2", "trivial"), actions="regular"), "of C2, and the group is C4"),
        (lambda: GroupAction("C4", observations="trivial", actions="regular", agents={"m": {}}), "generators of C4 are r"),
        (lambda: GroupAction("C4", observations="trivial", actions="regular", agents={"r": {"a": "b"}}), "no permutation"),
        (lambda: moves("C4", [[1, 0], [1, 0]]), "two actions are the same"),
        (lambda: moves("C4", [1, 2]), r"an array \[actions, 2\]"),
        (lambda: moves("C4", []), r"an array \[actions, 2\]"),
    ]
    for make, part in bad:
        with pytest.raises(ValueError, match=part):
            make()
    with pytest.raises(TypeError, match="must be a representation"):
        GroupAction("C4", observations=7, actions="regular")  # type: ignore[arg-type]


def test_what_does_not_fit_the_environment() -> None:
    fit = {"observations": "2*rotation", "actions": MOVES}
    bad: list[tuple[Any, Any, str]] = [
        (Pond(), {**fit, "observations": "rotation"}, "has 2 numbers, and boat_0 observes 4"),
        (Pond(), {**fit, "actions": "rotation"}, "`actions` has 2 numbers, and boat_0 has 5 choices"),
        (Pond(), {**fit, "actions": "5*sign"}, "does not permute choices"),
        (Pond(), {**fit, "observations": "image"}, "observes .4,., not"),
        (Pond(), {**fit, "agents": {"r": {"buoy": "buoy"}}}, "has 'buoy'; the agents are boat_0, boat_1"),
        (Pond(4), {**fit, "observations": "4*rotation", "agents": {"r": {"boat_0": "boat_1", "boat_1": "boat_2", "boat_2": "boat_0"}}},
         "`agents` is no action of C4"),
        (Pond(), {**fit, "observations": {"boat_0": "2*rotation"}}, "no representation for boat_1"),
        (Pond(continuous=True), {**fit, "actions": "regular"}, "`actions` has 4 numbers, and boat_0 acts by 2"),
        (Pond(continuous=True), {**fit, "actions": "matrix[0 -2, 0.5 0]"}, "does not map the actions"),
    ]
    for env, given, part in bad:
        with pytest.raises(ValueError, match=part):
            audit(env, GroupAction("C4", **given), episodes=20)


def broken(**parts: Any) -> Any:
    class Broken(Pond):
        def observation_space(self, agent: str) -> Any:
            return parts.get("observation_space", super().observation_space(agent))

        def action_space(self, agent: str) -> Any:
            return parts.get("action_space", super().action_space(agent))

        def reset(self, seed: int | None = None, options: Any = None) -> Any:
            answer = super().reset(seed, options)
            return parts["reset"](self, answer) if "reset" in parts else answer

        def step(self, actions: Any) -> Any:
            answer = super().step(actions)
            return parts["step"](self, answer) if "step" in parts else answer

    return Broken()


def test_environments_that_cannot_be_audited() -> None:
    low = np.zeros(4)
    nan = {"boat_0": np.full(4, np.nan), "boat_1": low}
    bad: list[tuple[Any, type[Exception], str]] = [
        (SimpleNamespace(reset=0, step=0), TypeError, "no PettingZoo ParallelEnv: it has no possible_agents"),
        (SimpleNamespace(agent_iter=0), TypeError, "aec_to_parallel"),
        (broken(observation_space=SimpleNamespace(spaces={})), ValueError, "needs a Box or Discrete space"),
        (broken(action_space=SimpleNamespace(nvec=[2, 2])), ValueError, "needs a Discrete or Box space"),
        (broken(action_space=SimpleNamespace(low=np.full(2, -np.inf), high=low[:2])), ValueError, "without bounds"),
        (broken(reset=lambda env, answer: answer[0]), ValueError, "must give .observations, infos."),
        (broken(reset=lambda env, answer: (nan, {})), ValueError, "boat_0 observes a number after reset that is not finite"),
        (broken(reset=lambda env, answer: ({"ghost": low}, {})), ValueError, "an agent 'ghost' after reset that is none of"),
        (broken(reset=lambda env, answer: ({"boat_0": low[:3]}, {})), ValueError, r"observes an array \(3,\)"),
        (broken(reset=lambda env, answer: ({"boat_0": {"a": 1}}, {})), ValueError, "no array of numbers but dict"),
        (broken(step=lambda env, answer: answer[:4]), ValueError, "`step` must give"),
        (broken(step=lambda env, answer: (answer[0], {"boat_0": np.inf}, *answer[2:])), ValueError, "`rewards` has a number"),
        (broken(step=lambda env, answer: (answer[0], {"ghost": 1.0}, *answer[2:])), ValueError, "`rewards` names an agent"),
        (broken(step=lambda env, answer: (answer[0], {"boat_0": None}, *answer[2:])), TypeError, "`rewards` of boat_0 is None"),
        (broken(step=lambda env, answer: (answer[0], 1.0, *answer[2:])), TypeError, "`rewards` is a float in step 0 .* it is a dict"),
        (broken(step=lambda env, answer: ([low, low], *answer[1:])), TypeError, "`observations` is a list in step 0"),
        (broken(reset=lambda env, answer: ([low, low], {})), TypeError, "`observations` is a list after reset"),
        (broken(reset=lambda env, answer: ({"boat_0": [[1.0], [1.0, 2.0]]}, {})), ValueError, "no array of numbers but list"),
    ]
    for env, kind, part in bad:
        with pytest.raises(kind, match=part):
            audit(env, pond_action("C4"), episodes=20)


def test_what_the_environment_raises_comes_through() -> None:
    def fails(env: Any, answer: Any) -> Any:
        raise KeyError("a mistake of its own")

    with pytest.raises(KeyError, match="a mistake of its own") as raised:
        audit(broken(step=fails), pond_action(), episodes=20)
    assert any(entry.name == "fails" for entry in raised.traceback)


def test_options() -> None:
    for given, part in [
        ({"tier": "sure"}, "`tier` is 'sure'"),
        ({"episodes": 3}, "fewer than 20"),
        ({"episodes": 0}, "`episodes` is 0"),
        ({"seed": -1}, "`seed` is -1"),
        ({"level": 0.0}, "`level` is 0.0"),
        ({"level": 5}, "`level` is 5"),
        ({"level": 1e-9}, "permutations of 400 episodes are too many"),
        ({"level": 5e-324}, "permutations of 400 episodes are too many"),
        ({"permutations": 10**9}, "1000000000 permutations of 400 episodes are too many"),
        ({"seed": 2**70}, r"`seed` is 1180591620717411303424; it must be below 2\*\*64"),
        ({"steps": 2**70}, r"it must be below 2\*\*63"),
        ({"tolerance": -1.0}, "`tolerance`"),
        ({"tolerance": float("nan")}, "`tolerance` is nan"),
        ({"tier": "exact"}, "the GroupAction has no `state`"),
        ({"tier": "deterministic"}, "the GroupAction has no `state`"),
    ]:
        options: Any = given
        with pytest.raises(ValueError, match=part):
            audit(Pond(), pond_action(), **options)
    with pytest.raises(TypeError, match="`steps` must be a whole number, not float"):
        audit(Pond(), pond_action(), steps=1.5)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="`level` must be a number, not str"):
        audit(Pond(), pond_action(), level="low")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="`seed` is 1180591620717411303424"):
        audit(equimarl.Batch("wildlife"), "C4", seed=2**70)
    with pytest.raises(TypeError, match="a group alone does not say"):
        audit(Pond(), "D4")
    with pytest.raises(TypeError, match="must be a GroupAction"):
        audit(Pond(), None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="has no get_state and set_state"):
        audit(Pond(), pond_action(state="2*rotation"), tier="exact")
    with pytest.raises(ValueError, match="has no element 'q'"):
        audit(Pond(), pond_action(), episodes=20).element("q")


# Parts.


def test_transformations_compose() -> None:
    """g (h x) = (g h) x, for observations, actions, agents and images."""
    swap = {"r": {"boat_0": "boat_1", "boat_1": "boat_0"}}
    team = Joint(Pond(), GroupAction("D4", observations="2*rotation", actions=MOVES, agents=swap))
    rng = np.random.default_rng(0)
    seen, present = rng.normal(size=(5, 8)), np.ones((5, 2), bool)
    done = np.stack([team.draw(rng) for _ in range(5)])
    table = group("D4").table
    for g in range(8):
        for h in range(8):
            gh = int(table[g, h])
            twice = team.turn_observations(g, team.turn_observations(h, seen, present), present)
            assert np.allclose(twice, team.turn_observations(gh, seen, present))
            assert np.array_equal(team.turn_actions(g, team.turn_actions(h, done)), team.turn_actions(gh, done))


def test_images_turn_as_pixels_do() -> None:
    class Pictures(Pond):
        def observation_space(self, agent: str) -> Any:
            return SimpleNamespace(low=0, high=1, shape=(2, 5, 5))

    team = Joint(Pictures(), GroupAction("D4", observations="image", actions=MOVES))
    picture = np.random.default_rng(1).normal(size=100)
    for g, matrix in enumerate(rep("D4", "4*pixels(5)").matrices()):
        assert np.array_equal(team.turn_observations(g, picture, np.ones(2, bool)), matrix @ picture)


def test_points_that_permutations_need() -> None:
    assert [fewest_points(n) for n in (1, 2, 3, 4, 6, 8, 12)] == [0, 2, 3, 4, 5, 8, 7]


def test_our_particles_through_their_surroundings() -> None:
    """The statistical tier sees what an agent sees: itself, and the ways from others and from landmarks."""
    zoo = pytest.importorskip("equimarl.zoo", reason="PettingZoo is not installed")
    report = audit(zoo.parallel_env("spread"), "D4", episodes=40, max_steps=5, tier="statistical")
    assert report.verdict == "not refuted", report
    assert audit(zoo.parallel_env("spread"), "D4", steps=100).verdict == "holds"
