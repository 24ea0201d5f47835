# A service that takes its time, a program that still runs, and a module that measures processors when it begins.
mkdir -p /run/units && mount -t cgroup2 none /run/units 2>/dev/null
mkdir /run/units/told.service
sh -c 'echo 0 >/run/units/told.service/cgroup.procs; exec sleep 2'
rmdir /run/units/told.service
umount /run/units || :
sleep 20 >/dev/null 2>&1 & # is left
modprobe raid6_pq
modprobe -r raid6_pq
