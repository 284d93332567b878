"""Draw the learning curve of a finished run, and put its score table into the README.

    python docs/make_picture.py results/searchqa

Writes docs/learning-curve.svg and the block of README.md between the `score table` comments.
"""

import argparse
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from skillopt.files import read_json, read_text, write_text
from skillopt.phases.summary import Summary, table

WIDTH, HEIGHT = 720, 300
LEFT, RIGHT, TOP, BOTTOM = 56, 16, 44, 52
INK, FAINT, CURVE, GOOD, BAD = "#24292f", "#d0d7de", "#0969da", "#1a7f37", "#cf222e"
BLOCK = re.compile(r"(<!-- score table[^\n]*-->\n).*?(<!-- end of score table -->)", re.DOTALL)

Event = dict[str, Any]


def picture(events: Sequence[Event], run: str) -> str:
    """Return the SVG: the current score as a line, each candidate as a mark."""
    across = (WIDTH - LEFT - RIGHT) / len(events)
    xs = [LEFT + across * (i + 0.5) for i in range(len(events))]
    metric = events[0]["metric"]
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img"'
        f' font-family="sans-serif" font-size="12" fill="{INK}">',
        f"<title>{run}: {metric} score on the selection split, gate by gate</title>",
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="white"/>',
        *_legend(metric),
        *_grid(),
        *(_label(x, event) for x, event in zip(xs, events, strict=True)),
        _curve(xs, across, [event["current"] for event in events]),
        *(_mark(x, event) for x, event in zip(xs, events, strict=True) if event["candidate"] is not None),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _y(score: float) -> float:
    return TOP + (1 - score) * (HEIGHT - TOP - BOTTOM)


def _grid() -> list[str]:
    lines = []
    for score in (0.0, 0.25, 0.5, 0.75, 1.0):
        y = _y(score)
        lines.append(f'<path d="M{LEFT} {y:.1f}H{WIDTH - RIGHT}" stroke="{FAINT}"/>')
        lines.append(f'<text x="{LEFT - 8}" y="{y + 4:.1f}" text-anchor="end">{score:.2f}</text>')
    return lines


def _label(x: float, event: Event) -> str:
    names = {"initial": "start", "step": f"step {event['step']}", "slow_update": f"epoch {event['epoch']}"}
    skipped = {"skip": "skipped", "inje": "prepared"}.get(event["action"][:4], "")
    below = f'<tspan x="{x:.1f}" dy="15" fill="#57606a">{skipped}</tspan>' if skipped else ""
    return f'<text x="{x:.1f}" y="{HEIGHT - 30}" text-anchor="middle">{names[event["phase"]]}{below}</text>'


def _curve(xs: Sequence[float], across: float, scores: Sequence[float]) -> str:
    """Return the current score as steps: it changes where a candidate was accepted."""
    path = f"M{xs[0] - across / 2:.1f} {_y(scores[0]):.1f}"
    for x, score in zip(xs, scores, strict=True):
        path += f"H{x:.1f}V{_y(score):.1f}"
    return f'<path d="{path}H{WIDTH - RIGHT}" fill="none" stroke="{CURVE}" stroke-width="2.5"/>'


def _mark(x: float, event: Event) -> str:
    y = _y(event["candidate"])
    start = event["phase"] == "initial"
    shape = _cross(x, y) if event["action"] == "reject" else _dot(x, y, CURVE if start else GOOD)
    above = y - 10 if y > TOP + 12 else y + 20
    return f'{shape}<text x="{x:.1f}" y="{above:.1f}" text-anchor="middle">{event["candidate"]:.3f}</text>'


def _dot(x: float, y: float, colour: str = GOOD) -> str:
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5" fill="{colour}"/>'


def _cross(x: float, y: float) -> str:
    path = f"M{x - 5:.1f} {y - 5:.1f}l10 10m0 -10l-10 10"
    return f'<path d="{path}" stroke="{BAD}" stroke-width="2.5"/>'


def _legend(metric: str) -> list[str]:
    return [
        f'<text x="{LEFT}" y="22" font-weight="bold">{metric} score on the selection split</text>',
        f'<path d="M330 18h24" stroke="{CURVE}" stroke-width="2.5"/>',
        '<text x="360" y="22">current skill</text>',
        f'{_dot(464, 18)}<text x="475" y="22">candidate accepted</text>',
        f'{_cross(605, 18)}<text x="616" y="22">rejected</text>',
    ]


def with_table(readme: str, lines: str) -> str:
    """Return the README with another score table."""
    block = f"```text\n{lines.rstrip()}\n```\n"
    return BLOCK.sub(lambda found: found[1] + block + found[2], readme)


def main(argv: Sequence[str] | None = None) -> None:
    """Read a finished run; write the picture and the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("run", type=Path, help="folder of a finished run, such as results/searchqa (read)")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the repository")
    args = parser.parse_args(argv)
    events = json.loads(read_text(args.run / "history.json"))
    write_text(args.root / "docs/learning-curve.svg", picture(events, args.run.name))
    readme = args.root / "README.md"
    write_text(readme, with_table(read_text(readme), table(read_json(args.run / "summary.json", Summary))))


if __name__ == "__main__":
    main()
