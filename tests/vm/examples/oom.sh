# A process asks for more memory than its group may have.
mkdir -p /run/groups && mount -t cgroup2 none /run/groups 2>/dev/null
echo +memory >/run/groups/cgroup.subtree_control
mkdir /run/groups/small
echo 20M >/run/groups/small/memory.max
echo 0 >/run/groups/small/memory.swap.max 2>/dev/null
sh -c 'echo $$ >/run/groups/small/cgroup.procs; exec python3 -ISc "bytearray(99 << 20)"'
sleep 0.2
rmdir /run/groups/small
umount /run/groups || :
