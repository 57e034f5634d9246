"""What hooks warn of, so that training goes on."""


class HooksWarning(UserWarning):
    """Something of a checkpoint or of a batch went wrong; training goes on.

    With `warnings.simplefilter("error", HooksWarning)` it ends training instead.
    """
