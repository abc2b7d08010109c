# SPDX-License-Identifier: Apache-2.0
"""A check and a spec in the form in which nemo-lens does them, timed in Go's benchmark format.

Written for this comparison from the shape of nemo-lens's SpanGroup: a group is a string, the
enabled set is a frozenset, a check is a membership test, and resolve turns a spec into such a set.
It is not nemo-lens's code, and leaves out its logging and validation, so it errs on the fast side.

A row is the fastest of thirty repeats. The loop is timeit's own.
"""

import platform
import timeit


class GymSpanGroup:
    GROUPS = frozenset(
        "job checkpoint evaluate model_init load_checkpoint step forward_backward optimizer "
        "server http_client rollout verify agent model_call sandbox".split()
    )
    PRESETS = {
        "default": frozenset({"job", "server", "http_client", "rollout"}),
        "per_rollout": frozenset({"server", "http_client", "rollout", "verify", "agent", "model_call"}),
        "all": GROUPS,
    }

    @classmethod
    def resolve(cls, spec):
        enabled = set()
        for entry in spec.split(","):
            name = entry.strip().lower()
            if not name:
                continue
            if name in cls.PRESETS:
                enabled |= cls.PRESETS[name]
            elif name in cls.GROUPS:
                enabled.add(name)
            else:
                raise ValueError(f"unknown span group {name!r}")
        return frozenset(enabled)


enabled = GymSpanGroup.resolve("default,sandbox")
assert enabled == {"job", "server", "http_client", "rollout", "sandbox"}, enabled
assert "verify" not in enabled

print(f"python: {platform.python_implementation()} {platform.python_version()}")
for row, statement, number in (
    ("an_empty_loop", "pass", 100_000),
    ("membership_test,_off", "'verify' in enabled", 100_000),
    ("resolve", "GymSpanGroup.resolve('default,sandbox')", 2_000),
):
    fastest = min(timeit.repeat(statement, globals=globals(), repeat=30, number=number)) / number
    print(f"BenchmarkPython/{row} {number} {fastest * 1e9:.2f} ns/op")
