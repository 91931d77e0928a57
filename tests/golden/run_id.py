"""The run id of the run in run_id.json, by Python's json and hashlib: keys sorted, no white space, shortest decimals.

    python3 tests/golden/run_id.py          # compare
    python3 tests/golden/run_id.py --write  # rewrite, after a deliberate change of RunSpec's fields
"""

import hashlib
import json
import pathlib
import sys

path = pathlib.Path(__file__).with_name("run_id.json")
golden = json.loads(path.read_text())
canonical = json.dumps(golden["run"], sort_keys=True, separators=(",", ":"), ensure_ascii=False)
digest = hashlib.sha256(canonical.encode()).hexdigest()
if "--write" in sys.argv:
    golden["sha256"] = digest
    path.write_text(json.dumps(golden, indent=2, ensure_ascii=False) + "\n")
print(digest, "equal" if digest == golden["sha256"] else "DIFFERENT")
sys.exit(digest != golden["sha256"])
