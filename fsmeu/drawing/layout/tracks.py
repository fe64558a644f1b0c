"""Tracks for lines within a column: upright stretches beside it that do not lie on each other."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["FIRST", "choose_tracks", "track_step"]

FIRST = 9.0  # from the labels to the first track
_STEP, _MOST = 8.0, 260.0
_APART = 6.0


def choose_tracks(spans: Sequence[tuple[float, float]]) -> list[int]:
    """The track of each line, 0 being the nearest to the column.

    Short lines come first, each into the nearest track where it keeps its distance from all others;
    so lines that enclose others are outside of them.

    Args:
        spans: the heights at which each line begins and ends.
    """
    chosen = [0] * len(spans)
    tracks: list[list[tuple[float, float]]] = []
    sorted_spans = [(min(span), max(span)) for span in spans]
    by_length = sorted(
        range(len(spans)), key=lambda k: (sorted_spans[k][1] - sorted_spans[k][0], sorted_spans[k])
    )
    for k in by_length:
        low, high = sorted_spans[k]
        free = (
            t
            for t, held in enumerate(tracks)
            if all(high + _APART < a or b + _APART < low for a, b in held)
        )
        track = next(free, len(tracks))
        if track == len(tracks):
            tracks.append([])
        tracks[track].append((low, high))
        chosen[k] = track
    return chosen


def track_step(tracks: int) -> float:
    """The distance between tracks; many are closer together."""
    return min(_STEP, _MOST / max(tracks, 1))
