#!/usr/bin/env python3
"""Finds sentences that are hard to read, in documents, comments, messages and names of tests.

usage: check_words.py [--count] [--strict] [PATH...]     PATH: files or folders of this repository; default: all of it

It reads Markdown, the comments and string literals of C++ and CUDA, and the comments of Python, shell, YAML, SQL and CMake.
The rules are in RULES below. A sentence in a document has at most 40 words. A source file that a comment or document names must exist. So
must the file and the heading that a link in a document points to.
--count prints the number of findings in each folder instead of the findings.
--strict also applies the patterns of STRICT. They find most headless clauses, but some of their findings are good English.
"""
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MOST_WORDS = 40  # in a sentence of a document

RULES = [(re.compile(pattern), advice) for pattern, advice in [
    (r"^Of (?!course)", "begins with \"Of\": begin with the subject"),
    (r"^(?:Who|Whoever|Whose|Whom)\b(?!.*\?$)", "begins with \"Who\": name the subject"),
    (r"^(?:What|Whatever)\b(?!.*\?$)", "begins with \"What\": name the subject"),
    (r"\b(?:for|by|to|from|with|than|as|of|and|only) who(?:m|ever)?\b", "headless \"who\": name the subject"),
    (r"(?<!there )\b(?:is|are|was|were|be) none\b", "\"is none\": say \"is not a ...\" or \"there is none\""),
    (r"\b(?:held|hold|holds|holding)(?: \S+){0,4} against\b", "\"held against\": say \"compared with\""),
    (r"\b(?:is|are|was) (?:not )?called so\b", "\"called so\": say what its name is"),
    (r"\bthe (?:one|ones|night|step|value|run|line|other) before\b", "\"the one before\": say \"the previous one\""),
    (r"\bunlike each other\b", "\"unlike each other\": say \"differently\""),
    (r"\b(?:as|than) (?:many|much|often|long|few)? ?as there (?:is|are)\b", "say \"all\" or give the number"),
    (r"\b(?:it|they) (?:is|are) that\b", "name the thing instead of \"that\""),
    (r"\bnothing of\b", "\"nothing of\": say \"no ...\""),
    (r"\bof (?:its|their|his) own\b(?= (?:is|are|has|have)\b)", "name the subject"),
    (r"^(?:That|Those) of\b", "begins with \"Those of\": repeat the noun"),
    (r"\bunless (?:it is )?(?:said|told|given)\b", "say what the default is"),
    (r"\bso (?:many|much)\b(?! (?:that|as|more|less|of)\b)", "give the number, or say \"that many\""),
    (r"\b(?:goes|going|gone|went) on\b", "say \"continues\""),
    (r"\bbut (?:for|that)\b", "say \"except\""),
    (r"\b(?:held|hold|holds) to\b", "\"held to\": say \"compared with\" or \"judged by\""),
    (r"\bunlike (?:machines|bits|sides|losses|numbers|values|ones)\b", "say \"different\""),
]]

STRICT = [(re.compile(pattern), advice) for pattern, advice in [
    (r"\b(?:and|or|of|by|for|with|from|than|in|to|as|on|but) what\b", "headless \"what\": name the thing"),
    (r"\b(?:is|are|was|were) what\b", "headless \"what\": name the thing"),
    (r"[,;:(] what(?:ever)?\b(?!.*\?$)", "headless \"what\": name the thing"),
    (r"\bwhere (?:there )?(?:is|are) (?:none|one|any)\b", "say \"if there is\""),
    (r"\bof which (?:none|neither|nothing)\b", "make it two sentences"),
    (r"\bin place of\b", "say \"instead of\""),
]]

SOURCE = {".h", ".cpp", ".cu", ".cuh", ".js"}
HASH = {".py", ".sh", ".yaml", ".cmake", ".awk"}
GENERATED = re.compile(r"golden/.*(?<!README)\.md$|third_party/")  # by the product or by others
FILE_NAME = re.compile(r"(?<![\w/.<{*-])((?:[\w-]+/)*[\w-]+\.(?:h|cpp|cu|cuh|py|sh|cmake))(?![\w*>])")
LINK = re.compile(r"\]\(([^()\s]+)\)")
FOREIGN = {"nvml.h", "sqlite3.h", "nccl.h", "cupti.h", "mpi.h", "httplib.h", "cudnn.h", "cudnn_frontend.h", "job_config.py", "gshard_utils.py", "moe.py", "configs.py", "train.py", "x.cpp",
           "run_clm.py", "configuration_llama.py", "collect_results.py", "scaled_dot_product_flash_attention.h", "session.sh", "run.sh"}  # files of other projects
LITERAL = re.compile(r'(?:u8|L)?"((?:[^"\\\n]|\\.)*)"')
RAW = re.compile(r'R"(\w*)\((.*?)\)\1"', re.DOTALL)
ITEM = re.compile(r"^\s*(?:[-*]|\d+\.|#+|>) ")  # of a list, a heading or a quotation
TEST_NAME = re.compile(r"^TEST(?:_F|_P)?\(\w+,\s*(\w+)\)", re.MULTILINE)


def joined(blocks):
    """Consecutive (line, text) pieces as one text each, with the line where it begins."""
    out = []
    last = None
    for line, text in blocks:
        if last is not None and line == last + 1 and text and out:
            out[-1] = (out[-1][0], out[-1][1] + " " + text)
        elif text:
            out.append((line, text))
        last = line if text else None
    return out


def comments_of_source(text):
    """The // and /* */ comments of C++; string literals may hold slashes and are skipped."""
    text = RAW.sub(lambda match: '""' + "\n" * match.group().count("\n"), text)
    blocks = []
    for number, line in enumerate(text.splitlines(), 1):
        bare = LITERAL.sub(lambda match: '"' + "_" * (len(match.group()) - 2) + '"', line)
        if (at := bare.find("//")) >= 0 and not bare[:at].endswith(":"):
            blocks.append((number, line[at:].strip("/ ").strip()))
    return joined(blocks)


def literals_of_source(text):
    """String literals with at least four words; literals that follow each other are one."""
    out = []
    code = re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE)
    for match in re.finditer(r'(?:"(?:[^"\\\n]|\\.)*"\s*)+', code):
        value = "".join(LITERAL.findall(match.group())).replace("\\n", " ").replace('\\"', '"')
        if len(value.split()) >= 4:
            out.append((code.count("\n", 0, match.start()) + 1, value))
    return out


def comments_after(text, mark):
    blocks = []
    for number, line in enumerate(text.splitlines(), 1):
        found = re.search(rf"(?:^|\s){mark}(?!!)\s?(.*)$", line)
        if found and line[:found.start()].count('"') % 2 == 0 and line[:found.start()].count("'") % 2 == 0:
            blocks.append((number, found.group(1).strip("# ")))
    return joined(blocks)


def paragraphs(text):
    """Markdown without its code blocks; an item of a list, a cell of a table and a heading are paragraphs of their own."""
    out = []
    inside = apart = False  # in a block of code; the next line begins a paragraph
    for number, line in enumerate(text.splitlines(), 1):
        fence = line.lstrip().startswith("```")
        inside ^= fence
        if fence or inside or line.startswith("    ") or not line.strip():
            apart = True
        elif line.lstrip().startswith("|"):
            out += [(number, cell.strip()) for cell in line.strip().strip("|").split("|")]
            apart = True
        elif apart or not out or ITEM.match(line):
            out.append((number, ITEM.sub("", line).strip()))
            apart = line.startswith("#")
        else:
            out[-1] = (out[-1][0], out[-1][1] + " " + line.strip())
    return out


def sentences(text):
    text = re.sub(r"`[^`]*`", "`x`", re.sub(r"\]\([^)]*\)", "]", text))
    return [part.strip(" *_[(\"") for part in re.split(r"(?<=[.!?])[\"')*]*\s+(?=[A-Z`*\[(\"])", text)]


def pieces(path):
    """(line, text, kind) of everything in a file that a person reads."""
    text = path.read_text(errors="replace")
    if path.suffix == ".md":
        return [(line, piece, "document") for line, piece in paragraphs(text)]
    if path.suffix in SOURCE:
        names = [(text.count("\n", 0, match.start()) + 1, match.group(1)) for match in TEST_NAME.finditer(text)]
        return [*((line, piece, "comment") for line, piece in comments_of_source(text)),
                *((line, piece, "message") for line, piece in literals_of_source(text)),
                *((line, re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name), "test") for line, name in names)]
    mark = "--" if path.suffix == ".sql" else "#"
    return [(line, piece, "comment") for line, piece in comments_after(text, mark)]


def of_document(kind, sentence):
    return kind == "document" and len(sentence.split()) > MOST_WORDS


def missing_files(piece, names):
    """Files that a comment or document names and that are not here. A path counts only if it begins with a folder of this repository."""
    for match in FILE_NAME.finditer(piece):
        name = match.group(1)
        ours = (ROOT / name.split("/")[0]).is_dir() if "/" in name else name not in FOREIGN and not name.startswith(("_", "train_gpt2"))
        if ours and "NAME" not in name and not any(known == name or known.endswith("/" + name) for known in names):
            yield name


def headings(text):
    """The anchors of a document's headings, as GitHub makes them."""
    lines, inside = [], False
    for line in text.splitlines():
        inside ^= line.lstrip().startswith("```")
        if line.startswith("#") and not inside:
            lines.append(re.sub(r"[^\w\- ]", "", line.lstrip("#").strip().lower()).replace(" ", "-"))
    return lines


def broken_links(path):
    """(line, target) of links of a document to files of this repository that are not there, or to headings that they lack."""
    inside = False
    for number, line in enumerate(path.read_text(errors="replace").splitlines(), 1):
        inside ^= line.lstrip().startswith("```")
        for target in [] if inside else LINK.findall(re.sub(r"`[^`]*`", "", line)):
            if re.match(r"[a-z]+:", target):
                continue
            name, _, anchor = target.partition("#")
            file = (path.parent / name).resolve() if name else path
            if not file.exists() or anchor and (file.suffix != ".md" or anchor not in headings(file.read_text())):
                yield number, target


def findings(path, names, rules):
    if path.suffix == ".md":
        yield from ((line, f"links to {target}, which does not exist", "") for line, target in broken_links(path))
    for line, piece, kind in pieces(path):
        for sentence in sentences(piece):
            for pattern, advice in rules:
                if pattern.search(sentence):
                    yield line, advice, sentence
            if of_document(kind, sentence):
                yield line, f"{len(sentence.split())} words: make it two sentences", sentence
        if kind in ("comment", "document"):
            yield from ((line, f"names {name}, which does not exist", piece) for name in missing_files(piece, names))


def listed(arguments):
    tracked = subprocess.run(["git", "ls-files", *arguments], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    return [name for name in tracked.split("\n") if name and (ROOT / name).exists()]


def main():
    counting = "--count" in sys.argv
    rules = RULES + STRICT if "--strict" in sys.argv else RULES
    names = listed([])
    counts = Counter()
    read = SOURCE | HASH | {".md", ".sql"}
    for name in listed([argument for argument in sys.argv[1:] if not argument.startswith("--")]):
        if Path(name).suffix not in read or GENERATED.search(name):
            continue
        for line, advice, sentence in findings(ROOT / name, names, rules):
            counts["/".join(name.split("/")[:2])] += 1
            if not counting:
                print(f"{name}:{line}: {advice}\n    {sentence[:200]}")
    if counting:
        for folder, count in sorted(counts.items()):
            print(f"{count:6} {folder}")
    print(f"check_words.py: {sum(counts.values())} findings")
    return 1 if counts else 0


if __name__ == "__main__":
    sys.exit(main())
