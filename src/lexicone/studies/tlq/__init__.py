"""Where thresholded Q-learning works and fails: the paper's claims, computed."""
