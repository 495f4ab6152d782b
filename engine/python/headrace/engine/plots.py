"""Lines over an axis as SVG, without any library."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

COLOURS = ("#1c7ed6", "#e8590c", "#2f9e44", "#9c36b5", "#c2255c", "#868e96", "#0c8599", "#e67700")
WIDTH, HEIGHT, LEFT, TOP, BOTTOM, RIGHT = 860, 220, 56, 30, 34, 250


@dataclass(frozen=True, slots=True)
class Panel:
    """One diagram: what is drawn, by name, as points."""

    title: str
    lines: Mapping[str, Sequence[tuple[float, float]]]
    across: str
    powers_of_two: bool = False
    """Whether the axis below grows by factors, as sizes of files do, and the one beside it by tens."""


def drawn(panels: Sequence[Panel]) -> str:
    """One diagram below the other."""
    step = HEIGHT + TOP + BOTTOM
    box = f'viewBox="0 0 {WIDTH} {step * len(panels)}" font-family="sans-serif" font-size="12"'
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" {box}>', '<rect width="100%" height="100%" fill="#fff"/>']
    for number, panel in enumerate(panels):
        parts += _panel(panel, number * step + TOP)
    return "\n".join([*parts, "</svg>"]) + "\n"


def _panel(panel: Panel, top: int) -> list[str]:
    points = [point for line in panel.lines.values() for point in line]
    base, right = top + HEIGHT, WIDTH - RIGHT
    parts = [
        f'<text x="{LEFT}" y="{top - 10}" font-weight="bold">{escape(panel.title)}</text>',
        f'<path d="M{LEFT} {top}V{base}H{right}" fill="none" stroke="#868e96"/>',
        f'<text x="{right}" y="{base + 28}" text-anchor="end">{escape(panel.across)}</text>',
    ]
    if not points:
        return parts
    scale = math.log2 if panel.powers_of_two else float
    low_x, high_x = scale(min(x for x, _ in points)), scale(max(x for x, _ in points))
    high_y = max(y for _, y in points) or 1
    low_y = max(min(y for _, y in points), high_y / 1e6) if panel.powers_of_two else 0

    def place(x: float, y: float) -> tuple[float, float]:
        right_by = (scale(x) - low_x) / ((high_x - low_x) or 1)
        grown = math.log(max(y, low_y) / low_y) / (math.log(high_y / low_y) or 1) if panel.powers_of_two else y / high_y
        return LEFT + right_by * (right - LEFT), base - grown * HEIGHT

    parts += [
        f'<text x="{LEFT - 6}" y="{place(points[0][0], value)[1] + 4:.1f}" text-anchor="end">{value:.3g}</text>'
        for value in (low_y, high_y)
    ]
    for value in sorted({min(x for x, _ in points), max(x for x, _ in points)}):
        label = size(value) if panel.powers_of_two else f"{value:.3g}"
        parts.append(f'<text x="{place(value, low_y)[0]:.1f}" y="{base + 14}" text-anchor="middle">{label}</text>')
    for number, (name, line) in enumerate(panel.lines.items()):
        colour = COLOURS[number % len(COLOURS)]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in (place(*point) for point in line))
        parts.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="1.5"/>')
        parts.append(f'<text x="{right + 12}" y="{top + 12 + number * 16}" fill="{colour}">{escape(name)}</text>')
    return parts


def size(count: float) -> str:
    """Bytes in a binary unit."""
    for unit in ("B", "KiB", "MiB"):
        if count < 1024:  # noqa: PLR2004 - the next unit
            return f"{count:g} {unit}"
        count /= 1024
    return f"{count:g} GiB"
