"""Studies of one's own: tasks × learners × settings over many seeds, kept cell by cell, with statistics that hold."""
