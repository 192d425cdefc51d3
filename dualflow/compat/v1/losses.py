"""`tf.losses`: losses and their collections."""

from dualflow.compat.v1.loss_functions import (
    Reduction as Reduction,
    absolute_difference as absolute_difference,
    compute_weighted_loss as compute_weighted_loss,
    cosine_distance as cosine_distance,
    hinge_loss as hinge_loss,
    huber_loss as huber_loss,
    log_loss as log_loss,
    mean_squared_error as mean_squared_error,
    sigmoid_cross_entropy as sigmoid_cross_entropy,
    softmax_cross_entropy as softmax_cross_entropy,
    sparse_softmax_cross_entropy as sparse_softmax_cross_entropy,
)
from dualflow.compat.v1.loss_lists import (
    add_loss as add_loss,
    get_losses as get_losses,
    get_regularization_loss as get_regularization_loss,
    get_regularization_losses as get_regularization_losses,
    get_total_loss as get_total_loss,
)
