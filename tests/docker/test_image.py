"""The image for using stapy, on the kernel of a guest: what ``docker run --privileged`` gives it.

The guest has no daemon; the image's files become its root there by an overlay, with the folders of
the host that ``docker/run`` shows it, and the cache that a container on this machine has filled: a
new build kit takes the emulator ten minutes.
"""

from __future__ import annotations

import io
import os
import subprocess
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from stapy.build import images
from stapy.build.daemon import ContainerError, Docker
from stapy.kernel import roots
from stapy.run.elf import ModuleFile
from tests.program import run_stapy

pytestmark = [pytest.mark.docker, pytest.mark.vm]

ROOT = Path(__file__).resolve().parents[2]
TAG = "stapy-test:latest"
SUITE = "bookworm"  # whose kernels are installed here
SCRIPT = """
global opened
probe begin { println("from a container") }
probe syscall.openat { if (execname() == "cat") opened = 1 }
probe timer.ms(100) { if (opened) exit() }
probe timer.s(120) { exit() }
probe end { println("opened ", opened) }
"""
INSIDE = r"""
box=$(mktemp -d); mount --make-rprivate /; mount -t tmpfs none $box; cd $box; mkdir up work root
mount -t overlay -o lowerdir={image},upperdir=up,workdir=work none root && cd root || exit 1
for path in /lib/modules /usr/src /boot /usr/lib/linux-kbuild-*; do
    mkdir -p .$path; mount --bind $path .$path || exit 1
done
mount -t proc proc proc; mount -t sysfs sysfs sys; mount -t debugfs debugfs sys/kernel/debug
mount --bind /dev dev
mkdir -p root/.cache; cp -r {cache}/stapy root/.cache/
while sleep 2; do cat /etc/hostname; done >/dev/null & load=$!
chroot . /usr/bin/env -i HOME=/root PATH=/usr/bin:/bin:/usr/sbin:/sbin PYTHONPATH=/opt/stapy \
    python3 -m stapy {script}
echo status $?; kill $load
"""


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Yield the files of the image that ``docker/Dockerfile.stapy`` makes."""
    if not os.environ.get("STAPY_TEST_KERNELS"):
        pytest.skip("nobody asked for images: see make docker-test")  # a daemon may run for others
    suite = next(suite for suite in images.suites() if suite.name == SUITE)
    folder = tmp_path_factory.mktemp("image")
    try:
        docker = Docker()
        base = images._base(docker, suite, print)
    except ContainerError as error:
        pytest.skip(f"{error}: {error.hint}")
    arguments = {"BASE": base, "GCC": suite.gcc[0], "PACKAGES": " ".join(suite.packages)}
    made, _ = docker.client.images.build(
        path=str(ROOT),
        dockerfile="docker/Dockerfile.stapy",
        tag=TAG,
        buildargs=arguments,
        network_mode="host",
        rm=True,
    )
    container = docker.client.containers.create(made)
    try:
        data = io.BytesIO(b"".join(container.export()))
    finally:
        container.remove()
    with tarfile.open(fileobj=data) as archive:
        archive.extractall(folder, filter="tar")
    yield folder


def outside(release: str, folder: Path) -> subprocess.CompletedProcess[str]:
    """Make a module in a container on this machine, without any of the rights."""
    words = ["-r", release, "-p4", "-m", "made", "-e", "probe syscall.open* { exit() }"]
    chosen = {"IMAGE": TAG, "PRIVILEGES": "", "XDG_CACHE_HOME": str(folder / "cache")}
    return subprocess.run(
        [str(ROOT / "docker/run"), *words],
        env={**os.environ, **chosen}, cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip


@pytest.mark.parametrize("release", roots.with_headers())
def test_stapy_runs_in_its_image(release: str, image: Path, tmp_path: Path) -> None:
    script = image / "script.stp"
    script.write_text(SCRIPT)
    inside = tmp_path / "inside.sh"
    inside.write_text(INSIDE.format(image=image, cache=tmp_path / "cache", script="/script.stp"))
    made = outside(release, tmp_path)
    assert made.returncode == 0, made.stdout + made.stderr
    assert ModuleFile(str(tmp_path / "made.ko")).release == release
    words = [f"--vm={release}", "-c", f"unshare -m sh {inside}", "-e", "probe begin { }", "-u"]
    done = run_stapy(*words)
    lines = done.stdout.splitlines()
    assert lines == ["from a container", "opened 1", "status 0"], done.stdout + done.stderr
