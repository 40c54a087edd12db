"""The settings of the study of TLQ, apart from what it imports, so that the command line can list them at once."""

from dataclasses import dataclass

from lexicone._base.checks import check_range, check_seed

__all__ = ["Tlq"]


@dataclass(frozen=True)
class Tlq:
    """How closely to look."""

    points: int = 41
    """Points on each axis of a map."""
    tables: int = 60
    """Random initial tables for informed targets."""
    leaves: int = 8
    """Desired leaves of the fruit tree, 1 to 32."""
    seeds: int = 10
    """Learning runs for each leaf."""
    steps: int = 100_000
    """Steps of each learning run."""
    seed: int = 0
    """Seed of tables, leaves and runs."""

    def check(self) -> None:
        """Raise a ValueError that names what is wrong."""
        for name, least in (
            ("points", 2),
            ("tables", 1),
            ("leaves", 1),
            ("seeds", 1),
            ("steps", 1),
        ):
            check_range(name, getattr(self, name), least, whole=True)
        if self.leaves > 32:
            raise ValueError(f"leaves: the tree has 32 of them, got {self.leaves}")
        check_seed(self.seed)
