"""Several devices: eight virtual ones, in a process of their own, against one."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FLAGS = (
    "--xla_force_host_platform_device_count=8 --xla_cpu_use_fusion_emitters=false "
    "--xla_cpu_parallel_codegen_split_count=1"
)
SCRIPT = """
import json, sys
import jax, jax.numpy as jnp, numpy as np
import lexicone as lx
from lexicone.learning import _train_model
from lexicone.learning._devices import spread

def floats(trained):
    leaves = jax.tree.leaves(trained.run.states)
    return [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating)]

def joined(trained):
    return np.concatenate([np.ravel(leaf) for leaf in floats(trained)])

def training(**options):
    learner = lx.Reinforce(batch=4, hidden=(), dropout=0.0)
    return lx.train(lx.tasks.space_traders(), [0.88], learner, seeds=8, episodes=64, **options)

jax.config.update("jax_disable_most_optimizations", True)
many = training(checkpoint=sys.argv[1])
_train_model.spread = lambda runs, count: runs
one = training()
told = {
    "apart": float(np.abs(joined(many) - joined(one)).max()),
    "largest": float(np.abs(joined(one)).max()),
    "used": [max(len(leaf.devices()) for leaf in floats(each)) for each in (many, one)],
    "saved": float(np.abs(joined(lx.load(sys.argv[1])) - joined(many)).max()),
    "parts": [len(spread(jnp.zeros(count), count).devices()) for count in (8, 12, 14, 11)],
}
print(json.dumps(told))
"""


@pytest.mark.slow
def test_eight_devices_train_as_one_does(tmp_path):
    given = {**os.environ, "XLA_FLAGS": FLAGS, "JAX_PLATFORMS": "cpu"}
    given["PYTHONPATH"] = str(ROOT / "src")
    given.pop("JAX_ENABLE_X64", None)
    command = [sys.executable, "-W", "ignore", "-c", SCRIPT, str(tmp_path / "many.safetensors")]
    done = subprocess.run(command, env=given, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]
    told = json.loads(done.stdout)
    assert told["used"] == [8, 1]
    assert told["apart"] <= 1e-5 * told["largest"]
    assert told["saved"] == 0
    assert told["parts"] == [8, 6, 7, 1]  # as many as divide the runs
