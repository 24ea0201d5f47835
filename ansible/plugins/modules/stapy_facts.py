#!/usr/bin/python
"""Tell whether a host takes modules of stapy, and what its kernel has for scripts."""

from __future__ import annotations

DOCUMENTATION = r"""
module: stapy_facts
short_description: What the kernel of a host has for scripts of stapy
version_added: 0.1.0
author:
  - the authors of stapy
description:
  - Looks at what C(stapy doctor) looks at, as far as it concerns the host, with nothing but Python
    there.
  - What only root may read is judged by what can be read; use C(become) for the whole truth.
options: {}
requirements:
  - Python 3.8 or newer on the host
notes:
  - Nothing is loaded or changed; check mode makes no difference.
seealso:
  - module: stapy.tracer.stapy_run
"""

EXAMPLES = r"""
- name: What are these kernels
  stapy.tracer.stapy_facts:
  become: true

- name: Only hosts that take modules
  ansible.builtin.debug:
    msg: "{{ ansible_facts.stapy.obstacles }}"
  when: not ansible_facts.stapy.can_load
"""

RETURN = r"""
ansible_facts:
  description: One fact, C(stapy).
  returned: always
  type: dict
  contains:
    stapy:
      description: What was found.
      returned: always
      type: dict
      contains:
        release:
          description: Release of the kernel.
          type: str
        arch:
          description: Architecture of the kernel.
          type: str
        build_id:
          description: Build-id of the kernel, by which its debug information is found; empty when
            it tells none.
          type: str
        compiler:
          description: What the kernel was built with, in its own words.
          type: str
        python:
          description: Version of the Python that runs modules.
          type: str
        can_load:
          description: Whether unsigned modules can be loaded, and functions probed.
          type: bool
        can_load_signed:
          description: The same for modules that are signed with a key that the kernel knows.
          type: bool
        obstacles:
          description: What is in the way, each with its name and a text.
          type: list
          elements: dict
        lockdown:
          description: C(none), C(integrity) or C(confidentiality); empty when the kernel knows no
            lockdown.
          type: str
        signatures_enforced:
          description: Whether the kernel takes signed modules only.
          type: bool
        secure_boot:
          description: Whether the firmware says so; C(null) without EFI variables.
          type: bool
        btf:
          description: Whether the kernel has type information, which parameters of functions and
            tracepoints come from.
          type: bool
        kprobes:
          description: Whether functions of the kernel can be probed; C(null) when it cannot be
            told.
          type: bool
        uprobes:
          description: Whether programs can be probed; C(null) when it cannot be told.
          type: bool
        headers:
          description: The build tree of the kernel on the host, empty when it has none. The
            controller needs one, the host none.
          type: str
        debuginfo:
          description: File with the kernel's debug information on the host, empty when it has none.
          type: str
        tracefs:
          description: Where tracefs is mounted, empty when it is not.
          type: str
"""

import glob
import os
import platform
import struct
import sys
import zlib

from ansible.module_utils.basic import AnsibleModule

CAP_SYS_MODULE = 16
TRACEFS = ("/sys/kernel/tracing", "/sys/kernel/debug/tracing")
SECURE_BOOT = "/sys/firmware/efi/efivars/SecureBoot-*"
SIGNING = ("lockdown", "signing")  # what a signature gets past


class Host:
    """The files that tell; tests give another root."""

    def __init__(self, root="/", release="", euid=None):
        """Look at the kernel that runs, below `root`."""
        self.root = root
        self.release = release or os.uname().release
        self.euid = os.geteuid() if euid is None else euid
        self.config = self._config()
        self.symbols = self.text("/proc/kallsyms")

    def place(self, name):
        """Return the path of a file below the root."""
        return os.path.join(self.root, name.lstrip("/"))

    def data(self, name):
        """Read a file; b"" when that is not possible."""
        try:
            with open(self.place(name), "rb") as file:
                return file.read()
        except OSError:
            return b""

    def text(self, name):
        """Read a file of text; "" when that is not possible."""
        return self.data(name).decode("utf-8", "replace")

    def _config(self):
        """Read the options that the kernel was built with; empty when nothing tells."""
        for name in (f"/boot/config-{self.release}", f"/lib/modules/{self.release}/config",
                     f"/lib/modules/{self.release}/build/.config", "/proc/config.gz"):  # fmt: skip
            data = self.data(name)
            if data[:2] == b"\x1f\x8b":
                try:
                    data = zlib.decompress(data, 31)
                except zlib.error:
                    continue
            lines = data.decode("utf-8", "replace").splitlines()
            pairs = [line.partition("=") for line in lines if line.startswith("CONFIG_")]
            if pairs:
                return {key: value.strip('"') for key, _, value in pairs}
        return {}

    def has(self, function, option):
        """Tell whether the kernel has a function, by its symbols or its options; None: unknown."""
        if f" {function}\n" in self.symbols:
            return True
        if self.config:
            return self.config.get(option) in ("y", "m")
        return False if self.symbols else None

    def lockdown(self):
        """Return the level of lockdown."""
        return self.text("/sys/kernel/security/lockdown").partition("[")[2].partition("]")[0]

    def enforces_signatures(self):
        """Tell whether unsigned modules are refused."""
        forced = self.text("/sys/module/module/parameters/sig_enforce").strip() == "Y"
        return forced or self.config.get("CONFIG_MODULE_SIG_FORCE") == "y"

    def secure_boot(self):
        """Tell what the firmware says; four bytes of attributes stand before its answer."""
        for path in glob.glob(self.place(SECURE_BOOT)):
            try:
                with open(path, "rb") as file:
                    return file.read(5)[4:] == b"\x01"
            except OSError:
                pass
        return None

    def obstacles(self):
        """List what keeps an unsigned module with probes of functions out."""
        found = []
        if not self._may_load():
            found.append(("privilege", "only root (CAP_SYS_MODULE) may load modules"))
        disabled = self.text("/proc/sys/kernel/modules_disabled").strip()
        if disabled == "1":
            found.append(("modules", "kernel.modules_disabled is 1, until the next boot"))
        elif not disabled and not os.path.exists(self.place("/proc/modules")):
            found.append(("modules", "the kernel is built without loadable modules"))
        level = self.lockdown()
        if level not in ("", "none"):
            found.append(("lockdown", f"the kernel is locked down ({level})"))
        if self.enforces_signatures():
            found.append(("signing", "the kernel takes only signed modules"))
        if self.has("register_kprobe", "CONFIG_KPROBES") is False:
            found.append(("kprobes", "the kernel is built without kprobes"))
        return [{"name": name, "text": text} for name, text in found]

    def _may_load(self):
        for line in self.text("/proc/self/status").splitlines():
            if line.startswith("CapEff:"):
                return bool(int(line.split()[1], 16) >> CAP_SYS_MODULE & 1)
        return self.euid == 0

    def build_id(self):
        """Return the kernel's build-id in hexadecimal digits, "" when it tells none."""
        data, at = self.data("/sys/kernel/notes"), 0
        while at + 12 <= len(data):
            name_size, size, kind = struct.unpack_from("=III", data, at)
            begin = at + 12 + (name_size + 3 & ~3)
            if kind == 3 and data[at + 12 : at + 12 + name_size] == b"GNU\0":
                return data[begin : begin + size].hex()
            at = begin + (size + 3 & ~3)
        return ""

    def headers(self):
        """Return the kernel's build tree, "" when there is none."""
        name = f"/lib/modules/{self.release}/build"
        return name if os.path.exists(self.place(name + "/Makefile")) else ""

    def debuginfo(self):
        """Return the file of the kernel's debug package, "" when there is none."""
        number = self.build_id()
        names = [
            f"/usr/lib/debug/boot/vmlinux-{self.release}",
            f"/usr/lib/debug/lib/modules/{self.release}/vmlinux",
            f"/usr/lib/debug/.build-id/{number[:2]}/{number[2:]}.debug" if number else "",
        ]
        return next((name for name in names if name and os.path.exists(self.place(name))), "")

    def tracefs(self):
        """Return where tracefs is mounted, "" when it is not."""
        found = [name for name in TRACEFS if os.path.isdir(self.place(name + "/events"))]
        return found[0] if found else ""

    def facts(self):
        """Return everything."""
        obstacles = self.obstacles()
        return {
            "release": self.release,
            "arch": os.uname().machine,
            "build_id": self.build_id(),
            "compiler": self.config.get("CONFIG_CC_VERSION_TEXT", ""),
            "python": platform.python_version(),
            "can_load": not obstacles,
            "can_load_signed": all(one["name"] in SIGNING for one in obstacles),
            "obstacles": obstacles,
            "lockdown": self.lockdown(),
            "signatures_enforced": self.enforces_signatures(),
            "secure_boot": self.secure_boot(),
            "btf": os.path.exists(self.place("/sys/kernel/btf/vmlinux")),
            "kprobes": self.has("register_kprobe", "CONFIG_KPROBES"),
            "uprobes": self.has("uprobe_register", "CONFIG_UPROBES"),
            "headers": self.headers(),
            "debuginfo": self.debuginfo(),
            "tracefs": self.tracefs(),
        }


def main():
    """Answer."""
    module = AnsibleModule(argument_spec={}, supports_check_mode=True)
    if not sys.platform.startswith("linux"):
        module.fail_json(msg=f"stapy traces Linux, and this is {sys.platform}")
    module.exit_json(changed=False, ansible_facts={"stapy": Host().facts()})


if __name__ == "__main__":
    main()
