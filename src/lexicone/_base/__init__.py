"""Leaf helpers that every room may use: arrays, files, checkpoints, checks, progress. Nothing here is public."""
