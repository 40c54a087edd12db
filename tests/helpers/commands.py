"""The command line inside a test, and what a fresh interpreter has imported."""

import subprocess
import sys

from lexicone import cli


def run(arguments, capsys):
    """Exit code, output and errors of the command line."""
    try:
        cli.main(arguments)
        code = 0
    except SystemExit as exit:
        code = exit.code
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def modules_after(code):
    program = f"import sys\n{code}\nprint('jax' in sys.modules, 'torch' in sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return done.stdout.splitlines()[-1]
