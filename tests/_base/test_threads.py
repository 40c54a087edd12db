import numpy as np
import pytest
from threadpoolctl import threadpool_info, threadpool_limits

import lexicone as lx
from lexicone._base.threads import one_thread


def blas_threads() -> list[int]:
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


@pytest.fixture(autouse=True)
def two_threads():
    """As users have it, whatever the machine: more than one thread in each pool."""
    with threadpool_limits(2, user_api="blas"):
        assert set(blas_threads()) == {2}
        yield


def test_one_thread_inside_and_as_many_as_before_afterwards():
    with one_thread():
        with one_thread():
            assert set(blas_threads()) == {1}
        assert set(blas_threads()) == {1}
    assert set(blas_threads()) == {2}


def test_an_error_lifts_the_limit():
    with pytest.raises(ZeroDivisionError), one_thread():
        raise ZeroDivisionError
    assert set(blas_threads()) == {2}


@pytest.mark.parametrize("method", ["lp", "columns"])
def test_solve_wakes_no_threads(method):
    seen = []
    mdp = lx.tasks.garnet(40)
    lx.solve(
        mdp,
        lx.Order([1.0, 1.0]),
        gamma=0.9,
        method=method,
        progress=lambda line: seen.extend(blas_threads()),
    )
    assert set(seen) == {1}
    assert set(blas_threads()) == {2}


@pytest.mark.parametrize(
    "work",
    [
        lambda mdp, order: lx.pareto(mdp, gamma=0.9, points=2),
        lambda mdp, order: lx.sensitivity(mdp, order, 0, gamma=0.9, thresholds=[0.0]),
        lambda mdp, order: lx.lvi(mdp, [0.1], gamma=0.9),
        lambda mdp, order: lx.search(mdp, order, gamma=0.9),
        lambda mdp, order: lx.evaluate(mdp, np.zeros(mdp.num_states, int), gamma=0.9),
    ],
    ids=["pareto", "sensitivity", "lvi", "search", "evaluate"],
)
def test_systems_are_solved_with_one_thread(work, monkeypatch):
    """Wherever a chain is solved, in whatever function."""
    from lexicone.models import _chain

    seen = []
    factorise = _chain._factorise

    def watched(*system):
        seen.extend(blas_threads())
        return factorise(*system)

    monkeypatch.setattr(_chain, "_factorise", watched)
    work(lx.tasks.garnet(160, num_objectives=2), lx.Order([1.0]))
    assert set(seen) == {1}
    assert set(blas_threads()) == {2}
