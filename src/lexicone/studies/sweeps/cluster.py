"""Studies on a Ray cluster (extra ``cluster``): each group of cells is a task that Ray places, and repeats if it dies.

Workers write results to the study's folder, which must be on storage that all of them share; nothing comes back to the
driver but that a group is done. So a driver that is killed and started again finds all that was finished, and a group
that was under way goes on from its checkpoint. Few groups are under way at once, so that memory stays bounded.
"""

import os
from collections.abc import Sequence
from typing import Any

from rich.console import Console

from lexicone._base.progress import progress_bars
from lexicone.studies.sweeps.cells import AnyCell
from lexicone.studies.sweeps.running import run_group
from lexicone.studies.sweeps.store import Store

__all__ = ["run_on_ray"]

_AHEAD = 2  # groups for each processor that wait their turn


def run_on_ray(
    groups: Sequence[Sequence[AnyCell]],
    store: Store,
    address: bool | str,
    *,
    progress: bool = False,
    console: Console | None = None,
    cpus: float = 1,
    gpus: float = 0,
) -> None:
    """All groups that are not done yet; a ValueError names what is missing for it.

    Args:
        groups: of cells.
        store: on shared storage.
        address: of the cluster; True starts one on this machine, unless this process is connected to one.
        progress: show a progress bar.
        console: where.
        cpus: that each group takes.
        gpus: likewise.
    """
    try:
        import ray  # pyright: ignore[reportMissingImports]: an extra
    except ImportError:
        raise ValueError('ray: is not installed: pip install "lexicone[cluster]"') from None
    if store.folder is None:
        raise ValueError("out: a study on a cluster needs a folder that all its machines share")
    folder = os.path.abspath(store.folder)
    if not ray.is_initialized():
        where = "local" if isinstance(address, bool) else address
        try:
            ray.init(address=where, log_to_driver=False)
        except (ConnectionError, ValueError, RuntimeError) as error:
            raise ValueError(f"ray: cannot connect to {address!r}: {error}") from None
    remote: Any = ray.remote(num_cpus=cpus, num_gpus=gpus, max_retries=-1)(_work)
    waiting = [group for group in groups if any(c.found(store) is None for c in group)]
    most = _AHEAD * max(1, int(ray.cluster_resources().get("CPU", 1) / max(cpus, 0.1)))
    with progress_bars(console) as bars:
        whole = bars.add_task("cells on Ray", total=sum(map(len, waiting)), visible=progress)
        under_way: dict[Any, int] = {}
        waiting = waiting[::-1]
        while waiting or under_way:
            while waiting and len(under_way) < most:
                group = waiting.pop()
                under_way[remote.remote(group, folder)] = len(group)
            done, _ = ray.wait(list(under_way), timeout=1.0)
            for one in done:
                bars.advance(whole, under_way.pop(one))
                ray.get(one)  # raises what the group has raised


def _work(group: Sequence[AnyCell], folder: str) -> None:
    """On a worker."""
    run_group(group, Store(folder))
