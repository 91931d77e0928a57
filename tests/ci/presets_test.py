"""Warnings are errors in what CI builds, and in nothing that users build. argv[1]: the source tree."""
import json
import pathlib
import re
import sys

ROOT = pathlib.Path(sys.argv[1])
OF_CI = ["ci/stages/30-build.sh", "ci/stages/60-engine-alone.sh", "ci/stages/65-cuda.sh", "ci/stages/70-asan.sh",
         "ci/stages/75-tsan.sh", "ci/fuzz.sh"]
OF_USERS = ["ci/setup.sh", "containers/Containerfile", "README.md", "harness/pairs/commit_build.cpp"]
PRESETS = {p["name"]: p for p in json.loads((ROOT / "CMakePresets.json").read_text())["configurePresets"]}


def variable(preset, name):
    """As CMake finds it: the preset's own value, then the first that a preset above it has."""
    own = preset.get("cacheVariables", {})
    if name in own:
        return own[name]
    above = preset.get("inherits", [])
    for parent in [above] if isinstance(above, str) else above:
        found = variable(PRESETS[parent], name)
        if found is not None:
            return found
    return None


def wrong(path, expected):
    text = (ROOT / path).read_text()
    named = re.findall(r'cmake"?,? (?:-S \S+ )?"?--preset"?,? "?([\w-]+)', text)
    if not named:
        yield f"{path} configures no preset"
    for name in named:
        found = variable(PRESETS[name], "PERFBENCH_WERROR")
        if found != expected:
            yield f"{path} configures '{name}': PERFBENCH_WERROR is {found}, expected {expected}"


problems = [p for path in OF_CI for p in wrong(path, "ON")] + [p for path in OF_USERS for p in wrong(path, None)]
print("\n".join(problems))
sys.exit(1 if problems else 0)
