# A process has its pages put out and takes them back.
modprobe brd rd_nr=1 rd_size=65536
mkswap /dev/ram0 >/dev/null && swapon /dev/ram0
python3 -ISc '
import mmap
pages = mmap.mmap(-1, 1 << 20, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
for at in range(0, 1 << 20, 4096): pages[at] = 7
pages.madvise(21)  # MADV_PAGEOUT
print(sum(pages[at] for at in range(0, 1 << 20, 4096)))
'
swapoff /dev/ram0
modprobe -r brd
