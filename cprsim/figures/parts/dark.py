"""Pictures that turn dark with the page that they stand in."""

from typing import Final

from cprsim.figures.parts.style import FAINT_INK, INK, RULE, TRAINING_COLOUR

#: What ink and ground are where the reader's scheme is dark; other colours stay as they are.
DARK: Final = {
    INK: "#E8E8E8",
    FAINT_INK: "#A9B0B6",
    RULE: "#3A4147",
    TRAINING_COLOUR: "#39434B",
    "#FFFFFF": "#15181B",
}
_PROPERTIES: Final = ("fill", "stroke")


def with_dark(svg: bytes) -> bytes:
    """The SVG that matplotlib wrote, with a style for dark pages: the same marks, other ink."""
    rules = "".join(
        f'[style*="{name}: {light.lower()}"]{{{name}:{dark.lower()} !important}}'
        for light, dark in DARK.items()
        for name in _PROPERTIES
    )
    style = f"<style>@media (prefers-color-scheme: dark){{{rules}}}</style>"
    head, end, rest = svg.partition(b"<defs>")
    return head + style.encode() + end + rest
