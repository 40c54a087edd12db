from ._a2c import A2C as A2C
from ._actor_critic import ActorCritic as ActorCritic
from ._ppo import PPO as PPO
from ._reinforce import Reinforce as Reinforce
