"""Training: the program's trainer, in the program's run folders, from Python."""

import contextlib
import logging
import signal
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from os import PathLike
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

from . import _core
from ._batch import Batch
from ._foreign import Environments
from ._own import own_envs
from ._run import Run
from ._spec import Spec

_log = logging.getLogger("equimarl")
#: Lines of progress come at most this often, in seconds.
_BETWEEN = 0.5


@dataclass(frozen=True)
class Update:
    """How a run stands after an update: a rollout in all environments, and what was learned from it."""

    #: Environment steps so far, and in all.
    steps: int
    total: int
    #: Training episodes so far.
    episodes: int
    #: The mean return of the last 100 of them; not a number before the first has ended.
    mean_return: float
    #: The mean of what the world measures first, if that is not the return.
    measure: float
    loss: float
    policy_loss: float
    value_loss: float
    entropy: float
    approx_kl: float
    clip_fraction: float
    gradient_norm: float
    explained_variance: float
    #: Seconds since training began, or went on.
    seconds: float


Callback = Callable[[Update], bool | np.bool_ | None]


def train(
    world: Any,
    method: str = "equivariant",
    *,
    spec: Spec | None = None,
    out: str | PathLike[str] | None = None,
    steps: int | None = None,
    seed: int = 0,
    learning_rate: float | None = None,
    group: str | None = None,
    preset: str = "default",
    callback: Callback | None = None,
    progress: bool | None = None,
    **settings: bool | int | float | str,
) -> Run:
    """Trains a team, and gives its run.

    `world` is one of

    - the name of a world, whose options are keyword arguments: ``train("wildlife", drones=4)``;
    - a PettingZoo ``ParallelEnv``, or anything with its methods, with its `spec`. It is copied, and stays as it is;
    - a function that makes such environments, if they cannot be copied.

    `method` is ``equivariant`` (a network that has the symmetry), ``plain``, ``augment-full``, ``augment-random``, or ``relaxed`` for a
    symmetry that is not quite one, with ``plain-wide`` to compare it with; worlds of ours also have ``cause`` and ``subgroup``, and the central ones of the paper. Everything else that the trainer knows is a keyword argument, too:
    ``discount``, ``environments``, ``rollout``, ``evaluate_every``, ...; ``preset="paper"`` are those of the paper.

    The run stands in the folder `out` (by default ``runs/WORLD-METHOD-SEED``), as the program `equimarl` writes it: its `report` and
    `view` show it. The same settings and the same seed give the same bits, here and there.

    `callback` hears of every update; when it returns False, training stops, with a checkpoint. So does what it raises, which then
    comes through; and Ctrl-C, which raises KeyboardInterrupt. `resume` goes on. What an environment raises comes through as it
    is, too; the run then goes on from its last checkpoint. A run that fails before its first update leaves nothing.

    >>> import equimarl, tempfile
    >>> folder = tempfile.mkdtemp()
    >>> run = equimarl.train("wildlife", "plain", drones=2, grid=5, steps=800, out=folder + "/a", evaluate_episodes=10)
    >>> run.finished, run.summary["steps"]
    (True, 800)
    >>> equimarl.train("wildlife", drone=2)
    Traceback (most recent call last):
    ValueError: there is no setting `drone`; did you mean `drones`, an option of wildlife?
    """
    _check_callback(callback)
    if "resume" in settings:
        raise TypeError("training begins a run; equimarl.resume(run) goes on with one")
    # Two settings have names that Python keeps for itself.
    settings = {{"lambda_": "lambda", "from_": "from"}.get(key, key): value for key, value in settings.items()}
    given: dict[str, Any] = {"seed": seed, **settings}
    for key, value in (("steps", steps), ("learning_rate", learning_rate), ("group", group)):
        if value is not None:
            given[key] = value
    folder = None if out is None else Path(out)
    if isinstance(world, Batch):
        raise TypeError("a Batch is stepped by whoever has it; give the name of its world and its options, train(\"wildlife\", drones=4)")
    if isinstance(world, str) or own_envs(world) is not None:
        if spec is not None:
            raise ValueError("`spec` is for environments; worlds by name have their own")
        if not isinstance(world, str):
            if world.max_cycles is not None:
                raise ValueError(
                    f"`max_cycles` is {world.max_cycles}, and training has the world's own limit; leave it out, or give a `spec` with "
                    "`max_steps` and a function that makes the environment"
                )
            given = {**world._envs.options, **given}
            world = world._world
        made = _core.begin(folder, world, None, method, preset, given)
        return _first(Path(made), None, callback, progress)
    environments = _environments(world, spec)
    try:
        made = _core.begin(folder, environments.name, environments.world, method, preset, given)
        return _first(Path(made), environments.world, callback, progress)
    except BaseException as error:
        _close_after(environments, error)
        raise
    finally:
        environments.close()


def resume(
    run: str | PathLike[str] | Run,
    env: Any = None,
    *,
    spec: Spec | None = None,
    steps: int | None = None,
    callback: Callback | None = None,
    progress: bool | None = None,
) -> Run:
    """Goes on with a run from its last checkpoint.

    A run in an environment of your own needs that, and its `spec`, once more. With more `steps` than it was made for it goes on
    after its end, if its learning rate does not fall (``decay=False``).

    Worlds of ours go on from the very state, so that the bits are those of a run that never stopped. Other environments begin
    new episodes.
    """
    _check_callback(callback)
    folder = (run if isinstance(run, Run) else Run(run)).path
    environments = None if env is None or own_envs(env) is not None else _environments(env, spec)
    try:
        world = None if environments is None else environments.world
        if steps is not None:
            _core.extend(folder, world, steps)
        return _run(folder, world, callback, progress)
    except BaseException as error:
        if environments is not None:
            _close_after(environments, error)
        raise
    finally:
        if environments is not None:
            environments.close()


def _close_after(environments: Any, error: BaseException) -> None:
    """Closes what is broken. What broke it is what is raised; that it does not close either is a note."""
    try:
        environments.close()
    except Exception as failed:
        error.add_note(f"closing the environments failed as well: {failed!r}")


def _check_callback(callback: Any) -> None:
    """Refuses now what would fail after the first update."""
    if callback is not None and not callable(callback):
        raise TypeError(f"`callback` is {callback!r}; it must be a function of an equimarl.Update")


def _environments(env: Any, spec: Spec | None) -> Environments:
    if spec is None:
        raise TypeError(
            "an environment needs `spec=equimarl.Spec(...)`: how its symmetry acts on what agents see and do"
            if hasattr(env, "step") or callable(env)
            else f"a world is a name, an environment, or a function that makes environments, not {type(env).__name__}"
        )
    if not isinstance(spec, Spec):
        raise TypeError(f"`spec` must be an equimarl.Spec, not {type(spec).__name__}")
    return Environments(env, spec)


class _Interrupt:
    """Ctrl-C is heard between two steps, so that a checkpoint can be written; a second one is not waited for."""

    def __init__(self, stop: _core.Stop) -> None:
        self.heard = False
        self._stop = stop
        self._installed = False

    def __enter__(self) -> "_Interrupt":
        here = threading.current_thread() is threading.main_thread()
        # Somebody's own handler stays; what it raises stops training, too.
        if here and signal.getsignal(signal.SIGINT) is signal.default_int_handler:
            signal.signal(signal.SIGINT, self._handle)
            self._installed = True
        return self

    def __exit__(self, *_: object) -> None:
        if self._installed:
            signal.signal(signal.SIGINT, signal.default_int_handler)

    def _handle(self, _number: int, _frame: FrameType | None) -> None:
        if self.heard:
            raise KeyboardInterrupt
        self.heard = True
        self._stop.ask()


def _first(folder: Path, world: _core.ForeignWorld | None, callback: Callback | None, progress: bool | None) -> Run:
    """The same for a run that has just been made: if it fails before there is anything to go on from, it is as if it had never been."""
    try:
        return _run(folder, world, callback, progress)
    except BaseException:
        if not _anything(folder):
            for name in ("config.toml", "spec.json", "metrics.jsonl"):
                (folder / name).unlink(missing_ok=True)
            for empty in (folder / "checkpoint", folder):
                # Somebody else's files stay.
                with contextlib.suppress(OSError):
                    empty.rmdir()
        raise


def _anything(folder: Path) -> bool:
    """Whether a run has come to a checkpoint, or to a line of its curve."""
    metrics, checkpoints = folder / "metrics.jsonl", folder / "checkpoint"
    return (metrics.exists() and metrics.stat().st_size > 0) or (checkpoints.is_dir() and any(checkpoints.iterdir()))


def _run(folder: Path, world: _core.ForeignWorld | None, callback: Callback | None, progress: bool | None) -> Run:
    run = Run(folder)
    total = int(run.config["steps"])
    show = _Line(total) if (sys.stderr.isatty() if progress is None else progress) else None
    began = time.monotonic()

    def hear(what: str, steps: int, episodes: int, said: Any) -> bool | None:
        if what == "warning":
            _log.warning("%s", said)
        elif what == "resumed":
            _log.info("going on after %d steps", steps)
        elif what == "update":
            update = Update(steps, total, episodes, seconds=time.monotonic() - began, **said)
            if show is not None:
                show(update)
            if callback is not None:
                answer = callback(update)
                # Only False means to stop; nothing, or anything else, does not.
                return False if isinstance(answer, bool | np.bool_) and not answer else None
        return None

    stop = _core.Stop()
    try:
        with _Interrupt(stop) as interrupt:
            _core.train(folder, world, stop, hear)
    finally:
        if show is not None:
            show.close()
    if interrupt.heard:
        raise KeyboardInterrupt(
            f"stopped with a checkpoint; equimarl.resume({str(folder)!r}) goes on"
            if _anything(folder)
            else "stopped before the first update, so there is nothing to go on from"
        )
    return run


class _Line:
    """Progress in one line of the terminal."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._last = 0.0
        self._shown = False

    def __call__(self, update: Update) -> None:
        now = time.monotonic()
        if now - self._last < _BETWEEN and update.steps < self._total:
            return
        self._last, self._shown = now, True
        rate = update.steps / max(update.seconds, 1e-9)
        text = f"{update.steps:,} of {self._total:,} steps  {rate:,.0f}/s  return {update.mean_return:.3f}"
        print(f"\r{text:<70}", end="", file=sys.stderr, flush=True)

    def close(self) -> None:
        """Ends the line."""
        if self._shown:
            print(file=sys.stderr)
