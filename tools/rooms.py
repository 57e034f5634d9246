"""Draw docs/figures/rooms.svg: the rooms of cprsim, floor by floor, and who imports whom.

Run `python -m tools.rooms`, or `make pages`. Floors are the layers of pyproject.toml, arrows what
the source files import; a test holds the picture to both. An arrow is left out where others lead
the same way, so each that is drawn is an import that nothing else implies.

Arrows that pass floors are laid as in layered drawings of graphs (Sugiyama et al., IEEE Trans. SMC
11(2), 1981): each floor they pass has a place for them, floors are put in the order with the
fewest crossings that sweeps of means find, and places move towards their neighbours.
"""

import ast
import re
import textwrap
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Final
from xml.sax.saxutils import escape

from cprsim.basics.files import write_all
from tools.imports import imported
from tools.paths import FIGURES, ROOT

PICTURE: Final = FIGURES / "rooms.svg"
PACKAGE: Final = ROOT / "cprsim"
#: Rooms that read plans and carry them out, each in its way.
INTERPRETERS: Final = ("sim", "batch", "trainer")

_BOX, _HEIGHT, _GAP, _BETWEEN = 276, 54, 26, 24  # of a box and around it, in pixels
_PASSING = 14  # the width of an arrow that passes a floor
_MARGIN, _TOP, _BOTTOM = 24, 74, 24
_LETTERS, _LINES = 44, 2  # of what a room is for
#: How straight an arrow is to be, by how many of its ends are boxes.
_PULLS: Final = (60.0, 1.0, 3.0)
_SWEEPS, _MOVES = 24, 1000  # until nothing changes any more


def floors() -> list[list[str]]:
    """The layers of the first contract in pyproject.toml, from the top down."""
    text = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    layers: list[str] = tomllib.loads(text)["tool"]["importlinter"]["contracts"][0]["layers"]
    return [layer.split(" | ") for layer in layers]


def imports(rooms: Sequence[str]) -> dict[str, set[str]]:
    """The other rooms that modules of each room import."""
    found: dict[str, set[str]] = {room: set() for room in rooms}
    for path in PACKAGE.rglob("*.py"):
        room = path.relative_to(PACKAGE).with_suffix("").parts[0]
        for name in imported(path):
            package, _, rest = name.partition(".")
            other = rest.partition(".")[0]
            if package == "cprsim" and room in found and other in found and other != room:
                found[room].add(other)
    return found


def reduced(arrows: Mapping[str, set[str]]) -> dict[str, set[str]]:
    """Without arrows from a room to another that is reached through a third."""

    def reached(room: str) -> set[str]:
        return arrows[room].union(*map(reached, arrows[room]))

    beyond = {room: set[str]().union(*map(reached, of)) for room, of in arrows.items()}
    return {room: of - beyond[room] for room, of in arrows.items()}


def purpose(room: str) -> list[str]:
    """What the room's docstring begins with, in few lines: as many of its clauses as there fit."""
    path = PACKAGE / room / "__init__.py"
    text = (path if path.exists() else PACKAGE / f"{room}.py").read_text(encoding="utf-8")
    sentence = (
        (ast.get_docstring(ast.parse(text)) or "").partition("\n")[0].rstrip(".").replace("`", "")
    )
    clauses = re.split(r"(?<=[,:;]) ", sentence)
    for count in range(len(clauses), 0, -1):
        lines = textwrap.wrap(" ".join(clauses[:count]).rstrip(",:;"), _LETTERS)
        if len(lines) <= _LINES:
            return _even(lines)
    raise ValueError(f"The docstring of {room} begins with a clause that is too long: {sentence}")


def _even(lines: Sequence[str]) -> list[str]:
    """The same words in as many lines, as narrow as that goes."""
    text = " ".join(lines)
    every = (textwrap.wrap(text, width) for width in range(len(text) // len(lines), len(text) + 1))
    return next(narrow for narrow in every if len(narrow) == len(lines))


@dataclass(eq=False)
class _Place:
    """A box on its floor, or (without a name) where an arrow passes one."""

    floor: int
    room: str = ""
    x: float = 0.0  # of the middle
    above: "list[_Place]" = field(default_factory=list)
    below: "list[_Place]" = field(default_factory=list)

    @property
    def width(self) -> int:
        return _BOX if self.room else _PASSING

    def pulls(self) -> list[tuple[float, float]]:
        """How hard each neighbour pulls, and whereto."""
        return [
            (_PULLS[bool(self.room) + bool(near.room)], near.x)
            for near in (*self.above, *self.below)
        ]


def _placed(layers: Sequence[Sequence[str]], arrows: Mapping[str, set[str]]) -> list[list[_Place]]:
    """All places, floor by floor and each floor from left to right."""
    places = [
        [_Place(number, room) for room in sorted(layer)] for number, layer in enumerate(layers)
    ]
    of = {place.room: place for floor in places for place in floor}
    for room, place in of.items():
        for other in sorted(arrows[room]):
            last = place
            for number in range(last.floor + 1, of[other].floor):
                passing = _Place(number)
                places[number].append(passing)
                _join(last, passing)
                last = passing
            _join(last, of[other])
    places = _ordered(places)
    for _ in range(_MOVES):
        for floor in (*places, *reversed(places)):
            _move(floor)
    return places


def _mean(place: _Place, near: Sequence[_Place]) -> float:
    return sum(each.x for each in near) / len(near) if near else place.x


def _join(above: _Place, below: _Place) -> None:
    above.below.append(below)
    below.above.append(above)


def _ordered(places: list[list[_Place]]) -> list[list[_Place]]:
    """Each floor in the order of its neighbours' means, as the sweep with fewest crossings had."""
    best: tuple[int, list[list[_Place]]] | None = None
    for sweep in range(_SWEEPS):
        downwards = sweep % 2 == 0
        for floor in places if downwards else reversed(places):
            means = {
                place: _mean(place, place.above if downwards else place.below) for place in floor
            }
            floor.sort(key=means.__getitem__)
            _pack(floor)
        crossings = _crossings(places)
        if best is None or crossings < best[0]:
            best = crossings, [list(floor) for floor in places]
    assert best is not None
    for floor in best[1]:
        _pack(floor)
    return best[1]


def _pack(floor: Sequence[_Place]) -> None:
    """Side by side, around the middle of the picture."""
    x = -(sum(place.width for place in floor) + _BETWEEN * (len(floor) - 1)) / 2
    for place in floor:
        place.x = x + place.width / 2
        x += place.width + _BETWEEN


def _crossings(places: Sequence[Sequence[_Place]]) -> int:
    found = 0
    for floor in places:
        ends = [(place.x, below.x) for place in floor for below in place.below]
        found += sum((a[0] - b[0]) * (a[1] - b[1]) < 0 for a, b in combinations(ends, 2))
    return found


def _move(floor: Sequence[_Place]) -> None:
    """To their aims as far as the order lets them: least squares, by pooling those that push."""
    offset, blocks = 0.0, list[tuple[float, float, list[tuple[_Place, float]]]]()
    for number, place in enumerate(floor):
        if number:
            offset += (floor[number - 1].width + place.width) / 2 + _BETWEEN
        pulls = place.pulls() or [(1.0, place.x)]
        weight = sum(pull for pull, _ in pulls)
        mean = sum(pull * x for pull, x in pulls) / weight - offset
        members = [(place, offset)]
        while blocks and blocks[-1][1] > mean:
            heavier, further, before = blocks.pop()
            mean = (heavier * further + weight * mean) / (heavier + weight)
            weight, members = weight + heavier, before + members
        blocks.append((weight, mean, members))
    for _, mean, members in blocks:
        for place, by in members:
            place.x = mean + by


def picture() -> str:
    """The whole file."""
    layers = floors()
    arrows = imports([room for layer in layers for room in layer])
    drawn = reduced(arrows)
    places = _placed(layers, drawn)
    left = min(place.x - place.width / 2 for floor in places for place in floor) - _MARGIN
    right = max(place.x + place.width / 2 for floor in places for place in floor) + _MARGIN
    for floor in places:
        for place in floor:
            place.x -= left
    width, height = right - left, _y(len(places)) - _GAP + _BOTTOM
    count, shown = (sum(map(len, each.values())) for each in (arrows, drawn))
    about = f"{len(arrows)} rooms on {len(layers)} floors, from pyproject.toml and the source files"
    thinned = f"{shown} of {count} imports are drawn; the others are reached along these"
    return "".join(
        f"{line}\n"
        for line in (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" '
            f'viewBox="0 0 {width:.0f} {height:.0f}" '
            'font-family="Arial, Helvetica, Liberation Sans, sans-serif">',
            "<title>The rooms of cprsim and what they import</title>",
            '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
            'markerHeight="7" orient="auto"><path d="M0,0.5 L8,4 L0,7.5 z" fill="#5b6470"/>'
            "</marker></defs>",
            f'<rect width="{width:.0f}" height="{height:.0f}" fill="#ffffff"/>',
            *_bands(len(places), width),
            _text(_MARGIN, 28, "The rooms of cprsim: imports go downwards only", 18, "#1a1f26"),
            _text(_MARGIN, 46, f"{about}.", 12, "#5b6470"),
            _text(_MARGIN, 61, f"{thinned}. Blue: the interpreters of a plan.", 12, "#5b6470"),
            *_lines(places),
            *(_box(place) for floor in places for place in floor if place.room),
            "</svg>",
        )
    )


def _y(floor: int) -> int:
    """The top of a floor's boxes."""
    return _TOP + _GAP // 2 + floor * (_HEIGHT + _GAP)


def _bands(count: int, width: float) -> Iterator[str]:
    for floor in range(0, count, 2):
        top = _y(floor) - _GAP // 2
        yield f'<rect y="{top}" width="{width:.0f}" height="{_HEIGHT + _GAP}" fill="#f4f6f8"/>'


def _text(x: float, y: float, text: str, size: int, fill: str, anchor: str = "start") -> str:
    bold = ' font-weight="bold"' if size > 12 else ""
    return (
        f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}"{bold} fill="{fill}" '
        f'text-anchor="{anchor}">{escape(text)}</text>'
    )


def _box(place: _Place) -> str:
    reads_plans = place.room in INTERPRETERS
    fill, edge = ("#dbe9f8", "#2f6db3") if reads_plans else ("#ffffff", "#8a94a0")
    x, y, lines = place.x - _BOX / 2, _y(place.floor), purpose(place.room)
    first = y + (39 if len(lines) == 1 else 33)
    return "\n".join(
        [
            f'<rect x="{x:.0f}" y="{y}" width="{_BOX}" height="{_HEIGHT}" rx="4" fill="{fill}" '
            f'stroke="{edge}"/>',
            _text(place.x, y + 17, place.room, 14, "#1a1f26", "middle"),
            *(
                _text(place.x, first + 14 * number, line, 11, "#3c4550", "middle")
                for number, line in enumerate(lines)
            ),
        ]
    )


def _lines(places: Sequence[Sequence[_Place]]) -> Iterator[str]:
    """An arrow for each import, from the bottom of a box to the top of another."""
    for floor in places:
        for place in floor:
            for below in place.below if place.room else ():
                before, at = place, below
                path = [f"M{_port(place, below, place.below):.0f},{_y(place.floor) + _HEIGHT}"]
                while not at.room:
                    path += [_bend(before, at, at.x), f"V{_y(at.floor) + _HEIGHT}"]
                    before, at = at, at.below[0]
                path.append(_bend(before, at, _port(at, before, at.above)))
                yield (
                    f'<path d="{" ".join(path)}" fill="none" stroke="#5b6470" '
                    'stroke-width="1.3" marker-end="url(#head)"/>'
                )


def _bend(above: _Place, below: _Place, to_x: float) -> str:
    """A curve through the gap between two floors, upright at both its ends."""
    from_x = _port(above, below, above.below)
    top, bottom = _y(above.floor) + _HEIGHT, _y(below.floor)
    return f"C{from_x:.0f},{top + _GAP // 2} {to_x:.0f},{top + _GAP // 2} {to_x:.0f},{bottom}"


def _port(place: _Place, other: _Place, others: Sequence[_Place]) -> float:
    """Where on a place the arrow to or from another ends: in the order of the others."""
    rank = sorted(others, key=lambda each: each.x).index(other)
    return place.x + (rank - (len(others) - 1) / 2) * min(28.0, _BOX / (len(others) + 1))


if __name__ == "__main__":
    write_all(PICTURE.parent, {PICTURE.name: picture().encode()})
