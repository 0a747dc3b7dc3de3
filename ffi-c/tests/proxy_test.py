"""The proxy of the examples from end to end: proxy_test.py PROXY. Real HTTP backends on loopback."""

import asyncio
import json
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter

HERE = pathlib.Path(__file__).parent
REQUEST = b"GET / HTTP/1.1\r\nHost: test\r\n\r\n"
CONCURRENCY = 24
# Seconds after which something hangs, on however slow a machine.
PATIENCE = 60

# name -> weight, version, healthy
BACKENDS = {"a": (5, "stable"), "b": (3, "stable"), "c": (1, "stable"), "drained": (0, "stable"), "gray": (2, "gray")}


class Backend:
    def __init__(self, name):
        command = [sys.executable, HERE / "backend.py", name]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        self.port = int(self.process.stdout.readline())

    def kill(self):
        self.process.kill()
        self.process.wait()


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def write_list(path, backends, weights):
    hosts = [
        {"ip": "127.0.0.1", "port": backends[name].port, "weight": weight, "healthy": True,
         "metadata": {"version": BACKENDS[name][1]}}
        for name, weight in weights.items()
    ]
    path.write_text(json.dumps({"hosts": hosts}))


async def ask(port):
    """The name of the backend that answered; None where the answer is broken."""
    writer = None
    try:
        reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), PATIENCE)
        writer.write(REQUEST)
        answer = await asyncio.wait_for(reader.read(), PATIENCE)
        head, _, body = answer.partition(b"\r\n\r\n")
        return body.decode() if head.startswith(b"HTTP/1.1 200") else None
    except OSError:
        return None
    finally:
        if writer:
            writer.close()


async def load(port, count, at=None):
    """Asks `count` times; `at` is called when the key's number of requests is through. Returns the answers in order."""
    answers, asked = [], iter(range(count))

    async def work():
        for number in asked:
            if at and number in at:
                at[number]()
            answers.append(await ask(port))

    await asyncio.gather(*(work() for _ in range(CONCURRENCY)))
    return answers


def chi_square(counts, weights):
    total, sum_of_weights = sum(counts.values()), sum(weights.values())
    expected = {name: total * weight / sum_of_weights for name, weight in weights.items()}
    return sum((counts[name] - value) ** 2 / value for name, value in expected.items())


def check(condition, what):
    if not condition:
        raise SystemExit(f"failed: {what}")


def main():
    began = time.monotonic()
    backends = {name: Backend(name) for name in BACKENDS}
    plain, gray = free_ports(2)
    weights = {name: weight for name, (weight, _) in BACKENDS.items()}
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "instances.json"
        write_list(path, backends, weights)
        command = [sys.argv[1], path, str(plain), str(gray), "2"]
        proxy = subprocess.Popen(command, stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        try:
            check(proxy.stderr.readline() == "ready\n", "the proxy starts")

            # By weight; 27.63 is the 99.9999 % quantile of chi-square with two degrees of freedom.
            answers = Counter(asyncio.run(load(plain, 20000)))
            check(set(answers) == {"a", "b", "c"}, f"only stable backends answer: {answers}")
            statistic = chi_square(answers, {name: weights[name] for name in "abc"})
            check(statistic < 27.63, f"shares by weight: {answers}, chi-square {statistic:.1f}")
            print(f"by weight: {dict(answers)}, chi-square {statistic:.2f}")

            answers = Counter(asyncio.run(load(gray, 1000)))
            check(set(answers) == {"gray"}, f"only gray behind the gray port: {answers}")

            # A backend dies: what was not sent to it yet is answered by others.
            answers = asyncio.run(load(plain, 6000, {2000: backends["a"].kill}))
            lost = answers.count(None)
            check(lost <= CONCURRENCY, f"only what was under way is lost: {lost}")
            check(None not in answers[3000:], "nothing is lost later on")
            check("a" not in answers[3000:], "the dead do not answer")
            print(f"killed: {lost} of {len(answers)} lost, {CONCURRENCY} under way")

            # New lists under load: one less and other weights, then one that cannot be read.
            def turn_over():
                write_list(path, backends, {"b": 1, "c": 4, "drained": 0, "gray": 1})
                proxy.send_signal(signal.SIGHUP)

            def spoil():
                path.write_text("{")
                proxy.send_signal(signal.SIGHUP)

            answers = asyncio.run(load(plain, 12000, {1000: turn_over, 8000: spoil}))
            check(None not in answers, f"no error while lists change: {answers.count(None)}")
            after = Counter(answers[4000:])
            statistic = chi_square(after, {"b": 1, "c": 4})
            check(set(after) == {"b", "c"} and statistic < 23.93, f"shares of the new list: {after}, {statistic:.1f}")
            print(f"new list: {dict(after)}, chi-square {statistic:.2f}")

            proxy.send_signal(signal.SIGTERM)
            out, err = proxy.communicate(timeout=PATIENCE)
            check(proxy.returncode == 0, f"the proxy ends: {proxy.returncode} {err}")
            check("list 2" in err and "instances.json" in err, f"it tells of the lists: {err}")
            check(json.loads(out)["tiers"][0]["picks"] >= 39000, f"it has counted: {out}")
        finally:
            proxy.kill()
            for backend in backends.values():
                backend.kill()
    print(f"ok, {time.monotonic() - began:.0f} s")


main()
