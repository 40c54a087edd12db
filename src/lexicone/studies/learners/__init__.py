"""Which learner succeeds where, and how dependably."""
