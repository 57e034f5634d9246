"""Silent faults: they corrupt what is trained, and a verification alone finds them."""

from cprsim.basics.distributions import Distribution, Name


class SilentLaw(Distribution):
    """Faults that corrupt training, and that nobody notices.

    The time between them is training, that which is done again included. `distribution`: its law,
    exponential if not given; the other keys are those of any law.
    """

    distribution: Name = "exponential"
