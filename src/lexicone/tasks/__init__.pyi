from ._car_following import car_following as car_following
from ._dam import dam as dam
from ._deep_sea_treasure import deep_sea_treasure as deep_sea_treasure
from ._fruit_tree import fruit_tree as fruit_tree
from ._garnet import garnet as garnet
from ._grid import grid as grid
from ._maze import MAZES as MAZES, Tile as Tile, maze as maze, parse_maze as parse_maze
from ._mountain_car import mountain_car as mountain_car
from ._point_robot import point_robot as point_robot
from ._registry import TASKS as TASKS, Task as Task, find as find, make as make
from ._resource_gathering import resource_gathering as resource_gathering
from ._road_trip import road_trip as road_trip
from ._space_traders import space_traders as space_traders
from ._suspension import suspension as suspension
from ._world import (
    BoxWorld as BoxWorld,
    LinearWorld as LinearWorld,
    Optimum as Optimum,
    World as World,
)
from ._worlds import WORLDS as WORLDS, known_optimum as known_optimum, world as world
