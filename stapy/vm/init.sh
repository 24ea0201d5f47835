#!/bin/busybox sh
# Process 1 until the host's file tree is in place: insert the modules, lay a
# tree that forgets every change over the host's own, hand over to the agent.
b=/bin/busybox
# Held open: where it is in the tree changes on the way.
exec 3>/dev/kmsg
die() { echo "<3>stapy-vm: $*" >&3; $b sleep 1; $b reboot -f; }

$b mount -t proc proc /proc
# A kernel that hangs shall say so and end.
echo 1 >/proc/sys/kernel/softlockup_panic
echo 1 >/proc/sys/kernel/panic_on_rcu_stall
$b mount -t sysfs sysfs /sys
$b mount -t devtmpfs dev /dev
# What udev or the first program of a system adds, and shells need for <(COMMAND).
$b ln -s /proc/self/fd /dev/fd
$b ln -s fd/0 /dev/stdin
$b ln -s fd/1 /dev/stdout
$b ln -s fd/2 /dev/stderr
for module in $($b cat /modules/order); do
	$b insmod "/modules/$module" || die "cannot insert $module"
done
$b mount -t virtiofs -o ro root /lower || die "cannot mount the host's root"
$b mount -t tmpfs -o mode=755 tmpfs /layer
$b mkdir /layer/upper /layer/work
$b mount -t overlay -o lowerdir=/lower,upperdir=/layer/upper,workdir=/layer/work root /new ||
	die "cannot mount the overlay"
while read -r folder place; do
	$b mkdir -p "/new$place"
	$b mount -o bind "/lower$folder" "/new$place" || die "cannot show $folder"
done </places
while read -r share place; do
	$b mkdir -p "/new$place"
	$b mount -t virtiofs -o ro "$share" "/new$place" || die "cannot mount $share"
done </shares
$b mount --move /proc /new/proc
$b mount --move /sys /new/sys
$b mount --move /dev /new/dev
$b mkdir -p /new/dev/pts /new/dev/shm
$b mount -t devpts devpts /new/dev/pts
$b mount -t tmpfs tmpfs /new/dev/shm
$b mount -t tmpfs -o mode=755 tmpfs /new/run
$b mount -t debugfs debugfs /new/sys/kernel/debug
$b mount -t tracefs tracefs /new/sys/kernel/tracing
$b mkdir /new/run/stapy /new/run/stapy/share
$b cp -r /stapy /new/run/stapy/lib
$b mount -t virtiofs share /new/run/stapy/share || die "cannot mount the share"
$b ip link set lo up
$b hostname stapy-vm
port=
for name in /sys/class/virtio-ports/*/name /new/sys/class/virtio-ports/*/name; do
	[ -e "$name" ] && [ "$($b cat "$name")" = stapy ] && port=${name%/name} && port=/dev/${port##*/}
done
[ -n "$port" ] || die "no serial port"
for agent in /new/run/stapy/lib/stapy/vm/agent.py*; do agent=${agent#/new}; done
export PYTHONPATH=/run/stapy/lib PYTHONDONTWRITEBYTECODE=1 PATH=/usr/sbin:/usr/bin:/sbin:/bin
exec $b switch_root /new "$($b cat /python)" -s -S "$agent" "$port" 3>&-
