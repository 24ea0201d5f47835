# A group gives pages back.
mkdir -p /run/given && mount -t cgroup2 none /run/given 2>/dev/null
echo +memory >/run/given/cgroup.subtree_control
mkdir /run/given/few
echo 6M >/run/given/few/memory.max
sh -c 'echo $$ >/run/given/few/cgroup.procs; dd if=/dev/zero of=/tmp/many bs=65536 count=300 status=none; cat /tmp/many >/dev/null; rm /tmp/many'
rmdir /run/given/few
umount /run/given || :
