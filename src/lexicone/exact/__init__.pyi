from ._front import (
    Front as Front,
    Sensitivity as Sensitivity,
    pareto as pareto,
    sensitivity as sensitivity,
)
from ._linear_quadratic import LinearQuadraticSolution as LinearQuadraticSolution
from ._lvi import SlackPolicy as SlackPolicy, lvi as lvi
from ._solution import Solution as Solution, Status as Status
from ._solve import solve as solve
from ._solver import Solver as Solver
