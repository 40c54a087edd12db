"""A valid call, or several, of every public callable."""

from functools import cache

from tests.fuzz.calls import Call
from tests.fuzz.calls_files import file_calls
from tests.fuzz.calls_learning import learning_calls
from tests.fuzz.calls_models import model_calls
from tests.fuzz.calls_plots import plot_calls
from tests.fuzz.calls_solving import solving_calls
from tests.fuzz.calls_studies import study_calls


@cache
def registry() -> tuple[Call, ...]:
    """All of them."""
    models = (*model_calls(), *solving_calls(), *file_calls())
    return (*models, *learning_calls(), *study_calls(), *plot_calls())
