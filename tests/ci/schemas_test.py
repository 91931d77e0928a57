"""What `perfbench schema` prints is what runs leave: files of real runs, of this perfbench and of older ones, are valid by
the schemas, and no file that was damaged is. Skipped (77) without python3-jsonschema.

usage: schemas_test.py REPOSITORY BUILD
"""

import copy
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop())
REPOSITORY = pathlib.Path(sys.argv.pop())
try:
    from jsonschema import Draft202012Validator
except ImportError:
    print("skipped: no python3-jsonschema that knows draft 2020-12")
    sys.exit(77)

# These cells together have every list, mapping and part of a run that a CPU can have.
MATRIX = """name: schemas
defaults: {seq_len: 16, global_batch: 4, steps: 5, threads_per_rank: 1}
include:
  - {model: gpt-tiny, fsdp: 2, trace_steps: 1}
  - {model: moe-tiny, remat: custom, remat_custom.query_proj: remat}
  - {model: llama-tiny, task: lora, lora.rank: 2, lora.targets: mlp, dropout.residual: 0.1}
  - {model: llama-tiny, profile.first_step: 3, profile.steps: 1}
  - {model: llama-tiny, checkpoint.every_steps: 2}
  - {model: llama-tiny, memory_limit_bytes: 1000}
"""
# There is no GPU here that could write one.
GPU_SAMPLE = """{"at_ns":5,"ecc_errors":0,"memory_clock_mhz":2619,"power_w":610.5,"processes":1,"rank":0,"sm_clock_mhz":1980,
"step":3,"temperature_celsius":54,"throttled_by_hardware":false,"throttled_by_heat":false,"throttled_by_power_cap":true,
"version":1}"""


def perfbench(*words, folder=None):
    environment = {**os.environ, "PERFBENCH_DATA_DIR": str(REPOSITORY)}
    return subprocess.run([BUILD / "bin/perfbench", *words], cwd=folder, env=environment, capture_output=True, text=True)


def documents_of(file):
    """The schema's name for a file of a run directory, and its documents."""
    text = file.read_text()
    return file.name.split(".")[0].rstrip("0123456789"), [json.loads(part) for part in (text.splitlines() if file.suffix == ".jsonl" else [text])]


def damaged(schema, document):
    """The document with one thing wrong, in every place: (what, document)."""
    if "properties" in schema:
        yield "an unknown key", {**document, "no_such_key": 1}
        for key, below in schema["properties"].items():
            if key in document:
                for what, value in damaged(below, document[key]):
                    yield f"{key}: {what}", {**document, key: value}
            if key in schema["required"]:
                yield f"no {key}", {k: v for k, v in document.items() if k != key}
    elif "items" in schema:
        yield "no list", {}
        for what, value in damaged(schema["items"], document[0]) if document else ():
            yield what, [value, *document[1:]]
    elif "additionalProperties" in schema:
        yield "no mapping", []
        for key in list(document)[:1]:
            for what, value in damaged(schema["additionalProperties"], document[key]):
                yield what, {**document, key: value}
    elif "enum" in schema:
        yield "an unknown word", "no such word"
    else:
        yield "another type", [document]
        if "minimum" in schema:
            yield "too little", schema["minimum"] - 1
        if "maximum" in schema:
            yield "too much", schema["maximum"] + 1


class Schemas(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.scratch.name)
        (folder / "schemas.yaml").write_text(MATRIX)
        sweep = perfbench("sweep", "schemas.yaml", "--db", "s.db", folder=folder)
        assert sweep.returncode == 0, sweep.stdout + sweep.stderr
        cls.files = sorted([*folder.glob("s.runs/*/*/*.json*"), *folder.glob("s.runs/*/*/checkpoints/*/*.json")])
        listed = perfbench("schema").stdout.splitlines()
        cls.schemas = {line.split()[0]: json.loads(perfbench("schema", line.split()[0]).stdout) for line in listed}
        cls.validators = {name: Draft202012Validator(schema) for name, schema in cls.schemas.items()}

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def expect_valid(self, file):
        name, documents = documents_of(file)
        for number, document in enumerate(documents, 1):
            wrong = [f"{file}:{number}: {e.json_path}: {e.message}" for e in self.validators[name].iter_errors(document)]
            self.assertEqual(wrong, [])
        return name

    def test_are_schemas_themselves(self):
        for schema in self.schemas.values():
            Draft202012Validator.check_schema(schema)

    def test_take_what_a_run_leaves(self):
        seen = {self.expect_valid(file) for file in self.files}
        self.assertEqual(seen | {"gpu"}, set(self.schemas))
        self.validators["gpu"].validate(json.loads(GPU_SAMPLE))

    def test_take_what_older_engines_left(self):
        older = [*(REPOSITORY / "tests/harness/version1_run").glob("*.json*"),
                 *(REPOSITORY / "tests/ci/recorded_kit").glob("part*/cells/*/*.jsonl")]
        self.assertGreater(len({self.expect_valid(file) for file in older}), 5)

    def test_refuse_what_was_damaged(self):
        tried = {"gpu": 0}
        for name, document in [("gpu", json.loads(GPU_SAMPLE)), *self.documents_to_damage()]:
            schemas = self.schemas[name].get("oneOf", [self.schemas[name]])
            schema = next(s for s in schemas if Draft202012Validator(s).is_valid(document))
            for what, broken in damaged(schema, copy.deepcopy(document)):
                self.assertFalse(self.validators[name].is_valid(broken), f"{name}: {what}")
                tried[name] = tried.get(name, 0) + 1
        self.assertEqual(set(tried), set(self.schemas))
        self.assertGreater(min(tried.values()), 20, tried)

    def documents_to_damage(self):
        """Of each file of the runs the first and the last document."""
        for file in self.files:
            name, documents = documents_of(file)
            yield name, documents[0]
            yield name, documents[-1]

    def test_have_defaults_that_they_take(self):
        count = 0

        def look(schema):
            nonlocal count
            for below in schema.get("properties", {}).values():
                if "default" in below:
                    Draft202012Validator(below).validate(below["default"])
                    count += 1
                look(below)
                look(below.get("items", {}))
        for schema in self.schemas.values():
            look(schema)
        self.assertGreater(count, 30)

    def test_without_a_name_nearby_say_which_there_are(self):
        end = perfbench("schema", "nothing")
        self.assertEqual(end.returncode, 3)
        self.assertIn("one of: " + ", ".join(self.schemas), end.stderr)


unittest.main()
