"""All pictures of the gallery, by name."""

from cprsim.basics.schema import nearest
from cprsim.errors import UsageError
from cprsim.report.gallery import ecrec, files, runs, tables  # noqa: F401  (they register)
from cprsim.report.gallery.picture import PICTURES, Picture

__all__ = ["PICTURES", "picture"]

#: Shorter names of pictures, by which results have them.
_SHORT = {"breakdown": "policy-breakdown"}


def picture(name: str) -> Picture:
    """Return the picture of that name; raise `UsageError` if there is none."""
    name = _SHORT.get(name, name)
    if name not in PICTURES:
        raise UsageError(f"figure {name!r}: there is none of that name; {nearest(name, PICTURES)}")
    return PICTURES[name]
