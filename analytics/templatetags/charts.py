"""`{% chart figure %}` puts a finished chart on a page."""

from __future__ import annotations

from django import template
from django.utils import safestring

from analytics import charts

register = template.Library()


@register.simple_tag
def chart(figure: charts.Chart) -> safestring.SafeString:
    """Print a chart; anything else is refused, for only the charts package escapes as it must."""
    if not isinstance(figure, charts.Chart):
        raise TypeError("{% chart %} prints charts only")
    # Escaped by analytics.charts.markup, which every chart is made with.
    return safestring.mark_safe(figure.html)


@register.simple_tag
def sparkline(values: list[float | None], label: str, tone: str = "plain") -> safestring.SafeString:
    """Draw a sparkline of `values`, said in words by `label`."""
    return chart(charts.sparkline(values, label=label, tone=tone))
