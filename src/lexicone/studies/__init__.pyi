from .sweeps.design import Study as Study
from .sweeps.outcome import (
    CellSummary as CellSummary,
    Comparison as Comparison,
    StudyResult as StudyResult,
)
from .sweeps.study import compare as compare, study as study
from .sweeps.study_file import read_study as read_study
