from ._diagnosis import Diagnosis as Diagnosis, Finding as Finding
from ._episodes import Episodes as Episodes, collect as collect
from ._learner import Learner as Learner
from ._policy_file import Policy as Policy, load_policy as load_policy
from ._problem import Problem as Problem
from ._result import Evaluation as Evaluation, Intervals as Intervals
from ._result_env import EnvPolicy as EnvPolicy, TrainedEnv as TrainedEnv
from ._result_model import Trained as Trained
from ._result_segments import TrainedSegments as TrainedSegments
from ._saved import load as load
from ._train import train as train, train_many as train_many
from .algos import A2C as A2C, PPO as PPO, ActorCritic as ActorCritic, Reinforce as Reinforce
