from ._environment import (
    Environment as Environment,
)
from ._environment import (
    EpisodeState as EpisodeState,
)
from ._environment import (
    Step as Step,
)
from ._environment import (
    environment as environment,
)
from ._environment import (
    reset as reset,
)
from ._environment import (
    step as step,
)
from ._evaluation import evaluate as evaluate
from ._evaluation import state_values as state_values
from ._layout import Layout as Layout
from ._mdp import MDP as MDP
from ._simulation import (
    Satisfaction as Satisfaction,
)
from ._simulation import (
    Simulation as Simulation,
)
from ._simulation import (
    Trajectories as Trajectories,
)
from ._simulation import (
    satisfaction as satisfaction,
)
from ._simulation import (
    simulate as simulate,
)
