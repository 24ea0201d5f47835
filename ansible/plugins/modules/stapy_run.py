#!/usr/bin/python
"""Run a module of stapy on a host: what is documented here, and the host's side of it.

The controller's side is the action plugin of the same name.
"""

from __future__ import annotations

DOCUMENTATION = r"""
module: stapy_run
short_description: Trace a host with a script of the SystemTap language
version_added: 0.1.0
author:
  - the authors of stapy
description:
  - Builds a kernel module of a script with C(stapy) on the controller, once for each kernel release
    and architecture among the hosts, copies it with C(stapy-run), runs it for a limited time, and
    returns what it printed.
  - The module is unloaded and all copies are removed at the end, however it came about.
options:
  script:
    description: File of the script on the controller, looked for as the source of
      M(ansible.builtin.copy) is.
    type: path
  text:
    description: The script itself.
    type: str
  module:
    description:
      - A module that was built before (C(stapy -p4)), on the controller.
      - It must be made for the release of the host's kernel.
    type: path
  remote_src:
    description: C(module) is a file on the host. It is not removed.
    type: bool
    default: false
  arguments:
    description: Arguments of the script (C($1), C(@1)).
    type: list
    elements: str
    default: []
  options:
    description:
      - More options of C(stapy) that say how the module is made, each word an element, such as
        C(-DMAXMAPENTRIES=10000), C(--sign-module).
      - Names of files are relative to the playbook.
    type: list
    elements: str
    default: []
  globals:
    description:
      - Values of globals of the script by their names (C(-G)). Hosts with other values share the
        module.
      - For C(module) it must have been built with C(-G) for each of them.
    type: dict
    default: {}
  guru:
    description: Allow the script to change things (C(-g)). The task counts as changed then.
    type: bool
    default: false
  format:
    description: Form of the output (C(--format)); with C(json), C(records) has it parsed.
    type: str
    choices: [text, json, csv, folded]
    default: text
  command:
    description:
      - Command that is started on the host once the probes are armed (C(-c)); the session ends with
        it, or after C(timeout).
      - The task counts as changed then.
    type: str
  target:
    description: Number of the process on the host that C(target) means (C(-x)).
    type: int
  timeout:
    description: Seconds after which the session is ended, with its C(end) probes. A script may end
      it earlier by C(exit).
    type: float
    default: 10
  grace:
    description:
      - Seconds beyond C(timeout) that loading, starting and ending may take. Then the session is
        ended, and the task has failed.
    type: float
    default: 60
  output_limit:
    description: Megabytes (MiB) of output, and as many of messages, after which the session is
      ended, and the task has failed.
    type: int
    default: 16
  dest:
    description: File on the controller, relative to the playbook, for what the script prints; its
      folder is made.
    type: path
  build_in:
    description: Compile in a container (C(--build-in)), C(auto) for one with the compiler of the
      host's kernel.
    type: str
  stapy:
    description: How stapy is started on the controller; words as a shell takes them.
    type: str
    default: stapy
requirements:
  - Python 3.9 or newer on the host, and C(become)
  - on the controller, stapy with the compiler and headers of the kernels of the hosts
notes:
  - One of C(script), C(text) and C(module) is needed.
  - A session that only looks at the host leaves it as it was, so it is not counted as a change.
  - In check mode the script is built, and nothing is loaded.
  - Bytes of the output that are no UTF-8 become U+FFFD.
seealso:
  - module: stapy.tracer.stapy_facts
"""

EXAMPLES = r"""
- name: Who opens what, for five seconds
  stapy.tracer.stapy_run:
    text: 'probe syscall.openat { printf("%s %s\n", execname(), filename) }'
    timeout: 5
  become: true
  register: opens

- name: Latency of reads while a benchmark runs, as records
  stapy.tracer.stapy_run:
    script: latency.stp
    command: make -C /srv/bench
    timeout: 600
    format: json
    globals:
      most: 20
  become: true
  register: latency

- name: A module that was built before
  stapy.tracer.stapy_run:
    module: mytrace.ko
  become: true
"""

RETURN = r"""
rc:
  description: Exit status of stapy-run. The task has failed unless it is 0.
  returned: when it was run
  type: int
  sample: 0
stdout:
  description: What the script printed.
  returned: when it was run
  type: str
stderr:
  description: Warnings and errors of stapy-run; of stapy when nothing could be built.
  returned: when something was run
  type: str
records:
  description: The output with C(format=json), each line an object as the documentation of
    C(--format) has it.
  returned: with C(format=json)
  type: list
  elements: dict
module:
  description: Name of the module.
  returned: when there is one
  type: str
release:
  description: Release of the kernel that the host runs.
  returned: when the host could be asked
  type: str
arch:
  description: Architecture of the host.
  returned: when the host could be asked
  type: str
"""

import os
import selectors
import signal
import subprocess
import sys
import time

from ansible.module_utils.basic import AnsibleModule

INTERNAL = {
    "_runner": {"type": "path", "required": True},
    "_module": {"type": "path", "required": True},
    "_options": {"type": "list", "elements": "str", "required": True},
    "_values": {"type": "list", "elements": "str", "required": True},
    "_copies": {"type": "list", "elements": "path", "required": True},
    "_patience": {"type": "list", "elements": "float", "required": True},
    "_limit": {"type": "int", "required": True},
}
BLOCK = 1 << 16
LONGEST_WAIT = 86400  # seconds; a poll cannot wait longer than 24 days


class Session:
    """stapy-run as a process: what it writes, and the reason to end it, if there was one."""

    def __init__(self, words, limit):
        """Start it; `limit` is in bytes, for its output and as much again for its messages."""
        self.limit = limit
        self.why = ""
        self.texts = {"stdout": bytearray(), "stderr": bytearray()}
        self.process = subprocess.Popen(
            words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )

    def run(self, seconds, grace):
        """Read all until it ends.  After `seconds` it is told to end, after `grace` more killed."""
        asked = [(signal.SIGTERM, seconds), (signal.SIGKILL, grace)]
        number, patience = asked.pop(0)
        last = time.monotonic() + patience
        with selectors.DefaultSelector() as selector:
            for name in self.texts:
                selector.register(getattr(self.process, name), selectors.EVENT_READ, name)
            while selector.get_map():
                if self.why and number == signal.SIGTERM:
                    last = 0  # it wrote too much: no patience
                if time.monotonic() >= last:
                    self.why = self.why or "it did not end in %g seconds" % seconds
                    self.process.send_signal(number)
                    if not asked:
                        break  # a command that it started may hold the pipes
                    number, patience = asked.pop(0)
                    last = time.monotonic() + patience
                left = min(max(last - time.monotonic(), 0), LONGEST_WAIT)
                for key, _ in selector.select(left):
                    if not self._take(key.fileobj, key.data):
                        selector.unregister(key.fileobj)
        return self.process.wait()

    def _take(self, pipe, name):
        """Read a block of a stream; False at its end."""
        data = os.read(pipe.fileno(), BLOCK)
        room = self.limit - len(self.texts[name])
        self.texts[name] += data[:room]
        if len(data) > room:
            self.why = "it wrote more than output_limit allows to %s" % name
        return bool(data)

    def text(self, name):
        """Return what was written to a stream."""
        return bytes(self.texts[name]).decode("utf-8", "replace")


def is_loaded(name, modules="/proc/modules"):
    """Tell whether a module of this name, or of a second session of it, is loaded."""
    try:
        with open(modules, encoding="ascii", errors="replace") as file:
            names = [line.split(" ", 1)[0] for line in file]
    except OSError:
        return False
    return any(one == name or one.startswith(name + "__") for one in names)


def wait_until_gone(name, seconds):
    """Wait for the module of a session whose reader was killed, which goes by itself."""
    last = time.monotonic() + seconds
    while is_loaded(name):
        if time.monotonic() > last:
            return False
        time.sleep(0.1)
    return True


def reason(status, session):
    """Say why a session has failed: its first error, else how it ended."""
    if session.why:
        return "the session was ended: " + session.why
    lines = [line for line in session.text("stderr").splitlines() if line.startswith("ERROR: ")]
    if lines:
        return lines[0]
    how = "signal %d" % -status if status < 0 else "status %d" % status
    return "stapy-run ended with " + how


def work(given):
    """Run the session; what the task returns."""
    words = [sys.executable, "-ISB", given["_runner"], *given["_options"]]
    seconds, grace = given["_patience"]
    session = Session([*words, "--", given["_module"], *given["_values"]], given["_limit"])
    status = session.run(seconds, grace)
    result = {"rc": status, "stdout": session.text("stdout"), "stderr": session.text("stderr")}
    if session.why or status:
        result.update(failed=True, msg=reason(status, session))
    name = os.path.basename(given["_module"])[: -len(".ko")]
    if status == -signal.SIGKILL and not wait_until_gone(name, grace):
        result["msg"] += "; its module %s is still loaded" % name
    return result


def main():
    """Run what the controller has sent, and remove it."""
    module = AnsibleModule(argument_spec=INTERNAL)
    given = module.params
    try:
        result = work(given)
    finally:
        for path in given["_copies"]:
            if os.path.exists(path):
                os.unlink(path)
    module.exit_json(**result)


if __name__ == "__main__":
    main()
