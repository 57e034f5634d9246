"""The value `skew` of a table in a scenario: how unequally its rows are accessed."""

from contextlib import closing
from typing import TYPE_CHECKING, Annotated, Any, Literal, Self, get_args

from pydantic import Field, model_serializer, model_validator

from cprsim.basics.schema import Section, nearest
from cprsim.basics.tabular import LogPath, csv_cells, lines, number
from cprsim.errors import LogError, UsageError, shown

if TYPE_CHECKING:
    from cprsim.rows.popularity import Popularity

Name = Literal["uniform", "dlrm-production"]
NAMES: tuple[Name, ...] = get_args(Name)

#: Share of the rows and of their accesses: mean over the 33 files of Meta's production-like
#: embedding traces, whose histograms of reuse match those of production ads models
#: (facebookresearch/dlrm_datasets, embedding_bag/{2021,2022}/locality_stats.txt at 6f46ba7, read
#: off by linear interpolation). Of rows that were touched: those never touched are not in it.
DLRM_PRODUCTION = ((0.001, 0.303), (0.01, 0.466), (0.05, 0.618), (0.125, 0.737), (0.2, 0.803))


class Skew(Section):
    """Unequal access to rows: by name, by a Zipf exponent, or by a curve in a file.

    `name`: `"uniform"`, all alike, or `"dlrm-production"`, as in Meta's traces (`DLRM_PRODUCTION`);
    written as the value itself. `zipf`: the exponent s of accesses that are proportional to
    rank^-s. `curve`: a CSV file with columns `rows_share` and `accesses_share`, from 0 to 1.
    """

    name: Name | None = None
    zipf: Annotated[float, Field(ge=0, le=10, examples=[0.95])] | None = None
    curve: Annotated[str, Field(examples=["popularity.csv"])] | None = None

    @model_validator(mode="before")
    @classmethod
    def _by_name(cls, value: Any) -> Any:
        if isinstance(value, str):
            if value not in NAMES:
                raise ValueError(f"{value!r} is no known skew; {nearest(value, NAMES)}")
            return {"name": value}
        if not isinstance(value, dict | Skew):
            raise ValueError(f"{value!r} is no skew; {_FORMS}")
        return value

    @model_validator(mode="after")
    def _one_form(self) -> Self:
        given = [key for key in ("name", "zipf", "curve") if getattr(self, key) is not None]
        if len(given) != 1:
            raise ValueError(f"found {' and '.join(given) or 'nothing'}; {_FORMS}")
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, core: Any, handler: Any) -> dict[str, Any]:
        return {"anyOf": [{"enum": list(NAMES)}, handler(core)]}

    @model_serializer
    def _as_written(self) -> str | dict[str, float | str]:
        if self.name is not None:
            return self.name
        return {"zipf": self.zipf} if self.zipf is not None else {"curve": self.curve or ""}

    def popularity(self, rows: int) -> "Popularity":
        """Return it for a table of so many rows; raise `LogError` where its curve can't be read."""
        from cprsim.rows.popularity import curve, uniform, zipf  # noqa: PLC0415  (of a few plans)

        if self.zipf is not None:
            return zipf(rows, self.zipf)
        if self.curve is not None:
            points = read_curve(self.curve)
            try:
                return curve(points, rows)
            except UsageError as error:
                raise LogError(f"{self.curve}: {error}") from None
        return uniform(rows) if self.name == "uniform" else curve(DLRM_PRODUCTION, rows)


_FORMS = 'write "uniform", "dlrm-production", {zipf = 0.95} or {curve = "file.csv"}'
#: Columns of a concentration curve.
CURVE_HEADER = ["rows_share", "accesses_share"]


def read_curve(path: LogPath) -> list[tuple[float, float]]:
    """Points of a concentration curve: CSV with the header `rows_share,accesses_share`.

    Both are shares from 0 to 1, not percentages: `0.01,0.46` says that the most popular 1 % of the
    rows get 46 % of the accesses. The file may be packed (`.gz`, `.xz`).

    Raises
    ------
    LogError
        If the file can't be read, has another header, holds no point, or one that is no pair of
        shares; whether they make a curve is checked by `concentration`.
    """
    points, header = [], True
    with closing(lines(path)) as text:
        for line, cells in csv_cells(path, text):
            names = [cell.strip() for cell in cells]
            if header and names != CURVE_HEADER:
                raise LogError(
                    f"{path}:{line}: the header is {shown(','.join(names))}; "
                    f"it must be {','.join(CURVE_HEADER)}"
                )
            if not header:
                points.append(_point(path, line, names))
            header = False
    if not points:
        raise LogError(f"{path}: holds no point; write {','.join(CURVE_HEADER)} and shares below")
    return points


def _point(path: LogPath, line: int, cells: list[str]) -> tuple[float, float]:
    if len(cells) != len(CURVE_HEADER):
        raise LogError(f"{path}:{line}: the row has {len(cells)} cells, the header has 2")
    shares = []
    for name, cell in zip(CURVE_HEADER, cells, strict=True):
        share = number(cell)
        if share is None:
            raise LogError(f"{path}:{line}: {name} is {shown(cell)}, not a number")
        if not 0 <= share <= 1:
            raise LogError(
                f"{path}:{line}: {name} is {shown(cell)}; shares go from 0 to 1, so write 0.01 "
                f"for 1 %"
            )
        shares.append(share)
    return shares[0], shares[1]
