"""`predicted-measured`: what was predicted of real runs, against what these took."""

import json
from pathlib import Path

import pandas as pd

from cprsim.contract.ledger import OVERHEAD_CAUSES
from cprsim.errors import UsageError
from cprsim.gallery.picture import Picture, PictureSource, Titled, drawn_by

_COLUMNS = ["cause", "predicted", "measured"]


def _prepare(source: PictureSource) -> Titled:
    path = source.path / "validate.json" if source.path.is_dir() else source.path
    try:
        if path.suffix == ".json":
            return _of_document(path)
        return Titled("Real runs, killed on purpose", pd.read_csv(path)[_COLUMNS])
    except (OSError, ValueError, KeyError, TypeError) as error:
        said = error.strerror if isinstance(error, OSError) else "is not such a file"
        raise UsageError(
            f"{path}: {said}; give what `cprsim validate --out` left, or a table (CSV) with "
            f"columns {', '.join(_COLUMNS)}"
        ) from None


def _of_document(path: Path) -> Titled:
    document = json.loads(path.read_text(encoding="utf-8"))
    rows = [
        (cause, seconds["predicted"][cause], seconds["measured"][cause])
        for seconds in document["policies"].values()
        for cause in OVERHEAD_CAUSES
    ]
    sums = [
        ("overhead", each["overhead_s"]["predicted"], each["overhead_s"]["measured"])
        for each in document["policies"].values()
    ]
    return Titled(document["scenario"], pd.DataFrame([*rows, *sums], columns=_COLUMNS))


PICTURE = Picture(
    "predicted-measured",
    "seconds predicted of real runs against those that they took, by cause",
    "validation",
    "train-quick-predicted.csv",
    _prepare,
    drawn_by("predicted:predicted_measured"),
    one_axes=True,
)
