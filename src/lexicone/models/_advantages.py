"""Advantages along steps that go on from one episode into the next: generalised advantage estimates."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float

__all__ = ["sum_until_end"]


def sum_until_end(
    terms: Float[Array, "T N K"], ended: Bool[Array, "T N"], factor: Float[Array, ""] | float
) -> Float[Array, "T N K"]:
    """``A_t = x_t + factor·A_{t+1}``, and ``A_t = x_t`` where an episode ended with step t.

    With ``x_t = r_t + γ·V(s_{t+1}) − V(s_t)`` and the factor γλ these are the advantages of Schulman et al. (2016); V
    of what follows is 0 after a termination, and the value of the final state where an episode was only cut off.
    """

    def back(after: Array, now: tuple[Array, Array]) -> tuple[Array, Array]:
        own, last = now
        total = own + factor * jnp.where(last[:, None], 0.0, after)
        return total, total

    return jax.lax.scan(back, jnp.zeros_like(terms[0]), (terms, ended), reverse=True)[1]
