"""PyTorch's door: losses in order of importance, for plain loops, Lightning and TorchJD (extra ``torch``)."""

from lexicone.torch._losses import ordered_backward, ordered_loss
from lexicone.torch._weighting import OrderedAggregator, OrderedWeighting

__all__ = ["OrderedAggregator", "OrderedWeighting", "ordered_backward", "ordered_loss"]
