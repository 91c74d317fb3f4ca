#!/usr/bin/env python3
"""Makes glyphs.txt, the letters of figures, from DejaVuSansCondensed.ttf (2.37).

    pip install fonttools && python make_glyphs.py DejaVuSansCondensed.ttf > glyphs.txt

A line per character: its number, its width, and its outline as an SVG path of M, L, Q and Z, in thousandths of an em, upwards.
The first line is the box that stands for characters that are not here.
"""

import sys

from fontTools.pens.basePen import BasePen
from fontTools.ttLib import TTFont

WANTED = [*range(0x20, 0x7F), *range(0xA0, 0x100), *map(ord, "–—‘’“”…−≤≥≠≈→←↑↓∞√αβγδεθλμπσφωΔΣΩ")]


class Path(BasePen):
    def __init__(self, glyphs, scale):
        super().__init__(glyphs)
        self.scale, self.text = scale, ""

    def _add(self, letter, *points):
        self.text += letter + " ".join(str(round(x * self.scale)) for point in points for x in point)

    def _moveTo(self, to):
        self._add("M", to)

    def _lineTo(self, to):
        self._add("L", to)

    def _qCurveToOne(self, control, to):
        self._add("Q", control, to)

    def _closePath(self):
        self._add("Z")


def main():
    font = TTFont(sys.argv[1])
    glyphs, names = font.getGlyphSet(), font.getBestCmap()
    scale = 1000 / font["head"].unitsPerEm
    for code, name in [(0, ".notdef"), *((c, names[c]) for c in WANTED)]:
        path = Path(glyphs, scale)
        glyphs[name].draw(path)
        print(f"{code:x} {round(glyphs[name].width * scale)} {path.text}".rstrip())


main()
