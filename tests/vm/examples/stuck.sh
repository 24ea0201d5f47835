# Who writes to a file system that is frozen sleeps until it thaws. Word: of any, two do.
modprobe brd rd_nr=1 rd_size=16384
mkfs.ext4 -q /dev/ram0 && mkdir -p /run/frozen && mount /dev/ram0 /run/frozen
fsfreeze -f /run/frozen
for file in never ${1:+either}; do
    dd if=/dev/zero of=/run/frozen/$file bs=4096 count=1 status=none &
done
# Not before it sleeps, which takes its time beside others.
until grep -q '^State:.D' /proc/$!/status; do sleep 0.1; done
sleep 3
fsfreeze -u /run/frozen
wait
umount /run/frozen && rmdir /run/frozen
modprobe -r brd
