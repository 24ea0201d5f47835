# A group gives pages back: those of a device that it has read, which are clean. Nothing of it may
# go to the swap of another tool's case, which could not take that away before this group ends.
modprobe null_blk gb=1 memory_backed=1
mkdir -p /run/given && mount -t cgroup2 none /run/given 2>/dev/null
echo +memory >/run/given/cgroup.subtree_control
mkdir /run/given/few
echo 6M >/run/given/few/memory.max
echo 0 >/run/given/few/memory.swap.max 2>/dev/null
sh -c 'echo $$ >/run/given/few/cgroup.procs; exec dd if=/dev/nullb0 of=/dev/null bs=65536 count=300 status=none'
rmdir /run/given/few
umount /run/given || :
modprobe -r null_blk
