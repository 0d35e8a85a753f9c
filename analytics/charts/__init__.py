"""Charts as markup: SVG with axes and titles, and a table that tells the same.

Pure: frozen values in, a `Chart` out, every word from the outside escaped and made visible. Nothing is placed
by a style attribute (the policy forbids it): across is in percent, so charts are fluid while words keep their
size.
"""

from __future__ import annotations

from analytics.charts.distribution import Marker, histogram
from analytics.charts.lanes import Bar, Lane, bars, waterfall
from analytics.charts.markup import Chart
from analytics.charts.sparks import sparkline
from analytics.charts.timeline import stacked_timeline

__all__ = [
    "Bar",
    "Chart",
    "Lane",
    "Marker",
    "bars",
    "histogram",
    "sparkline",
    "stacked_timeline",
    "waterfall",
]
