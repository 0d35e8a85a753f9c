"""A line the size of a word."""

from __future__ import annotations

from collections.abc import Sequence

from analytics.charts import markup

PAD = 3


def sparkline(
    values: Sequence[float | None], *, label: str, tone: str = "plain", width: int = 64, height: int = 28
) -> markup.Chart:
    """Draw values from zero up, a gap where one is missing, a dot on the last; `label` says it in words."""
    known = [value for value in values if value is not None]
    top = max(known, default=0) or 1
    floor = height - PAD
    step = (width - 2 * PAD) / max(1, len(values) - 1)

    def place(index: int, value: float) -> tuple[str, str]:
        return markup.number(PAD + index * step), markup.number(floor - (height - 2 * PAD) * value / top)

    lines, areas = [], []
    for stretch in _stretches(values):
        points = [place(index, value) for index, value in stretch]
        line = "L".join(f"{x} {y}" for x, y in points)
        lines.append(f"M{line}")
        areas.append(f"M{points[0][0]} {floor}L{line}L{points[-1][0]} {floor}Z")
    dot = ""
    if values and values[-1] is not None:
        x, y = place(len(values) - 1, values[-1])
        dot = f'<circle class="spark-dot" cx="{x}" cy="{y}" r="2"/>'
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    return markup.Chart(
        f'<svg class="spark {markup.words(tone)}" {size} role="img" aria-label="{markup.words(label)}">'
        f'<path class="spark-area" d="{"".join(areas)}"/>'
        f'<path class="spark-line" d="{"".join(lines)}"/>{dot}</svg>'
    )


def _stretches(values: Sequence[float | None]) -> list[list[tuple[int, float]]]:
    found: list[list[tuple[int, float]]] = [[]]
    for index, value in enumerate(values):
        if value is None:
            found.append([])
        else:
            found[-1].append((index, value))
    return [stretch for stretch in found if stretch]
