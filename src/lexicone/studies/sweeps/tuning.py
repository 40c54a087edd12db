"""Settings that follow from what was tried before: Optuna's samplers (extra ``tune``), with the order as the judge.

Optuna wants a number for each trial. It gets the trial's *standing*: the probability that one of its seeds is better,
by the order, than one drawn from all trials so far. No weights are involved, and no threshold is traded for another
objective, as a sum of violations would (Optuna's constraints make one). All samplers here look at how trials compare
alone, or nearly so. A standing changes with every new trial, so that the storage tells the samplers those of now.

What is asked next follows from the seed and from the outcomes before. Nothing of Optuna's is kept: a search that goes
on asks again from the beginning, and finds the outcomes in the study's store.
"""

import copy
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from lexicone.studies.sweeps.ranges import is_whole, rounded

__all__ = ["Tuner"]

_SAMPLERS = {
    "tune": "TPESampler",
    "tpe": "TPESampler",
    "gp": "GPSampler",
    "qmc": "QMCSampler",
    "nsga2": "NSGAIISampler",
}


class Tuner:
    """Asks one of Optuna's samplers for settings of one learner on one task."""

    def __init__(self, search: str, ranges: Mapping[str, Any], seed: int) -> None:
        try:
            import optuna  # pyright: ignore[reportMissingImports]: an extra
        except ImportError:
            raise ValueError(
                f'search: {search!r} needs the extra tune: pip install "lexicone[tune]"'
            ) from None
        self._optuna, self._ranges, self._search = optuna, ranges, search
        optuna.logging.set_verbosity(optuna.logging.ERROR)
        self._standings: list[float] = []
        with self._told():
            sampler = getattr(optuna.samplers, _SAMPLERS[search])(seed=seed)
            self._study = optuna.create_study(
                storage=_storage(optuna, self._standings), sampler=sampler, direction="maximize"
            )
        self._wanted = {name: _distribution(optuna, choice) for name, choice in ranges.items()}

    def ask(self, count: int) -> list[dict[str, Any]]:
        """The settings of so many trials, which will be told in the same sequence."""
        with self._told():
            trials = [self._study.ask(self._wanted) for _ in range(count)]
        return [
            {name: _chosen(choice, trial.params[name]) for name, choice in self._ranges.items()}
            for trial in trials
        ]

    def tell(self, standings: Sequence[float]) -> None:
        """How all trials that were asked for stand by now, the newest last."""
        first = len(self._standings)
        self._standings[:] = standings
        with self._told():
            for number in range(first, len(standings)):
                self._study.tell(number, standings[number])

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What a sampler lacks is told as a mistake in ``search``; that it is new, not at all."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                yield
            except ImportError as error:
                raise ValueError(
                    f"search: {self._search!r} needs more than Optuna: {error}"
                ) from None


def _distribution(optuna: Any, choice: Any) -> Any:
    """A range, or places in a list: what stands there may be anything."""
    if not isinstance(choice, Mapping):
        return optuna.distributions.CategoricalDistribution(tuple(range(len(choice))))
    log = bool(choice.get("log"))
    if is_whole(choice):
        return optuna.distributions.IntDistribution(choice["low"], choice["high"], log=log)
    return optuna.distributions.FloatDistribution(choice["low"], choice["high"], log=log)


def _chosen(choice: Any, drawn: Any) -> Any:
    return rounded(drawn, choice) if isinstance(choice, Mapping) else choice[drawn]


def _storage(optuna: Any, standings: list[float]) -> Any:
    """Optuna's memory, in which finished trials have the standings of now."""

    class Standing(optuna.storages.InMemoryStorage):
        def get_all_trials(self, *given: Any, **options: Any) -> list[Any]:
            trials = super().get_all_trials(*given, **options)
            return [self._of_now(t) if t.state.is_finished() else t for t in trials]

        def _of_now(self, trial: Any) -> Any:
            trial = copy.copy(trial)
            trial.values = [standings[trial.number]]
            return trial

    return Standing()
