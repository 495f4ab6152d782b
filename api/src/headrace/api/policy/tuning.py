"""Streams and units that are set instead of what nodes choose: by the transfer, its pair of endpoints, or the site."""

from headrace.client import models as m


def of_transfer(own: m.Tuning | None) -> m.EffectiveTuning:
    """Take what was asked for with a plan."""
    return _first([("transfer", own or m.Tuning())])


def effective(document: m.QosDocument, own: m.Tuning, source: str, destination: str) -> m.EffectiveTuning:
    """Find what holds for a transfer from one endpoint to another: the nearest level that says something."""
    pairs = [one for one in document.pairs if (one.source, one.destination) == (source, destination)]
    return _first([("transfer", own), *(("pair", one) for one in pairs), ("site", document.tuning)])


def _first(levels: list[tuple[m.TuningLevel, m.Tuning]]) -> m.EffectiveTuning:
    streams = [m.Tuned(value=one.streams, level=level) for level, one in levels if one.streams is not None]
    units = [m.Tuned(value=one.unit_bytes, level=level) for level, one in levels if one.unit_bytes is not None]
    return m.EffectiveTuning(streams=next(iter(streams), None), unit_bytes=next(iter(units), None))
