# The units of a machine are started by systemd, as process 1 of a namespace of its own.
set -e
units=$(mktemp -d)
quiet="StandardInput=null
StandardOutput=null
StandardError=null"
cat >"$units/told.target" <<END
[Unit]
DefaultDependencies=no
Wants=quick.service slow.service module.service last.service
END
cat >"$units/quick.service" <<END
[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
ExecStart=/bin/true
$quiet
END
cat >"$units/slow.service" <<END
[Unit]
DefaultDependencies=no
After=quick.service
[Service]
Type=oneshot
ExecStart=/bin/sleep 2
$quiet
END
cat >"$units/module.service" <<END
[Unit]
DefaultDependencies=no
After=slow.service
[Service]
Type=oneshot
ExecStart=/sbin/modprobe raid6_pq
$quiet
END
cat >"$units/last.service" <<END
[Unit]
DefaultDependencies=no
After=slow.service module.service
SuccessAction=exit-force
[Service]
Type=oneshot
ExecStart=/bin/true
$quiet
END
before=$(cut -d' ' -f1 /proc/modules)
unshare --fork --pid --mount --uts --ipc --mount-proc sh -c '
    mount -t tmpfs none /run && mount -t cgroup2 none /sys/fs/cgroup &&
    exec env -i PATH="$PATH" container=told SYSTEMD_UNIT_PATH="$0" \
        /lib/systemd/systemd --unit=told.target --log-target=console --show-status=no' "$units" ||
    echo "systemd ended with $?" >&2
rm -r "$units"
# What systemd has had loaded for itself.
for module in $(cut -d' ' -f1 /proc/modules); do
    case " $(echo $before) " in *" $module "*) ;; *) modprobe -r "$module" 2>/dev/null || : ;; esac
done
