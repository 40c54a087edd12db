"""Which states of a directed graph lead to which: the one search that all rooms use.

A graph is a sparse ``[S,S]`` matrix; a stored entry at ``[s,t]``, 0 included, is an edge from s to t.
"""

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.sparse import csgraph

__all__ = ["reachable", "steps_from", "strong_components", "towards", "without_doubles"]


def reachable(
    graph: sparse.csr_array, marked: Bool[np.ndarray, " S"], *, backward: bool = False
) -> Bool[np.ndarray, " S"]:
    """The marked states and all that edges lead to from them; ``backward``: all that edges lead from to them."""
    order, _ = _breadth_first(sparse.csr_array(graph.T) if backward else graph, marked)
    found = np.zeros(len(marked) + 1, dtype=bool)
    found[order] = True
    return found[:-1]


def towards(graph: sparse.csr_array, marked: Bool[np.ndarray, " S"]) -> Int[np.ndarray, " S"]:
    """For each state the next one on a shortest way to a marked state; −1 if it is marked or there is no way."""
    _, nearer = _breadth_first(sparse.csr_array(graph.T), marked)
    nearer = nearer[:-1]
    return np.where((nearer < 0) | (nearer == len(marked)), -1, nearer)


def steps_from(graph: sparse.csr_array, marked: Bool[np.ndarray, " S"]) -> Float[np.ndarray, " S"]:
    """How many edges the shortest way from a marked state has; ∞ where there is none."""
    if not marked.any():
        return np.full(len(marked), np.inf)
    sources = np.flatnonzero(marked)
    return csgraph.dijkstra(graph, indices=sources, unweighted=True, min_only=True)


def strong_components(
    graph: sparse.csr_array,
) -> tuple[Int[np.ndarray, " S"], Bool[np.ndarray, " C"]]:
    """The maximal sets of states that all lead to each other: each state's number, and which sets edges leave."""
    graph = without_doubles(graph)
    count, component = csgraph.connected_components(graph, connection="strong")
    source, target = (component[end] for end in graph.tocoo().coords)
    left = np.zeros(count, dtype=bool)
    left[source[source != target]] = True
    return component, left


def without_doubles(graph: sparse.csr_array) -> sparse.csr_array:
    """The same with each edge once, as SciPy's strong components need it; its searches do not."""
    if graph.has_canonical_format:
        return graph
    graph = graph.copy()
    graph.sum_duplicates()
    return graph


def _breadth_first(graph: sparse.csr_array, marked: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order and predecessors of a search that starts in one more state, number S, with edges to all marked ones."""
    count, starts = len(marked), np.flatnonzero(marked)
    ends = np.append(graph.indptr, graph.indptr[-1] + len(starts)).astype(np.int32)
    targets = np.concatenate([graph.indices, starts], dtype=np.int32, casting="unsafe")
    edges = (np.ones(len(targets)), targets, ends)
    return csgraph.breadth_first_order(sparse.csr_array(edges, shape=(count + 1, count + 1)), count)
