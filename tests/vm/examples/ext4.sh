# A file of ext4 is written and synced; one such script after the other.
exec 9>/run/ext4.lock && flock 9
modprobe brd rd_nr=1 rd_size=16384
mkfs.ext4 -q /dev/ram0 && mkdir -p /run/ext4 && mount /dev/ram0 /run/ext4
dd if=/dev/zero of=/run/ext4/sample bs=65536 count=9 conv=fsync status=none
umount /run/ext4
modprobe -r brd
