#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints vectors.json: which traces are in which shares, for implementations in any language."""

import hashlib
import json
import math
import re
from fractions import Fraction

ALL = 2**56


def share_of(text):
    """The double nearest to the share."""
    exact = Fraction(text[:-1]) / 100 if text.endswith("%") else Fraction(text)
    return float(exact)


def threshold(share):
    """2^56 less the share of 2^56, rounded half up."""
    return ALL - math.floor(Fraction(share) * ALL + Fraction(1, 2))


def randomness(trace_id, ot):
    """rv of the tracestate member ot, else the last 14 digits of the trace ID."""
    for field in ot.split(";"):
        if re.fullmatch("rv:[0-9a-f]{14}", field):
            return int(field[3:], 16)
    return int(trace_id[-14:], 16)


def at(r, text):
    """A trace ID with randomness r; its other bits vary with text."""
    return hashlib.sha256(text.encode()).hexdigest()[:18] + f"{r:014x}"


def vectors():
    shares = "100% 99.9% 50% 1/3 0.25 12.5% 10% 1/7 1% 0.7% 0.1% 1/1000 0.01% 1/65536 0.0001% 1/9007199254740991 0.0000000000000014%"
    for text in shares.split():
        t = threshold(share_of(text))
        edges = [r for r in (0, t - 1, t, t + 1, ALL - 1) if 0 <= r < ALL]
        cases = [(at(r, text), "") for r in edges]
        cases += [(hashlib.sha256(f"{text} {i}".encode()).hexdigest()[:32], "") for i in range(16)]
        cases += [(at(ALL - 1 - r, text), f"th:8;rv:{r:014x}") for r in edges]
        cases += [(at(t % ALL, text), ot) for ot in ("th:0", "rv:0", "rv:" + "F" * 14, "xrv:" + "0" * 14, "rv:" + "0" * 15)]
        yield {
            "share": text,
            "threshold": f"{t:014x}",
            "traces": [
                {"id": i, "ot": ot, "randomness": f"{randomness(i, ot):014x}", "in": randomness(i, ot) >= t} for i, ot in cases
            ],
        }


if __name__ == "__main__":
    lines = (json.dumps(v).replace('{"id"', '\n{"id"') for v in vectors())
    print("[" + ",\n".join(lines) + "]")
