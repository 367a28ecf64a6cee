#!/usr/bin/python3 -IS
"""Stands in for an agent where the real ones are not installed: speaks the Messages protocol with
the model, runs the tools that it is told to run, keeps a transcript, and continues it.

    standin.py [--dangerously-skip-permissions] [--continue] -p PROMPT
"""

import http.client
import json
import os
import subprocess
import sys
import time
import urllib.parse

TOOLS = [{"name": n, "input_schema": {"type": "object"}} for n in ("Bash", "Read", "Write")]


def say(kind, **fields):
    print(json.dumps({"type": kind, **fields}), flush=True)


def transcript():
    slug = "".join(c if c.isascii() and c.isalnum() else "-" for c in os.getcwd())
    return os.path.join(os.environ["HOME"], ".claude/projects", slug, "session.jsonl")


def ask(messages):
    url = urllib.parse.urlsplit(os.environ["ANTHROPIC_BASE_URL"])
    body = {"model": "stand-in", "max_tokens": 100, "tools": TOOLS, "messages": messages}
    headers = {"content-type": "application/json", "x-api-key": os.environ["ANTHROPIC_API_KEY"]}
    connection = http.client.HTTPConnection(url.hostname, url.port, timeout=10)
    connection.request("POST", "/v1/messages", json.dumps(body), headers)
    return json.loads(connection.getresponse().read())


def run(name, args):
    if name == "Bash":
        done = subprocess.run(
            ["/bin/sh", "-c", args["command"]],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            check=False,
        )
        return done.stdout.decode(errors="replace"), done.returncode != 0
    try:
        if name == "Read":
            with open(args["file_path"], encoding="utf-8") as f:
                return f.read(), False
        with open(args["file_path"], "w", encoding="utf-8") as f:
            f.write(args["content"])
        return "written", False
    except OSError as error:
        return str(error), True


def load(resume):
    if not resume:
        return []
    with open(transcript(), encoding="utf-8") as f:
        return [json.loads(line) for line in f]


def save(messages):
    try:
        os.makedirs(os.path.dirname(transcript()), exist_ok=True)
        with open(transcript(), "w", encoding="utf-8") as f:
            f.writelines(json.dumps(m) + "\n" for m in messages)
    except OSError as error:
        print(f"stand-in: the transcript is lost: {error}", file=sys.stderr)


def talk(messages):
    while True:
        answer = ask(messages)
        messages.append({"role": "assistant", "content": answer["content"]})
        say("assistant", message={"content": answer["content"]})
        results = []
        for block in answer["content"]:
            if block["type"] == "tool_use":
                text, failed = run(block["name"], block["input"])
                results.append(
                    {
                        "type": "tool_result",
                        "tool_use_id": block["id"],
                        "content": text,
                        "is_error": failed,
                    }
                )
        if not results:
            return
        messages.append({"role": "user", "content": results})
        say("user", message={"content": results})


def orders():
    return os.path.join(os.environ["HOME"], ".claude/daemon/dispatch")


def dispatch(order):
    """As claude: leaves the order where the daemon finds it; starts one where there is none."""
    if not os.path.isdir(orders()):
        os.makedirs(orders())
        null = {n: subprocess.DEVNULL for n in ("stdin", "stdout", "stderr")}
        words = ["/usr/bin/python3", "-IS", __file__, "daemon"]
        with subprocess.Popen(words, start_new_session=True, **null) as daemon:
            daemon.returncode = 0  # nobody waits for it
    name = os.path.join(orders(), f"{len(os.listdir(orders()))}.json")
    with open(name + ".new", "w", encoding="utf-8") as f:
        json.dump(order, f)
    os.rename(name + ".new", name)
    return 0


def obey():
    """Does what is found there, in the order of the names; never ends."""
    done = set()
    while True:
        for name in sorted(set(os.listdir(orders())) - done):
            if name.endswith(".json"):
                done.add(name)
                with open(os.path.join(orders(), name), encoding="utf-8") as f:
                    talk([{"role": "user", "content": json.load(f)}])
        time.sleep(0.05)


def main():
    words = [w for w in sys.argv[1:] if w != "--dangerously-skip-permissions"]
    if words == ["--version"]:
        print("stand-in 1")
        return 0
    if words == ["daemon"]:
        return obey()
    if words[:1] == ["--bg"]:
        return dispatch(words[1])
    if len(words) == len(sys.argv) - 1:
        print("stand-in: it would ask before every call, and nobody answers", file=sys.stderr)
        return 1
    resume = words[0] == "--continue"
    if words[resume] != "-p":
        return 2
    messages = load(resume)
    messages.append({"role": "user", "content": words[resume + 1]})
    say("system", subtype="init")
    try:
        talk(messages)
    except OSError as error:
        print(f"stand-in: no model: {error}", file=sys.stderr)
        return 1
    save(messages)
    say("result", subtype="success")
    return 0


sys.exit(main())
