// What names mean, for someone who sees them for the first time.

const OBJECTIVES = {
  "tiles+goal": "bad tiles cost points, the goal gives some",
  tiles: "bad tiles cost points",
  goal: "the goal gives points",
  time: "each step costs 1: quicker is better",
  treasure: "what the treasure is worth",
  success: "the chance to arrive",
  toll: "money paid on the way, below 0",
  pleasure: "how pleasant the places are",
  survival: "each attack costs 1",
};

export const meaning = (name) => OBJECTIVES[name] || "";

export const CRITERION = {
  expected: ["on average", "over many episodes; the policy may flip coins"],
  episode: ["in every episode", "the policy sees what is left of each budget"],
  deterministic: ["on average, without coins", "in each place always the same action"],
};

// Of maps that are no mazes: kind of tile, letter, meaning.
export const TILES = {
  grid: [["begin", "S", "start"], ["goal", "G", "goal"], ["low", "", "hazards, each tile its own mixture"]],
  resource_gathering: [["begin", "S", "home, where it starts and ends"], ["floor", "g", "gold"], ["floor", "d", "diamond"], ["floor", "E", "enemy: may attack"]],
  deep_sea_treasure: [["begin", "S", "start"], ["floor", "1", "treasure, and what it is worth"], ["wall", "", "sea floor"]],
};

export const VIEW = {
  policy: "Policy",
  front: "What is possible",
  criteria: "Three meanings",
  episodes: "Episodes",
  training: "Training",
};

export const GAMMA = "Below 1, later steps count less.";
