"""Searches in graphs, against the transitive closure of the dense adjacency matrix."""

import numpy as np
from hypothesis import given, strategies as st
from scipy import sparse

from lexicone.models._reachability import reachable, steps_from, strong_components, towards


@st.composite
def marked_graphs(draw: st.DrawFn) -> tuple[np.ndarray, np.ndarray]:
    """A boolean adjacency matrix ``[S,S]`` and a mask of states, both of any density, empty ones included."""
    size = draw(st.integers(1, 9))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    edges = rng.random((size, size)) < draw(st.sampled_from([0.0, 0.1, 0.2, 0.4, 1.0]))
    return edges, rng.random(size) < draw(st.sampled_from([0.0, 0.3, 1.0]))


def walks(edges: np.ndarray) -> list[np.ndarray]:
    """``walks(edges)[n][s,t]``: whether a walk of exactly n edges leads from s to t, for n up to S."""
    found = [np.eye(len(edges), dtype=bool)]
    for _ in range(len(edges)):
        found.append(found[-1] @ edges)
    return found


@given(marked_graphs())
def test_what_is_reached_is_what_some_walk_reaches(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    edges, marked = drawn
    leads = np.any(walks(edges), axis=0)
    graph = sparse.csr_array(edges)
    np.testing.assert_array_equal(reachable(graph, marked), leads[marked].any(axis=0))
    np.testing.assert_array_equal(
        reachable(graph, marked, backward=True), leads[:, marked].any(axis=1)
    )


@given(marked_graphs())
def test_steps_are_those_of_the_shortest_walk(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    edges, marked = drawn
    away = steps_from(sparse.csr_array(edges), marked)
    reached = np.array([walk[marked].any(axis=0) for walk in walks(edges)])
    shortest = np.where(reached.any(axis=0), reached.argmax(axis=0), np.inf)
    np.testing.assert_array_equal(away, shortest)


@given(marked_graphs())
def test_each_next_state_is_one_step_nearer(drawn: tuple[np.ndarray, np.ndarray]) -> None:
    edges, marked = drawn
    graph = sparse.csr_array(edges)
    left = steps_from(sparse.csr_array(graph.T), marked)
    following = towards(graph, marked)
    on_the_way = np.isfinite(left) & ~marked
    np.testing.assert_array_equal(following >= 0, on_the_way)
    for state in np.flatnonzero(on_the_way):
        assert edges[state, following[state]]
        assert left[following[state]] == left[state] - 1


@given(marked_graphs())
def test_components_are_the_states_that_lead_to_each_other(
    drawn: tuple[np.ndarray, np.ndarray],
) -> None:
    edges, _ = drawn
    leads = np.any(walks(edges), axis=0)
    component, left = strong_components(sparse.csr_array(edges))
    together = component[:, None] == component[None]
    np.testing.assert_array_equal(together, leads & leads.T)
    leaves = (edges & ~together).any(axis=1)
    for number in range(len(left)):
        assert left[number] == leaves[component == number].any()


def test_an_edge_of_weight_0_counts() -> None:
    graph = sparse.csr_array(([0.0, 0.5], ([0, 1], [1, 2])), shape=(3, 3))
    first = np.array([True, False, False])
    assert reachable(graph, first).all()
    assert steps_from(graph, first).tolist() == [0, 1, 2]
    assert towards(graph, first[::-1]).tolist() == [1, 2, -1]
