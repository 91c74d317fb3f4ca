"""Batches come and go; their arrays stay for as long as somebody looks at them, and nothing else does."""

import gc
import os
import weakref
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import equimarl

STATM = Path("/proc/self/statm")

#: All kinds of observations and of actions.
KINDS: list[dict[str, Any]] = [
    {"world": "wildlife", "drones": 4},
    {"world": "wildlife", "drones": 4, "observe": "ids"},
    {"world": "traffic", "rows": 2, "cols": 2},
    {"world": "spread", "observe": "features"},
    {"world": "spread", "actions": "continuous"},
    {"world": "tag"},
]


def resident() -> float:
    """Megabytes in memory now: what is given back counts as given back."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20


def stepped(seed: int, steps: int = 3, **kind: Any) -> equimarl.Batch:
    batch = equimarl.Batch(num_envs=32, seed=seed, **kind)
    batch.reset()
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        if batch.action_bound is None:
            batch.actions[:] = rng.integers(batch.num_actions, size=batch.actions.shape)
        else:
            batch.actions[:] = rng.uniform(-0.5, 0.5, batch.actions.shape)
        batch.step()
    return batch


@pytest.mark.skipif(not STATM.exists(), reason="only Linux says how much memory is used now")
def test_thousands_of_batches_leave_nothing() -> None:
    def some(count: int) -> None:
        for k in range(count):
            kind = KINDS[k % len(KINDS)]
            batch = stepped(k, **kind)
            with pytest.raises(TypeError):
                # What is refused in the middle of a call is given back, too.
                batch.step(np.zeros(3, complex))
            del batch
            if k % 50 == 0:
                gc.collect()

    some(300)  # Until allocators and caches have what they want.
    gc.collect()
    before, objects = resident(), len(gc.get_objects())
    some(3000)
    gc.collect()
    grown, more = resident() - before, len(gc.get_objects()) - objects
    # Nothing is what it should be, and was whenever this was measured; one batch kept of every fifty was 59 MB, and all of the
    # smallest kind, whose arrays have 3 kB, would be more than 2. That much is left to allocators, which may keep a page here or there.
    assert grown < 2, f"{grown:.1f} MB more after 3000 batches"
    assert more < 100, f"{more} objects more after 3000 batches"


def test_arrays_are_not_written_after_their_batch_is_gone() -> None:
    kept: list[tuple[Any, Any]] = []
    for k in range(300):
        batch = stepped(k, **KINDS[k % len(KINDS)])
        gone = weakref.ref(batch)
        # Views, also of a part, keep the memory and not the batch.
        for array in (batch.observations, batch.final_observations, batch.actions, batch.rewards, batch.terminals, batch.truncations):
            view = array[::2]
            kept.append((view, view.copy()))
        del batch, array, view
        assert gone() is None, "a batch is gone as soon as nobody has it, without the collector"
        gc.collect(0)
        if len(kept) > 600:
            # Memory that was given back too early would be used again by these.
            del kept[:300]
    for other in range(50):
        stepped(1000 + other, **KINDS[other % len(KINDS)])
    gc.collect()
    assert all(np.array_equal(view, copy) for view, copy in kept)


def test_buffers_of_ones_own_are_given_back_and_never_written_again() -> None:
    kind = KINDS[0]
    shapes = {name: getattr(stepped(0, **kind), name) for name in ("observations", "rewards")}
    for k in range(200):
        own = {name: np.zeros_like(like) for name, like in shapes.items()}
        watched = [weakref.ref(array) for array in own.values()]
        batch = stepped(k, buffers=own, **kind)
        assert batch.observations is own["observations"]
        if k % 2:
            # In a circle, so that only the collector finds them.
            circle: list[Any] = [batch, own]
            circle.append(circle)
            del circle
        copy = own["rewards"].copy()
        view = own["rewards"][1:]
        del own, batch
        gc.collect()
        assert watched[0]() is None, "nobody has it any more"
        assert np.array_equal(view, copy[1:]), "a view of it is as it was"
        del view
        assert watched[1]() is None
