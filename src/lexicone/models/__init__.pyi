from ._environment import (
    Environment as Environment,
    EpisodeState as EpisodeState,
    Step as Step,
    environment as environment,
    reset as reset,
    step as step,
)
from ._evaluation import evaluate as evaluate, state_values as state_values
from ._layout import Layout as Layout
from ._linear_quadratic import LinearQuadratic as LinearQuadratic
from ._mdp import MDP as MDP
from ._properties import order_of as order_of
from ._simulation import (
    Satisfaction as Satisfaction,
    Simulation as Simulation,
    Trajectories as Trajectories,
    satisfaction as satisfaction,
    simulate as simulate,
)
