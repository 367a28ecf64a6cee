"""Scripted model servers: one HTTP server on loopback that speaks the four protocols of the
agents, streaming. It plays a script, a list of tool calls in neutral words, one after the other,
and keeps every request that it got.

A request offers tools and carries the results of the calls so far; their number says which call
of the script is next. So the server needs no memory of who is who: side requests (titles,
routers) offer no tools and get a plain text, a repeated request gets the same answer, and agents
that run at the same time do not disturb each other.
"""

import http.server
import json
import re
import socketserver
import sys
import threading

DONE = "that was all"
PATHS = {
    "anthropic": re.compile(r"/v1/messages\b"),
    "responses": re.compile(r"/v1/responses\b"),
    "gemini": re.compile(r"/v1beta/models/([^:]+):(streamGenerateContent|generateContent)\b"),
    "chat": re.compile(r"/v1/chat/completions\b"),
}


def shell_quote(text):
    return "'" + text.replace("'", "'\\''") + "'"


def as_shell(call):
    """A file call in the words of a shell, for agents that have no tool for files."""
    if call["tool"] == "write":
        return f"printf %s {shell_quote(call['content'])} > {shell_quote(call['path'])}"
    if call["tool"] == "read":
        return f"cat {shell_quote(call['path'])}"
    return call["command"]


def claude_tool(call):
    if call["tool"] == "write":
        return "Write", {"file_path": call["path"], "content": call["content"]}
    if call["tool"] == "read":
        return "Read", {"file_path": call["path"]}
    return "Bash", {"command": call["command"], "description": "as told"}


def codex_tool(call):
    return "exec_command", {"cmd": as_shell(call), "yield_time_ms": 20000}


def gemini_tool(call):
    if call["tool"] == "write":
        return "write_file", {"file_path": call["path"], "content": call["content"]}
    if call["tool"] == "read":
        return "read_file", {"file_path": call["path"]}
    return "run_shell_command", {"command": call["command"], "description": "as told"}


def opencode_tool(call):
    if call["tool"] == "write":
        return "write", {"filePath": call["path"], "content": call["content"]}
    if call["tool"] == "read":
        return "read", {"filePath": call["path"]}
    return "bash", {"command": call["command"], "description": "as told"}


def count_after_last(items, is_result, is_user):
    """How many results came since the user last spoke."""
    n = 0
    for item in items:
        if is_result(item):
            n += 1
        elif is_user(item):
            n = 0
    return n


class Anthropic:
    """POST /v1/messages"""

    @staticmethod
    def wants_tools(body):
        return bool(body.get("tools"))

    @staticmethod
    def results(body):
        n, texts = 0, []
        for message in body["messages"]:
            content = message["content"]
            if message["role"] != "user":
                continue
            blocks = [] if isinstance(content, str) else content
            results = [b for b in blocks if b["type"] == "tool_result"]
            # texts beside a result (reminders) are no new words of the user
            n = n + len(results) if results else 0
            for b in results:
                c = b.get("content", "")
                texts.append(c if isinstance(c, str) else "".join(x.get("text", "") for x in c))
        return n, texts

    @staticmethod
    def call(n, call, body):
        name, args = claude_tool(call)
        block = {"type": "tool_use", "id": f"toolu_{n:04d}", "name": name, "input": {}}
        delta = {"type": "input_json_delta", "partial_json": json.dumps(args)}
        return Anthropic._stream(block, delta, "tool_use", body)

    @staticmethod
    def text(text, body):
        return Anthropic._stream(
            {"type": "text", "text": ""}, {"type": "text_delta", "text": text}, "end_turn", body
        )

    @staticmethod
    def _stream(block, delta, stop, body):
        usage = {"input_tokens": 1, "output_tokens": 1}
        start = {
            "id": "msg_1",
            "type": "message",
            "role": "assistant",
            "model": body.get("model", "m"),
            "content": [],
            "stop_reason": None,
            "stop_sequence": None,
            "usage": usage,
        }
        if not body.get("stream"):
            whole = dict(block)
            if block["type"] == "text":
                whole["text"] = delta["text"]
            else:
                whole["input"] = json.loads(delta["partial_json"])
            return "json", dict(start, content=[whole], stop_reason=stop)
        events = [
            {"type": "message_start", "message": start},
            {"type": "content_block_start", "index": 0, "content_block": block},
            {"type": "content_block_delta", "index": 0, "delta": delta},
            {"type": "content_block_stop", "index": 0},
            {
                "type": "message_delta",
                "delta": {"stop_reason": stop, "stop_sequence": None},
                "usage": usage,
            },
            {"type": "message_stop"},
        ]
        return "sse", [(e["type"], e) for e in events]


class Responses:
    """POST /v1/responses"""

    @staticmethod
    def wants_tools(body):
        return bool(body.get("tools"))

    @staticmethod
    def results(body):
        items = body["input"]
        if isinstance(items, str):
            return 0, []
        n = count_after_last(
            items,
            lambda i: i.get("type") == "function_call_output",
            lambda i: i.get("role") == "user",
        )
        texts = [
            i["output"] if isinstance(i["output"], str) else json.dumps(i["output"])
            for i in items
            if i.get("type") == "function_call_output"
        ]
        return n, texts

    @staticmethod
    def call(n, call, _body):
        name, args = codex_tool(call)
        return Responses._stream(
            {
                "type": "function_call",
                "id": f"fc_{n}",
                "call_id": f"call_{n}",
                "name": name,
                "arguments": json.dumps(args),
                "status": "completed",
            }
        )

    @staticmethod
    def text(text, _body):
        return Responses._stream(
            {
                "type": "message",
                "id": "msg_1",
                "role": "assistant",
                "status": "completed",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        )

    @staticmethod
    def _stream(item):
        usage = {
            "input_tokens": 1,
            "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": 1,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": 2,
        }
        answer = {"id": "resp_1", "object": "response", "status": "completed"}
        events = [
            {"type": "response.created", "response": dict(answer, status="in_progress")},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": dict(answer, output=[item], usage=usage)},
        ]
        return "sse", [(e["type"], e) for e in events]


class Gemini:
    """POST /v1beta/models/M:generateContent and :streamGenerateContent"""

    @staticmethod
    def wants_tools(body):
        return any(t.get("functionDeclarations") for t in body.get("tools", []))

    @staticmethod
    def results(body):
        parts = []
        for content in body["contents"]:
            for p in content["parts"]:
                parts.append(dict(p, role=content.get("role", "user")))
        n = count_after_last(
            parts,
            lambda p: "functionResponse" in p,
            lambda p: p["role"] == "user" and "text" in p,
        )
        texts = [
            json.dumps(p["functionResponse"]["response"]) for p in parts if "functionResponse" in p
        ]
        return n, texts

    @staticmethod
    def call(n, call, body):
        name, args = gemini_tool(call)
        # it checks that thoughts are signed; any base64 will do
        return Gemini._answer(
            {
                "functionCall": {"name": name, "args": args, "id": f"call{n}"},
                "thoughtSignature": "bW9jaw==",
            },
            body,
        )

    @staticmethod
    def text(text, body):
        config = body.get("generationConfig", {})
        if config.get("responseMimeType") == "application/json":
            text = json.dumps({"complexity_reasoning": "scripted", "complexity_score": 90})
        return Gemini._answer({"text": text}, body)

    @staticmethod
    def _answer(part, body):
        usage = {"promptTokenCount": 1, "candidatesTokenCount": 1, "totalTokenCount": 2}
        content = {"role": "model", "parts": [part]}
        answer = {
            "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
            "usageMetadata": usage,
        }
        return ("sse", [(None, answer)]) if body["__stream"] else ("json", answer)


class Chat:
    """POST /v1/chat/completions"""

    @staticmethod
    def wants_tools(body):
        return bool(body.get("tools"))

    @staticmethod
    def results(body):
        n = count_after_last(
            body["messages"],
            lambda m: m["role"] == "tool",
            lambda m: m["role"] == "user",
        )
        texts = [
            m["content"] if isinstance(m["content"], str) else json.dumps(m["content"])
            for m in body["messages"]
            if m["role"] == "tool"
        ]
        return n, texts

    @staticmethod
    def call(n, call, body):
        name, args = opencode_tool(call)
        function = {"name": name, "arguments": json.dumps(args)}
        one = {"index": 0, "id": f"call_{n}", "type": "function", "function": function}
        message = {"role": "assistant", "content": None, "tool_calls": [one]}
        return Chat._answer(message, "tool_calls", body)

    @staticmethod
    def text(text, body):
        return Chat._answer({"role": "assistant", "content": text}, "stop", body)

    @staticmethod
    def _answer(message, reason, body):
        head = {"id": "chatcmpl_1", "created": 1, "model": body.get("model", "m")}
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": reason}
            return "json", dict(head, object="chat.completion", choices=[choice], usage=usage)
        head["object"] = "chat.completion.chunk"
        chunks = [
            dict(head, choices=[{"index": 0, "delta": message, "finish_reason": None}]),
            dict(head, choices=[{"index": 0, "delta": {}, "finish_reason": reason}], usage=usage),
        ]
        return "sse", [(None, c) for c in chunks] + [(None, "[DONE]")]


PROTOCOLS = {"anthropic": Anthropic, "responses": Responses, "gemini": Gemini, "chat": Chat}


class Request:
    """One request as it came in."""

    def __init__(self, method, path, headers, raw):
        self.method = method
        self.path = path
        self.headers = {k.lower(): v for k, v in headers}
        self.raw = raw
        self.protocol = next((n for n, p in PATHS.items() if p.search(path)), None)

    @property
    def whole(self):
        """Everything that reached the server, for a search for canaries."""
        head = "".join(f"{k}: {v}\n" for k, v in self.headers.items())
        return f"{self.method} {self.path}\n{head}\n".encode() + self.raw


class Model:
    """The server, with its script. Use as a context manager."""

    def __init__(self, script=(), port=0):
        self.script = list(script)
        self.orders = {}  # {word: script}: for a request that holds the word, the last one counts
        self.requests = []
        self.errors = []
        self._lock = threading.Lock()
        self._server = _Server(("127.0.0.1", port), _Handler)
        self._server.model = self
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.05,))
        self.port = self._server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"

    def __enter__(self):
        self._thread.start()
        return self

    def __exit__(self, *_):
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def keep(self, request):
        with self._lock:
            self.requests.append(request)

    def answer(self, request):
        """("sse", [(event, data)...]) or ("json", data) for a request to a model."""
        protocol = PROTOCOLS[request.protocol]
        body = json.loads(request.raw)
        body["__stream"] = ":streamGenerateContent" in request.path
        if not protocol.wants_tools(body):
            return protocol.text("a title", body)
        n, _ = protocol.results(body)
        script = self._script_for(request)
        if n < len(script):
            return protocol.call(n, script[n], body)
        return protocol.text(DONE, body)

    def _script_for(self, request):
        at = {request.raw.rfind(word): script for word, script in self.orders.items()}
        last = max(at, default=-1)
        return at[last] if last >= 0 else self.script

    def results(self):
        """What the tools said to the last complete request, one text a call."""
        best = []
        with self._lock:
            for r in self.requests:
                if r.protocol and r.raw:
                    _, texts = PROTOCOLS[r.protocol].results(json.loads(r.raw))
                    best = max(best, texts, key=len)
        return best

    def heard(self, canary):
        """True when the text reached the server, in whatever place of a request."""
        plain = canary.encode()
        with self._lock:
            return any(plain in r.whole for r in self.requests)

    def asked(self):
        """How many requests came for a model."""
        with self._lock:
            return sum(r.protocol is not None for r in self.requests)


class _Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True
    model = None

    def handle_error(self, request, client_address):
        kind, value, _ = sys.exc_info()
        if kind not in (BrokenPipeError, ConnectionResetError):
            self.model.errors.append(repr(value))


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def _take(self):
        length = int(self.headers.get("content-length") or 0)
        raw = self.rfile.read(length)
        request = Request(self.command, self.path, self.headers.items(), raw)
        self.server.model.keep(request)
        return request

    def _send(self, kind, body):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("connection", "close")
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)
        self.close_connection = True

    def do_GET(self):
        self._take()
        self._send("application/json", b"{}")

    do_HEAD = do_GET

    def do_POST(self):
        request = self._take()
        if request.protocol is None:
            return self._send("application/json", b"{}")
        kind, data = self.server.model.answer(request)
        if kind == "json":
            return self._send("application/json", json.dumps(data).encode())
        out = []
        for event, value in data:
            if event:
                out.append(f"event: {event}\n")
            out.append(f"data: {value if isinstance(value, str) else json.dumps(value)}\n\n")
        return self._send("text/event-stream", "".join(out).encode())
