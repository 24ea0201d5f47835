# 144 pages of a file are left to be written back, and then asked for.
modprobe brd rd_nr=1 rd_size=16384
mkfs.ext4 -q /dev/ram0 && mkdir /run/back && mount /dev/ram0 /run/back
dd if=/dev/zero of=/run/back/sample bs=65536 count=9 status=none
sync -f /run/back
umount /run/back
modprobe -r brd
