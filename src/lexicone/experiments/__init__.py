"""One file per figure or table of the paper: its settings, how to run it, and what the paper claims."""
