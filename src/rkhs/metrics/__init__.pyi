from rkhs.metrics.bounds import (
    Bound as Bound,
    Stability as Stability,
    contrastive_bound as contrastive_bound,
    downstream_bound as downstream_bound,
    stability_constants as stability_constants,
)
from rkhs.metrics.disentanglement import (
    Disentanglement as Disentanglement,
    dci as dci,
    irs as irs,
    mig as mig,
    mutual_information as mutual_information,
    sap as sap,
)
from rkhs.metrics.fitted_bounds import bound as bound
from rkhs.metrics.ranking import (
    hamming_error as hamming_error,
    normalized_mean_squared_error as normalized_mean_squared_error,
    top_k_accuracy as top_k_accuracy,
    truth_ranks as truth_ranks,
)
