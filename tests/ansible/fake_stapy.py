"""A stapy that compiles nothing: its modules are JSON, and its stapy-run obeys the script's text.

Each of its builds adds a line to the file that $BUILDS names.
"""

import json
import os
import sys
from pathlib import Path

RUNNER = """
import json, os, signal, sys, time
at = sys.argv.index("--")
module = json.load(open(sys.argv[at + 1]))
for line in module["text"].split(";"):
    word, _, rest = line.strip().partition(" ")
    if word == "print":
        print(rest, flush=True)
    elif word == "words":
        print(json.dumps(sys.argv[1:at] + sys.argv[at + 2:]))
    elif word == "complain":
        print(rest, file=sys.stderr, flush=True)
    elif word == "exit":
        sys.exit(int(rest))
    elif word == "flood":
        sys.stdout.write("x" * int(rest)), sys.stdout.flush(), time.sleep(60)
    elif word == "bytes":
        sys.stdout.buffer.write(bytes.fromhex(rest))
    elif word == "hang":
        time.sleep(60)
    elif word == "deaf":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
"""


def main(words: "list[str]") -> int:
    """Obey as stapy would."""
    if words[0] == "pack":
        Path(words[1]).write_text(RUNNER)
        return 0
    with Path(os.environ["BUILDS"]).open("a", encoding="utf-8") as log:
        log.write(json.dumps(words) + "\n")
    rest = words[words.index("--message-format=rich") + 1 :]
    while rest[0] == "-G":
        del rest[:2]
    text = rest[1] if rest[0] == "-e" else Path(rest[0]).read_text("utf-8")
    if text.startswith("wrong"):
        print("WARNING: be careful\nsemantic error: it is wrong  [E0001]\n --> x", file=sys.stderr)
        return 1
    if text.startswith("silent"):
        return 0
    text += os.environ.get("MORE", "")  # two of them, made at the same time, have a file each
    place = Path(os.environ["BUILDS"]).with_name(f"made-{text.encode().hex()[-190:]}")
    place.mkdir(exist_ok=True)
    made = place / "stap_fake.ko"
    made.write_text(json.dumps({"text": text}))
    print(made)
    return 0


sys.exit(main(sys.argv[1:]))
