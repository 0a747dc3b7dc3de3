"""The proxy of the examples beside HAProxy, on the same backends and in one run: proxy.py PROXY [--seconds S] [--rounds N]
[--record FILE].

Both forward TCP by weight to four backends, with two threads each. `wrk` asks them in turns, in short blocks, first and second
changing places, so that what else the machine does falls on both alike; the ratio of each pair is taken, and the median of
the ratios told. Two loads: connections that are kept, where a proxy copies bytes, and one connection for each request, where
it also chooses and connects.

Needs haproxy, which also serves as the backends, and wrk: Debian's packages of these names.
"""

import argparse
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import tempfile
import time

WEIGHTS = (5, 3, 1, 1)
CONNECTIONS = 32
LOADS = {"kept connections": [], "a connection a request": ["-H", "Connection: close"]}
UNITS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "m": 6e4}


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


DEFAULTS = """
global
    nbthread {threads}
    maxconn 400
defaults
    mode {mode}
    timeout connect 3s
    timeout client 60s
    timeout server 60s
"""


def backend_config(ports):
    binds = "".join(f"    bind 127.0.0.1:{port}\n" for port in ports)
    answer = '    http-request return status 200 content-type text/plain string "ok"\n'
    return DEFAULTS.format(threads=2, mode="http") + "frontend backends\n" + binds + answer


def proxy_config(port, backends):
    servers = "".join(
        f"    server s{at} 127.0.0.1:{backend} weight {weight}\n"
        for at, (backend, weight) in enumerate(zip(backends, WEIGHTS))
    )
    return DEFAULTS.format(threads=2, mode="tcp") + f"listen proxy\n    bind 127.0.0.1:{port}\n    balance random(1)\n" + servers


def wait_for(port, processes):
    while all(process.poll() is None for process in processes):
        with socket.socket() as probe:
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.05)
    raise SystemExit(f"nothing listens at {port}: a server has ended")


def ask(port, seconds, options):
    """Requests a second, and the latencies in milliseconds of half and of 99 % of them."""
    command = ["wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--latency", *options, f"http://127.0.0.1:{port}/"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    if "Non-2xx" in out or "Socket errors" in out:
        raise SystemExit(f"requests failed:\n{out}")

    def latency(percent):
        value, unit = re.search(rf"^\s+{percent}%\s+([\d.]+)(us|ms|s|m)$", out, re.M).groups()
        return float(value) * UNITS[unit]

    return {"rate": float(re.search(r"Requests/sec:\s+([\d.]+)", out)[1]), "p50_ms": latency(50), "p99_ms": latency(99)}


def machine():
    cpu = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text())
    version = subprocess.run(["haproxy", "-v"], capture_output=True, text=True, check=True).stdout
    return {
        "cpu": cpu[1] if cpu else "unknown",
        "cores": os.cpu_count(),
        "load_before": os.getloadavg()[0],
        "haproxy": version.split()[2],
        "date": time.strftime("%Y-%m-%d"),
    }


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("proxy", type=pathlib.Path)
    arguments.add_argument("--seconds", type=int, default=3, help="of a block")
    arguments.add_argument("--rounds", type=int, default=10, help="pairs of blocks for each load")
    arguments.add_argument("--record", type=pathlib.Path, help="where to keep the result as JSON")
    given = arguments.parse_args()

    *backends, ours, gray, theirs = free_ports(len(WEIGHTS) + 3)
    record = {"machine": machine(), "seconds": given.seconds, "connections": CONNECTIONS, "loads": {}}
    with tempfile.TemporaryDirectory() as folder:
        files = {name: pathlib.Path(folder) / name for name in ("backends.cfg", "haproxy.cfg", "instances.json")}
        files["backends.cfg"].write_text(backend_config(backends))
        files["haproxy.cfg"].write_text(proxy_config(theirs, backends))
        hosts = [
            {"ip": "127.0.0.1", "port": port, "weight": weight, "healthy": True, "metadata": {"version": "stable"}}
            for port, weight in zip(backends, WEIGHTS)
        ]
        files["instances.json"].write_text(json.dumps({"hosts": hosts}))
        started = []
        try:
            for command in (
                ["haproxy", "-db", "-f", files["backends.cfg"]],
                ["haproxy", "-db", "-f", files["haproxy.cfg"]],
                [given.proxy, files["instances.json"], str(ours), str(gray), "2"],
            ):
                started.append(subprocess.Popen(command, stdout=subprocess.DEVNULL))
            for port in (*backends, theirs, ours):
                wait_for(port, started)
            for name, options in LOADS.items():
                blocks = []
                for number in range(given.rounds):
                    order = [("proxy.c", ours), ("haproxy", theirs)]
                    block = {}
                    for side, port in order if number % 2 == 0 else reversed(order):
                        block[side] = ask(port, given.seconds, options)
                    blocks.append(block)
                record["loads"][name] = blocks
                tell(name, blocks)
        finally:
            for process in started:
                process.kill()
                process.wait()
    record["machine"]["load_after"] = os.getloadavg()[0]
    print("{cpu}, {cores} cores, HAProxy {haproxy}, load {load_before:.1f} to {load_after:.1f}".format(**record["machine"]))
    if given.record:
        given.record.write_text(json.dumps(record, indent=1) + "\n")


def tell(name, blocks):
    print(name)
    for measure, unit in (("rate", "requests/s"), ("p50_ms", "ms, half of the requests"), ("p99_ms", "ms, 99 %")):
        values = {side: statistics.median(block[side][measure] for block in blocks) for side in ("proxy.c", "haproxy")}
        ratios = sorted(block["proxy.c"][measure] / block["haproxy"][measure] for block in blocks)
        quarter = len(ratios) // 4
        print(
            f"  proxy.c {values['proxy.c']:10.2f}   haproxy {values['haproxy']:10.2f} {unit};"
            f" ratio {statistics.median(ratios):.2f}, middle half {ratios[quarter]:.2f} to {ratios[-1 - quarter]:.2f}"
        )


main()
