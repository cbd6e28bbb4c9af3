"""Stands in for a driver: says what it was told to, and misbehaves on `--stand-in FAULT`."""

import json
import os
import sys
import time

words = sys.argv[1:]
fault = words[words.index("--stand-in") + 1] if "--stand-in" in words else ""
given = {word: words[index + 1] for index, word in enumerate(words[:-1]) if word.startswith("--")}

if fault == "die-at-start":
    sys.exit("stand-in: no such architecture")
settings = {
    "dtype": "float32" if fault == "dtype" else given["--dtype"],
    "n_threads": given["--threads"],
    "n_ctx": given["--context"],
    "cpu_capability": "AVX2",
    "attention": "sdpa" if fault == "attention" else "eager",
    "n_vocab": "3",
}
if fault == "silent":
    del settings["attention"]
build = {"stand-in": "9.9" if fault == "version" else "1.0", "path": " ".join(sys.path[:1])}
hello = {"ok": {"build": build, "settings": settings}}
print("not json" if fault == "garbage-hello" else json.dumps(hello), flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if fault == "die":
        print("stand-in: out of memory", file=sys.stderr, flush=True)
        os._exit(9)
    if fault == "hang":
        time.sleep(60)
    answers = {
        "tokenize": {"ids": [1, 2]},
        "detokenize": {"text": "ab"},
        "complete": {
            "ids": [2] * (1 if fault == "short" else request.get("max_tokens", 0)),
            "text": "b",
            "finish_reason": "length",
            "steps": [],
        },
    }
    answer = {"ok": answers.get(request["verb"])}
    if request["verb"] == "dump":
        with open(request["path"], "w") as file:
            file.write(" ".join(map(str, request["ids"])))
    if request["verb"] == "render_chat":
        answer = {"error": {"kind": "refused", "message": "the checkpoint has no chat template"}}
    print("}{" if fault == "garbage" else json.dumps(answer), flush=True)
