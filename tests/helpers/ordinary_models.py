"""Models as people bring them: stock, queues, machines that wear, long walks, loops behind costs.

Rewards are of very different sizes, probabilities come from Poisson tails, maxima are met exactly: what a
solver meets in practice and random tables do not have. `a_model` draws one of them.
"""

import numpy as np
from scipy.stats import poisson

from lexicone.models._mdp import MDP

DISCOUNTED = ("inventory", "queue", "maintenance", "walk", "chance")
UNDISCOUNTED = ("queue", "maintenance", "walk", "chance")


def a_model(rng, family):
    """One model of the family, of at most some hundred states."""
    return {
        "inventory": lambda: inventory(
            int(rng.integers(4, 14)), int(rng.integers(1, 5)), rng.uniform(1, 6), rng=rng
        ),
        "queue": lambda: queue(int(rng.integers(3, 30)), rng.uniform(0.1, 0.6), rng),
        "maintenance": lambda: maintenance(int(rng.integers(3, 20)), rng),
        "walk": lambda: walk(int(rng.integers(5, 60)), rng.uniform(0.35, 0.65), rng),
        "toll": lambda: toll(rng),
        "chance": lambda: chance(rng),
    }[family]()


def inventory(most, wear, demand, *, price=10.0, rng=None):
    """Stock 0…most × wear of the machine 0…wear−1; order any number of units up to 7, or repair.

    Objectives: demand served (of 100), profit, orders placed. Poisson demand. The machine wears with each
    order and halves what arrives once it is worn out.
    """
    rng = np.random.default_rng(0) if rng is None else rng
    stock, worn = np.divmod(np.arange((most + 1) * wear), wear)
    sizes = np.arange(0, min(most, 7) + 1)
    count, actions = len(stock), len(sizes) + 1
    chance = poisson.pmf(np.arange(most + 1), demand)
    tail = poisson.sf(np.arange(most + 1) - 1, demand)  # at least that much
    served = np.array(
        [poisson.pmf(np.arange(s), demand) @ np.arange(s) + tail[s] * s for s in range(most + 1)]
    )
    transition, reward = np.zeros((count, actions, count)), np.zeros((count, actions, 3))
    cost, holding = rng.uniform(2, 8), rng.uniform(0.05, 0.5)
    for n, (s, w) in enumerate(zip(stock, worn, strict=True)):
        for a in range(actions):
            repair = a == len(sizes)
            size = 0 if repair else sizes[a]
            arrives = size // 2 if w == wear - 1 and wear > 1 else size
            there = min(most, s + arrives)
            then = {0: 1.0} if repair else {w: 1.0}
            if size and w < wear - 1:
                then = {w: 0.7, w + 1: 0.3}
            for after, share in then.items():
                for d in range(there):
                    transition[n, a, (there - d) * wear + after] += share * chance[d]
                transition[n, a, after] += share * tail[there]
            lost = demand - served[there]
            reward[n, a] = (
                -lost,
                price * served[there] - cost * arrives - holding * there - 20 * repair,
                -float(size > 0) - 3 * repair,
            )
    initial = np.zeros(count)
    initial[most // 2 * wear] = 1.0
    return MDP.from_dense(transition, reward, initial, np.zeros(count, dtype=bool))


def queue(room, arrival, rng):
    """Two servers' speeds to choose from, customers that are turned away, energy that costs; may close (the end)."""
    speeds = np.sort(rng.uniform(0.05, 0.95, 3))
    count = room + 2
    transition, reward = np.zeros((count, 4, count)), np.zeros((count, 4, 3))
    for s in range(room + 1):
        for a, speed in enumerate(speeds):
            done = speed if s else 0.0
            up, down = arrival * (1 - done), done * (1 - arrival)
            transition[s, a, min(room, s + 1)] += up
            transition[s, a, max(0, s - 1)] += down
            transition[s, a, s] += 1 - up - down
            reward[s, a] = (-float(s == room) * arrival, -float(s), -(speed**2))
        transition[s, 3, room + 1] = 1.0
        reward[s, 3] = (-rng.integers(0, 2) * 5.0 - 2.0 * s, -10.0, -1.0)
    initial = np.zeros(count)
    initial[0] = 1.0
    end = np.arange(count) == room + 1
    transition[end], reward[end] = 0.0, 0.0
    return MDP.from_dense(transition, reward, initial, end)


def maintenance(ages, rng):
    """A machine that breaks with a small probability that grows with its age: run, run gently, replace, retire.

    Objectives: breakdowns (probabilities of 1e-2 down to 1e-9), output, money spent.
    """
    count = ages + 1
    transition, reward = np.zeros((count, 4, count)), np.zeros((count, 4, 3))
    risk = 10.0 ** rng.uniform(-9, -2) * 2.0 ** np.arange(ages)
    risk = np.minimum(risk, 0.5)
    for s in range(ages):
        for a, (stress, output) in enumerate(((1.0, 1.0), (0.3, 0.6))):
            broken = risk[s] * stress
            transition[s, a, min(ages - 1, s + 1)] += 1 - broken
            transition[s, a, 0] += broken
            reward[s, a] = (-broken, output, -50 * broken)
        transition[s, 2, 0] = 1.0
        reward[s, 2] = (0.0, -0.5, -10.0)
        transition[s, 3, ages] = 1.0
        reward[s, 3] = (0.0, -1.0, 0.0)
    end = np.arange(count) == ages
    return MDP.from_dense(transition, reward, np.eye(count)[0], end)


def walk(length, up, rng, *, cheap=0.5):
    """A random walk from 0 to ``length``, two ways of stepping; the episode ends at the top.

    Objectives: steps (−1 each), and pay of the second way of stepping. With ``up`` below a half, episodes are long:
    their length grows as ``((1−up)/up)^length``.
    """
    count = length + 1
    transition, reward = np.zeros((count, 2, count)), np.zeros((count, 2, 2))
    for s in range(length):
        for a, p in enumerate((up, cheap * up)):
            transition[s, a, s + 1] += p
            transition[s, a, max(0, s - 1)] += 1 - p
            reward[s, a] = (-1.0, rng.uniform(0, 1) * a)
    end = np.arange(count) == length
    return MDP.from_dense(transition, reward, np.eye(count)[0], end)


def toll(rng):
    """Loops that pay or cost, each behind a toll that is met some steps after the choice; integer rewards, ties."""
    loops, objectives = int(rng.integers(1, 4)), int(rng.integers(2, 4))
    delay = int(rng.integers(0, 3))
    count = 2 + loops * (delay + 1)
    actions = loops + 2
    end = count - 1
    transition, reward = np.zeros((count, actions, count)), np.zeros((count, actions, objectives))
    small = lambda: rng.integers(-2, 3, objectives) * (rng.random(objectives) < 0.6)  # noqa: E731
    transition[0, :, end] = 1.0
    reward[0, 0], reward[0, 1] = 0.0, small()
    for k in range(loops):
        first = 1 + k * (delay + 1)
        transition[0, 2 + k] = np.eye(count)[first]
        reward[0, 2 + k] = small() * (delay == 0)
        for step in range(delay):
            transition[first + step, :, first + step + 1] = 1.0
            reward[first + step] = small() if step == delay - 1 else 0.0
        place = first + delay
        transition[place, :, place] = 1.0
        reward[place] = small()
        for a, target in ((0, end), (1, 0)):
            if rng.random() < 0.5:
                transition[place, a] = np.eye(count)[target]
                reward[place, a] = small()
    terminal = np.arange(count) == end
    transition[terminal], reward[terminal] = 0.0, 0.0
    return MDP.from_dense(transition, reward, np.eye(count)[0], terminal)


def chance(rng):
    """A goal that is missed with very small probabilities, against time: values of 1e-3 down to 1e-9."""
    steps = int(rng.integers(2, 8))
    count = steps + 2
    transition, reward = np.zeros((count, 3, count)), np.zeros((count, 3, 2))
    miss = 10.0 ** rng.uniform(-9, -3, (steps, 3))
    for s in range(steps):
        for a in range(3):
            transition[s, a, s + 1] += 1 - miss[s, a]
            transition[s, a, steps + 1] += miss[s, a]
            reward[s, a, 1] = -float(rng.integers(1, 9))
    transition[steps + 1, :, steps] = 1.0
    reward[steps + 1, :, 0] = -1.0
    end = np.arange(count) == steps
    transition[end] = 0.0
    return MDP.from_dense(transition, reward, np.eye(count)[0], end)
