"""Studies: one file per figure or table of the paper, and ours: settings, how to run it, what is claimed."""
