"""``python -m lexicone`` is the command ``lexicone``."""

from lexicone.cli import main

main()
