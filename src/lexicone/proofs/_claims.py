"""What a verification says: each claim of a solution, whether it holds, and how surely."""

from dataclasses import dataclass

__all__ = ["Claim", "Verification"]


@dataclass(frozen=True)
class Claim:
    """One thing that a solution says of its model."""

    name: str
    """Such as "value of objective 1" or "bound on objective 2"."""
    holds: bool | None
    """True: proven. False: wrong, or not to be proven from what the solution gives. None: not looked at."""
    text: str
    """What was found, in a sentence."""
    error: float = 0.0
    """How far what is proven may be from the truth: rounding along the episode; 0 where nothing is rounded."""


@dataclass(frozen=True)
class Verification:
    """What `verify` found."""

    status: str
    """The solution's own."""
    claims: tuple[Claim, ...]
    exact: bool
    """Whether bounds and values were proven in whole numbers, without any rounding."""

    @property
    def ok(self) -> bool:
        """Whether every claim is proven."""
        return all(claim.holds for claim in self.claims)

    @property
    def refuted(self) -> tuple[Claim, ...]:
        """The claims that do not hold."""
        return tuple(claim for claim in self.claims if claim.holds is False)

    @property
    def message(self) -> str:
        """In a sentence: that all is proven, or the first claim that is not."""
        for claim in (*self.refuted, *(c for c in self.claims if c.holds is None)):
            return f"{claim.name}: {claim.text}"
        how = "in whole numbers" if self.exact else "in floating point"
        return f"all {len(self.claims)} claims are proven {how}"
