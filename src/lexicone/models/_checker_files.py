"""What model checkers read and write: an `MDP` from their files, and models and policies as files for them."""

import os
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    from lexicone.models._mdp import MDP

__all__ = ["CheckerFiles"]


class CheckerFiles:
    """The part of an `MDP` that knows Storm's and PRISM's formats."""

    @classmethod
    def from_drn(
        cls, path: str | os.PathLike[str], objectives: Any, *, discounted: bool = False
    ) -> "MDP":
        """From a file in Storm's explicit text format, with PRISM properties as objectives, most important first.

        Values are those of the properties, minus what is minimised: `order_of` makes the order that says so. Which
        goals have been reached is remembered in the states where it matters. Storm is not needed.

        Args:
            path: the ``.drn`` file of an MDP (or a Markov chain) with one initial state.
            objectives: a list of properties, or a mapping from names to them: ``Pmax=? [F "goal"]``, ``Pmin=?``, also
                of ``"left" U "goal"`` and ``G "safe"``; ``R{"cost"}min=? [F "goal"]``; ``R{"cost"}max=? [C]``, in
                total. Formulas are made of labels, ``true``, ``false``, ``&``, ``|``, ``!`` and parentheses.
            discounted: for use with gamma below 1. Without, rewards of one kind must have one sign, and where rewards
                count until a goal is reached, policies have to reach it with probability 1: all else counts as −∞.
        """
        from lexicone.models._product import read_model

        return read_model("drn", path, objectives, discounted)

    @classmethod
    def from_umb(
        cls, path: str | os.PathLike[str], objectives: Any, *, discounted: bool = False
    ) -> "MDP":
        """The same from a UMB file, which Storm 2, PRISM and Modest write: raw arrays, so the quickest to read."""
        from lexicone.models._product import read_model

        return read_model("umb", path, objectives, discounted)

    @classmethod
    def from_storm(cls, model: Any, objectives: Any, *, discounted: bool = False) -> "MDP":
        """The same from a sparse model of stormpy, as ``stormpy.build_model`` makes it."""
        from lexicone.models._storm import from_storm

        return from_storm(model, objectives, discounted)

    @classmethod
    def from_prism(
        cls,
        path: str | os.PathLike[str],
        objectives: Any,
        *,
        constants: Any = None,
        discounted: bool = False,
    ) -> "MDP":
        """The same from a PRISM or JANI file (``.jani``), which Storm builds: needs the extra ``storm``.

        Args:
            path: the file.
            objectives: properties, as in `from_drn`.
            constants: values of what the file leaves open, by name.
            discounted: as in `from_drn`.
        """
        from lexicone.models._storm import from_prism

        return from_prism(path, objectives, constants, discounted)

    def to_drn(self, path: str | os.PathLike[str], policy: Any = None) -> None:
        """Write the model in Storm's explicit text format; with a policy, the Markov chain that it makes.

        Rewards are those of choices, on average. An objective that only ever pays (no reward above 0) is written as a
        cost, with its own sign, since Storm takes no rewards below 0. Names are cut down to letters, digits and ``_``.
        Terminal states loop and have the label ``end``. More than one start becomes one more state, the last.
        """
        from lexicone.models._drn_writer import write_drn

        write_drn(path, self, policy)

    def write_policy(
        self,
        path: str | os.PathLike[str],
        policy: Any,
        form: Literal["csv", "json", "storm"] | None = None,
    ) -> None:
        """Write a policy, or that of a `Solution`, as a table of states, actions and probabilities.

        Args:
            path: the file.
            policy: probabilities ``[S,A]``, an action for each state ``[S]``, or what has them as ``policy``.
            form: "csv" or "json" with the states and actions of this model; "storm", the JSON in which Storm writes
                schedulers, with the states and choices of the model that was read (see `from_drn`). By default what
                the path ends with says it.
        """
        from lexicone.models._policy_files import write_policy

        write_policy(path, self, policy, form)
