# SPDX-License-Identifier: Apache-2.0
"""What nemo-lens does for a check and for a spec, in the form in which it does it.

Written for this comparison from the shape of nemo-lens's SpanGroup: a group is a string, the
enabled set is a frozenset, a check is a membership test, and resolve turns a spec into such a
set. It is not nemo-lens's code, and does neither its logging nor its validation, so it errs on
the fast side.

Prints Go's benchmark format: per row, the best of several repeats, since the interpreter's
slow ones say more about the machine than about Python. The loop is timeit's own.
"""

import platform
import sys
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


def main():
    seconds = float(sys.argv[1]) if len(sys.argv) > 1 else 0.02
    enabled = GymSpanGroup.resolve("default,sandbox")
    assert enabled == {"job", "server", "http_client", "rollout", "sandbox"}, enabled
    assert "verify" not in enabled

    names = {"enabled": enabled, "resolve": GymSpanGroup.resolve}
    print(f"python: {platform.python_implementation()} {platform.python_version()}")
    for row, statement in {
        "an_empty_loop": "pass",
        "membership_test,_off": "'verify' in enabled",
        "resolve": "resolve('default,sandbox')",
    }.items():
        timer = timeit.Timer(statement, globals=names)
        probe = timer.timeit(1000) / 1000
        number = max(1, int(seconds / 5 / max(probe, 1e-9)))
        best = min(timer.repeat(repeat=5, number=number)) / number
        print(f"BenchmarkPython/{row} {number} {best * 1e9:.2f} ns/op")


main()
