# SPDX-License-Identifier: Apache-2.0
"""Updates the answers of the vectors: python3 testdata/nemo_lens.py LENS

LENS is a checkout of https://github.com/NVIDIA-NeMo/Lens. The inputs of a file of vectors stay, and
its answers are replaced by those of the checkout. A revision with SpanGroup answers
testdata/spec.json, one with SpanRegistry answers registry/testdata/registry.json.
"""

import ast
import importlib
import json
import logging
import pathlib
import sys
import types

# What the message of an error contains, and the error's name in registry.json.
ERRORS = {
    "Namespace must be a non-empty string": "empty_namespace",
    "registered an empty group name": "empty_group",
    "Group name 'all' is reserved": "reserved_group",
    "Preset name 'all' is reserved": "reserved_preset",
    "is already registered. Pass": "namespace_taken",
    "is not registered": "namespace_unknown",
}


def load(lens):
    """Imports the modules of span groups without nemo.lens itself, which needs OpenTelemetry."""
    package = types.ModuleType("nemo.lens")
    package.__path__ = [f"{lens}/src/nemo/lens"]
    handle = types.ModuleType("nemo.lens.handle")
    handle._INITIALIZED = False
    package.handle = handle
    sys.modules.update({"nemo": types.ModuleType("nemo"), "nemo.lens": package, "nemo.lens.handle": handle})
    return importlib.import_module("nemo.lens.groups"), importlib.import_module("nemo.lens.state")


def gym(base):
    """The vocabulary of NeMo Gym, as a subclass of nemo-lens's."""
    spine = frozenset({"server", "http_client", "rollout"})
    groups = base.ALL_GROUPS | spine | {"verify", "agent", "model_call", "sandbox"}

    class GymSpanGroup(base):
        ALL_GROUPS = groups
        _PRESETS = {
            "default": spine | {"job"},
            "per_rollout": spine | {"verify", "agent", "model_call"},
            "all": groups,
        }

    return GymSpanGroup


def answer_specs(vectors, groups):
    vocabularies = {"lens": groups.SpanGroup, "gym": gym(groups.SpanGroup)}
    for v in vectors:
        v.pop("groups", None)
        v.pop("unknown", None)
        try:
            v["groups"] = sorted(vocabularies[v["vocabulary"]].resolve(v["spec"]))
        except ValueError as e:
            v["unknown"] = unknown(e)


def unknown(error):
    """The name in an error of resolve, which prints it with repr."""
    text = str(error).removeprefix("Unknown span group or preset: ")
    return ast.literal_eval(text[: text.rindex(". Valid options: ")])


def answer_histories(histories, registry, state):
    for history in histories:
        registry.clear()
        state.set_enabled_span_groups(frozenset())
        state.set_span_group_spec(history["bound_spec"])
        for step in history["steps"]:
            for answer in ("enabled", "pending", "error", "after"):
                step.pop(answer, None)
            try:
                replay(step, registry, state)
            except ValueError as e:
                names = [name for text, name in ERRORS.items() if text in str(e)]
                if not names:
                    sys.exit(f"registry.json has no name for this error of nemo-lens: {e}\nstep: {step}")
                step["error"] = names[0]
            step["after"] = {
                "groups": sorted(registry.groups()),
                "namespaces": registry.namespaces(),
                "presets": {name: sorted(members) for name, members in sorted(registry.presets().items())},
                "bound_enabled": sorted(state._ENABLED_GROUPS),
                "bound_pending": sorted(state._PENDING),
            }


def replay(step, registry, state):
    match step["op"]:
        case "register":
            registry.register(step["namespace"], step["groups"], step["presets"], allow_override=step["override"])
        case "unregister":
            registry.unregister(step["namespace"])
        case "resolve":
            enabled, pending = registry.resolve(step["spec"])
            step["enabled"], step["pending"] = sorted(enabled), sorted(pending)
        case "set_spec":
            state.set_span_group_spec(step["spec"])
        case "pin":
            state.set_enabled_span_groups(frozenset(step["groups"]))


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    logging.disable()
    groups, state = load(sys.argv[1])
    root = pathlib.Path(__file__).parent.parent
    if hasattr(groups, "SpanGroup"):
        file = root / "testdata/spec.json"
        vectors = json.loads(file.read_text())
        answer_specs(vectors, groups)
    else:
        file = root / "registry/testdata/registry.json"
        vectors = json.loads(file.read_text())
        answer_histories(vectors, groups.SpanRegistry, state)
    file.write_text(json.dumps(vectors, indent=0))


main()
