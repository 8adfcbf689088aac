"""Inducing points of their own for every latent dimension: OVC-per-dim (paper, section 5.3)."""

from gpvae.inducing.pivoted import PivotedPoints


class PerDimPoints(PivotedPoints):
    """Like `PivotedPoints`, but each latent dimension selects its own points with its own kernel.

    Args:
        num_inducing: Number of points M per latent dimension.
        trainable: Optimise the points after selecting them.
        input_dim: Input dimension.
        seed: Seed for spreading points where there are fewer inputs than points.
    """

    shared = False
