#!/bin/sh
# The study behind docs/learners.md, cell by cell into one file; about two hours on two cores.
# Cells that experiments/learners/results.json already has are not run again. With other settings
# than those in the file (a newer learner, say) they are.
set -e
cd "$(dirname "$0")/.."
study() { lexicone compare-learners --seed 1 --out experiments/learners "$@"; }

study --seeds 100 --learners ppo a2c --tasks exp1 exp1-expected exp1-low exp1-low-expected exp2 exp2-expected space-traders
study --seeds 30 --learners reinforce --tasks exp1 exp2
study --seeds 10 --learners half-space lagrangian linear penalty --tasks exp1 exp1-low-expected exp2 space-traders
study --seeds 30 --learners ppo a2c --tasks fruit-tree --leaves 20
study --seeds 30 --learners ppo --tasks delta --leaves 20
study --seeds 10 --learners ppo a2c --tasks treasure
study --seeds 10 --learners ppo --tasks fruit-tree-6 fruit-tree-7 --leaves 4
study --report
mv experiments/learners/*.png docs/figures/
rm experiments/learners/*.svg
