"""A table of small scripts over kernel and module points and their variables.

Each row is a piece of a script that says something by ``say(NAME, text)``, and
what must be among the first things that it says.  The pieces of one table run
as one script, so that sixty of them cost one module and one run.
"""

from __future__ import annotations

import re

from stapy.record import Record
from tests.vm import waiter

PRELUDE = """
global said, known
function say(row:string, text:string) {
    # The consumer, and who copies its output out of the guest, write all the time.
    mine = execname() !~ "^python" || pn() == "begin"
    if (mine && said[row] < 40 && !([row, text] in known)) {
        known[row, text] = 1
        said[row]++
        printf("%s| %s\\n", row, text)
    }
}
"""
# What the guest does meanwhile: files, and a block device of a module that comes and goes.
LOAD = """
    cat /proc/mounts /proc/modules >/dev/null
    cd $(mktemp -d); cat /etc/passwd >/dev/null; dd if=/dev/zero of=f bs=512 count=4 2>/dev/null
    cp f h; cat /proc/self/mountinfo >/dev/null
    echo 0 >/proc/self/oom_score_adj; cat /proc/sys/vm/swappiness >/dev/null
    {program}
    mkdir d; mv f d/g; chmod 600 d/g; rm d/g; rmdir d
    modprobe brd rd_nr=2 rd_size=4096; dd if=/dev/zero of=/dev/ram0 bs=4096 count=4 2>/dev/null
    sync; dd if=/dev/ram0 of=/dev/null bs=4096 count=2 iflag=direct 2>/dev/null
    {proofs}
    sleep 0.2; rmmod brd; modprobe drop_monitor; rmmod drop_monitor
"""


class Row(Record):
    """One piece: ``expect`` is a regular expression for what follows ``NAME| ``.

    Or ``proof`` is a shell command that prints what must follow, run in the guest
    while the script runs.
    """

    name: str
    script: str
    expect: str = ""
    proof: str = ""


ADDRESS = "0x[0-9a-f]{16}"
# Without any debug package: BTF and the symbol table.
PLAIN = [
    Row("entry", 'probe kernel.function("vfs_read") { say("entry", $$parms) }',
        f"file={ADDRESS} buf=0x[0-9a-f]+ count=0x[0-9a-f]+ pos="),
    Row("call", 'probe kernel.function("vfs_write").call { say("call", sprint($count)) }', "512"),
    Row("return", 'probe kernel.function("vfs_write").return { say("return", $$return) }',
        "return=0x200"),
    Row("value", 'probe kernel.function("vfs_write").return { say("value", sprint($return)) }',
        "512"),
    Row("saved", 'probe kernel.function("vfs_write").return { '
        'say("saved", sprintf("%d %d", @entry($count), $return == @entry($count))) }', "512 1"),
    Row("implicit", 'probe kernel.function("vfs_write").return { say("implicit", $$parms) }',
        f"file={ADDRESS} buf=0x[0-9a-f]+ count=0x[0-9a-f]+ pos="),
    Row("exported", 'probe kernel.function("vfs_*").exported { say("exported", ppfunc()) }',
        "vfs_"),
    Row("wildcard", 'probe kernel.function("vfs_m?dir") { say("wildcard", pp()) }',
        r'kernel.function\("vfs_mkdir(@fs/namei.c:\d+)?"\)'),
    Row("maxactive", 'probe kernel.function("vfs_rmdir").return.maxactive(3) '
        '{ say("maxactive", sprint($return)) }', "0"),
    Row("types", 'probe kernel.function("vfs_write(struct file*, const char*, size_t, loff_t *)") '
        '{ say("types", sprint($count)) }', "512"),
    Row("either", 'probe kernel.function("nosuch_function")!, kernel.function("vfs_rename") '
        '{ say("either", pp()) }', r'kernel.function\("vfs_rename(@fs/namei.c:\d+)?"\)'),
    Row("missing", 'probe kernel.function("nosuch_function") ?, begin { say("missing", pp()) }',
        "begin"),
    Row("kprobe", 'probe kprobe.function("vfs_mkdir") { say("kprobe", sprint(int_arg(4))) }',
        r"\d+"),
    Row("kprobe-return", 'probe kprobe.function("vfs_mkdir").return '
        '{ say("kprobe-return", sprint(returnval())) }', "0"),
    Row("members", 'probe kernel.function("vfs_write") { '
        'say("members", kernel_string($file->f_path->dentry->d_name->name)) }', "^f$"),
    Row("index", 'probe kernel.function("vfs_write") { i = 1; say("index", sprintf("%c%d", '
        '$file->f_path->dentry->d_iname[0], $file->f_path->dentry->d_iname[i])) }', "f0"),
    Row("pretty", 'probe kernel.function("vfs_write") { say("pretty", $file->f_path$) }',
        rf"\{{\.mnt={ADDRESS}, \.dentry={ADDRESS}\}}"),
    Row("deep", 'probe kernel.function("do_sys_openat2") { say("deep", $how$$) }',
        r"\{\.flags=\d+, \.mode=\d+, \.resolve=0\}"),
    Row("user", 'probe kernel.function("do_sys_openat2") '
        '{ say("user", user_string2($filename, "/away")) }', "/"),
    Row("user-text", 'probe kernel.function("do_sys_openat2") { say("user-text", $filename$) }',
        '"/'),
    Row("address", 'probe kernel.function("vfs_write") { '
        'say("address", sprint(&$file->f_path->dentry - &$file->f_path)) }', "8"),
    Row("bits", 'probe kernel.function("vfs_rename") { t = task_current() '
        'say("bits", sprint(@cast(t, "task_struct")->in_execve)) }', "0"),
    Row("defined", 'probe kernel.function("vfs_write") { '
        'say("defined", sprintf("%d %d", @defined($count), @defined($nosuch))) }', "1 0"),
    Row("enumerator", 'probe kernel.function("vfs_write") { '
        'say("enumerator", sprintf("%d %d", $PIDTYPE_MAX, @enum("PIDTYPE_MAX"))) }', "4 4"),
    Row("enumname", 'probe begin { say("enumname", @enumname(1, "pid_type", "kernel")) }',
        "PIDTYPE_TGID"),
    Row("const", 'probe begin { say("const", sprint(@const("PAGE_SIZE"))) }', "4096"),
    Row("cast", 'probe begin { say("cast", kernel_string(@cast(task_current(), '
        '"struct task_struct", "nosuch:kernel")->comm)) }', "stapy-run"),
    Row("autocast", 'probe kernel.function("vfs_write") { f = $file; d = f->f_path->dentry; '
        'say("autocast", kernel_string(d->d_name->name)) }', "^f$"),
    Row("header", 'probe begin { say("header", sprint(@cast(task_current(), '
        '"struct task_struct", "kernel<linux/sched.h>")->pid == tid())) }', "1"),
    Row("compiled-header", 'probe begin { say("compiled-header", '
        'sprint(&@cast(0, "struct raid6_calls", "kernel<linux/raid/pq.h>")->name)) }', "24"),
    Row("per-cpu", 'probe begin { '
        'say("per-cpu", sprintf("%d %d", @var("runqueues")->cpu == cpu(), '
        '@var("runqueues")->curr == task_current())) }', "1 1"),
    Row("module-per-cpu", 'probe module("drop_monitor").function("exit_net_drop_monitor") { '
        'q = &@var("dm_cpu_data", "drop_monitor")->drop_queue; say("module-per-cpu", '
        'sprint(q == @var("dm_cpu_data", "drop_monitor")->drop_queue->next)) }', "1"),
    Row("module-enumerator", 'probe module("drop_monitor").function("exit_net_drop_monitor") { '
        'say("module-enumerator", sprintf("%d %d", $NET_DM_CMD_START, @enum("NET_DM_CMD_STOP"))) }',
        "3 4"),
    Row("module-per-cpu-away", 'probe begin { try { println(@var("dm_cpu_data", '
        '"drop_monitor")->drop_queue->qlen) } catch { say("module-per-cpu-away", "caught") } }',
        "caught"),
    Row("trace", 'probe kernel.trace("sched_process_fork") { '
        'say("trace", sprint($parent->pid == ppid() || $parent->pid == pid())) }', "1"),
    Row("system", 'probe kernel.trace("sched:sched_process_ex*") { say("system", $$name) }',
        "sched_process_ex"),
    Row("module", 'probe module("brd").function("brd_submit_bio") { say("module", $$parms) }',
        "bio=0x"),
    Row("module-return", 'probe module("brd").function("brd_submit_bio").return '
        '{ say("module-return", probefunc()) }', "brd_submit_bio"),
    Row("module-deep", 'probe module("brd").function("brd_submit_bio") '
        '{ say("module-deep", sprint($bio->bi_iter->bi_size)) }', "4096"),
    Row("modules", 'probe module("br[d]").function("brd_*") { say("modules", pp()) }',
        r'module\("brd"\)\.function\("brd_'),
    Row("symbols", 'probe module("brd").function("brd_submit_bio") '
        '{ say("symbols", symname(addr()) . " " . modname(addr())) }', "brd_submit_bio brd"),
    Row("caller", 'probe kernel.function("vfs_write") { say("caller", symname(caller_addr())) }',
        "ksys_write|write"),
    Row("second-name", 'probe kernel.function("__x64_sys_getpid") '
        '{ say("second-name", sprint($__unused->orig_ax)) }', "39"),
    Row("copy", 'probe kernel.function("do_execveat_common") { say("copy", pp()) }',
        r'kernel.function\("do_execveat_common(\.isra\.0|@fs/exec.c:\d+)"\)'),
    Row("copy-return", 'probe kernel.function("do_execveat_common*").return '
        '{ say("copy-return", $$return) }', r"return=(\?|0x[0-9a-f]+)"),
    Row("basic-type", 'probe begin { fd = @cast(task_current(), "task_struct")->files->fdt->fd; '
        'say("basic-type", sprintf("%d %d", @cast(fd, "struct file **")[1] == '
        '@cast(fd, "unsigned long*")[1], &@cast(0, "long")[1])) }', "1 8"),
    Row("badvars", 'probe kernel.function("vfs_write") { '
        'say("badvars", sprint(@choose_defined($nosuch, 7))) }', "7"),
]  # fmt: skip
# What needs DWARF.
DWARF = [
    Row("inline", 'probe kernel.function("add_wchar").inline { say("inline", pp()) }',
        r'kernel\.function\("add_wchar@.*xacct\.h:\d+"\)\.inline'),
    # The manual: the function's name by the address, which is that around the inlined code.
    Row("inline-function", 'probe kernel.function("add_wchar").inline '
        '{ say("inline-function", probefunc()) }', r"^vfs_\w+$"),
    Row("both", 'probe kernel.function("rw_verify_area") { say("both", ppfunc()) }',
        "rw_verify_area"),
    Row("file", 'probe kernel.function("vfs_m*@fs/namei.c") { say("file", pp()) }',
        r'kernel\.function\("vfs_mkdir@fs/namei\.c:\d+"\)'),
    Row("path", 'probe kernel.function("ksys_write@*/read_write.[c]").return '
        '{ say("path", sprint($return)) }', "512"),
    Row("line", 'probe kernel.function("vfs_write@fs/read_write.c+3") { say("line", ppfunc()) }',
        "vfs_write"),
    Row("statement", 'probe kernel.statement("vfs_write@fs/read_write.c:*") '
        '{ say("statement", pp()) }', r'kernel\.statement\("vfs_write@fs/read_write\.c:\d+"\)'),
    Row("offset", 'probe kernel.statement("do_mkdirat@fs/namei.c+0-3") { say("offset", $$parms) }',
        "dfd=0x[0-9a-f]+ name=0x[0-9a-f]+ mode="),
    Row("range", 'probe kernel.statement("do_mkdirat@fs/namei.c+1-9") { say("range", pp()) }',
        "do_mkdirat@fs/namei.c:"),
    Row("nearest", 'probe kernel.statement("do_mkdirat@fs/namei.c+2").nearest '
        '{ say("nearest", pp()) }', "do_mkdirat@fs/namei.c:"),
    Row("by-address", 'probe kernel.statement({address}) { say("by-address", probefunc()) }',
        "vfs_mkdir"),
    Row("near-address", 'probe kernel.statement({inside}).nearest '
        '{ say("near-address", sprint($mode)) }', r"\d+"),
    Row("function-address", 'probe kernel.function({inside}).return '
        '{ say("function-address", probefunc() . sprint($return)) }', "vfs_mkdir0"),
    Row("label", 'probe kernel.function("do_mkdirat").label("ret*") { say("label", pp()) }',
        r'kernel\.function\("do_mkdirat@fs/namei\.c:\d+"\)\.label\("retry"\)'),
    Row("label-local", 'probe kernel.function("do_mkdirat").label("out_putname") '
        '{ say("label-local", sprint($error)) }', "0"),
    Row("callee", 'probe kernel.function("vfs_write").callee("rw_verify_area") '
        '{ say("callee", sprintf("%s %d", symname(caller_addr()), $count)) }', "vfs_write 512"),
    Row("callee-return", 'probe kernel.function("vfs_write").callee("rw_verify_area").return '
        '{ say("callee-return", sprint($return)) }', "0"),
    Row("callee-inline", 'probe kernel.function("vfs_write").callee("add_wchar") '
        '{ say("callee-inline", pp()) }', r'\.callee\("add_wchar@'),
    Row("callees", 'probe kernel.function("do_mkdirat").callees { say("callees", pp()) }',
        r'kernel\.function\("do_mkdirat@.*\)\.callee\("'),
    Row("depth", 'probe kernel.function("do_mkdirat").callees(2) { say("depth", pp()) }',
        r'kernel\.function\("\w+@.*\)\.callee\("'),
    Row("unlike", 'probe kernel.function("do_renameat2").callee("rw_verify_area")?, '
        'kernel.function("vfs_copy_file_range").callee("rw_verify_area")?, begin '
        '{ say("unlike", pp()) }', "begin"),
    Row("vars", 'probe kernel.function("vfs_write") { say("vars", $$vars) }',
        r"count=0x[0-9a-f]+ pos=0x[0-9a-f]+ ret=\?"),
    Row("locals", 'probe kernel.function("vfs_write") { say("locals", $$locals) }', r"ret=\?"),
    Row("local", 'probe kernel.statement("ksys_write@fs/read_write.c:*") '
        '{ if (@defined($ret)) say("local", sprint($ret)) }', "-9|512"),
    Row("place", 'probe kernel.statement("new_sync_write@fs/read_write.c:*") '
        '{ if (@defined($kiocb->ki_flags)) say("place", '
        'sprint($kiocb->ki_filp == 0 || $kiocb->ki_filp == $filp)) }', "1"),
    Row("user-vector", 'probe kernel.function("do_execve") { say("user-vector", '
        '$__argv[0]$ . sprintf(" %d%c", $__argv[0] == user_long($__argv), $__argv[0][1])) }',
        '^"cp" 1p$'),
    Row("static", 'probe kernel.function("mod_timer") '
        '{ say("static", sprint($sysctl_timer_migration)) }', "[01]"),
    Row("global", 'probe kernel.function("vfs_mkdir") '
        '{ say("global", sprint($sysctl_protected_symlinks)) }', r"\d+"),
    Row("var", 'probe begin { say("var", @var("init_uts_ns")->name$) }', r'\.sysname="Linux"'),
    Row("var-file", 'probe begin { say("var-file", sprint(@var("sysctl_nr_open@fs/file.c"))) }',
        "1048576"),
    Row("var-array", 'probe begin { i = 0; '
        'say("var-array", kernel_string(@var("init_task")->comm) . '
        'sprint(@var("__cpu_possible_mask")->bits[i] & 1)) }', "swapper/01"),
    Row("var-alias", 'probe begin { '
        'say("var-alias", sprint(@var("jiffies") - @var("jiffies_64") < 3)) }', "1"),
    Row("var-per-cpu", 'probe begin { '
        'say("var-per-cpu", sprint(@var("runqueues@kernel/sched/core.c")->cpu == cpu())) }', "1"),
    Row("same-name", 'probe kernel.function("m_show").call { say("same-name", pp()) }',
        r"m_show@(fs/namespace|kernel/module/procfs)\.c:"),
    Row("module-file", 'probe module("brd").function("*@*/brd.c").call '
        '{ say("module-file", pp()) }', r'module\("brd"\)\.function\("brd_\w+@.*/brd\.c:\d+"\)'),
    Row("module-statement", 'probe module("brd").statement("brd_do_bvec@*/brd.c:*") '
        '{ say("module-statement", $$vars) }', "len=0x1000 .*sector=0x0|sector=0x0 .*len=0x1000"),
    Row("module-inline", 'probe module("brd").function("copy_to_brd").inline '
        '{ say("module-inline", sprintf("%d", $sector)) }', r"\d+"),
    Row("module-callee", 'probe module("brd").function("brd_submit_bio").callee("brd_do_bvec") '
        '{ say("module-callee", sprint($len)) }', "4096"),
    Row("module-kernel", 'probe module("brd").function("brd_init").callee("__register_blkdev") '
        '{ say("module-kernel", symname(caller_addr()) . " " . modname(caller_addr())) }',
        "brd_init brd"),
    Row("module-kernel-return", 'probe module("brd").function("add_disk").callee('
        '"device_add_disk").return { say("module-kernel-return", sprint($return)) }', "0"),
    Row("module-kernel-deep", 'probe module("brd").function("brd_init").callees(2) '
        '{ if (ppfunc() == "__register_blkdev") say("module-kernel-deep", pp()) }',
        r'module\("brd"\)\.function\("__register_blkdev@block/genhd\.c:\d+"\)\.callee\("'),
    Row("module-label", 'probe module("overlay").function("ovl_create_object")'
        '.label("out_drop_write") { say("module-label", pp()) }',
        r'dir\.c:\d+"\)\.label\("out_drop_write"\)'),
    Row("module-renamed", 'probe module("brd").function("brd_alloc").return '
        '{ say("module-renamed", sprint($return)) }', "0"),
    Row("module-var", 'probe module("brd").function("brd_submit_bio") { say("module-var", '
        'sprintf("%d %d %d", @var("rd_nr", "brd"), @var("rd_size@*/brd.c", "brd"), $max_part)) }',
        "2 4096 1"),
    Row("module-away", 'probe begin { try { println(@var("rd_nr", "brd")) } '
        'catch { say("module-away", "caught") } }', "caught"),
    Row("cast-module", 'probe module("brd").function("brd_submit_bio") { say("cast-module", '
        'sprint(@cast($bio->bi_bdev->bd_disk->private_data, "brd_device", "brd")->brd_number)) }',
        "[01]"),
]  # fmt: skip

# Values that are nowhere but in what a function was entered with, or behind a pointer
# that the compiler has optimised away.
VALUES = [
    Row("entered", 'global renamed, right, wrong '
        'probe kernel.function("do_renameat2").call { renamed[tid()] = $from } '
        'probe kernel.statement("do_renameat2@fs/namei.c:*") { if (tid() in renamed) { '
        'if ($from == renamed[tid()] && $olddfd == -100) right++; else wrong++ } } '
        'probe kernel.function("do_renameat2").return { '
        'say("entered", sprintf("%d %d", wrong, right > 40)) }', "^0 1$"),
    Row("entered-pointer", 'probe kernel.statement("do_renameat2@fs/namei.c:*") { '
        'say("entered-pointer", kernel_string2($from->name, "") . " " . '
        'kernel_string2($to->name, "") . sprintf(" %d", $flags)) }', "^f d/g 1$"),
    Row("entered-vars", 'probe kernel.statement("vfs_mkdir@fs/namei.c:*") { '
        'if (@defined($mode)) say("entered-vars", sprintf("%o", $mode & 0777)) }', "^7[07]+$"),
    Row("entered-module", 'probe module("brd").statement("brd_insert_page@*/brd.c:*") { '
        'if (@defined($sector)) '
        'say("entered-module", sprintf("%d %d", $sector & 7, $sector < 32)) }', "^0 1$"),
    # `waiter.py` is in there when the session begins; what is said is not a value.
    Row("under-way", 'probe kernel.statement("do_sys_poll@fs/select.c:*"), '
        'kernel.statement("schedule_timeout@kernel/time/timer.c:*") { '
        f'if (execname() == "{waiter.NAME}") {{ '
        'try { say("under-way", sprint(@choose_defined($timeout, @choose_defined($nfds, 0)) + '
        '@choose_defined($ufds, 0))) } catch (why) { say("under-way", why) } } }',
        "^the value that it had at the entry of 'schedule_timeout' is not known"),
    Row("ours", 'global ours probe kernel.statement("ksys_read@fs/read_write.c:*"), '
        'kernel.statement("ksys_write@fs/read_write.c:*") { '
        'if (!ours++ || $fd == 1) say("ours", sprint($fd)) }', "^1$"),
    Row("behind", 'probe kernel.statement("prepend_name@fs/d_path.c:*") { '
        'if (@defined($p->len)) say("behind", sprint($p->len)) }', r"^\d{3,4}$"),
    Row("behind-struct", 'probe kernel.statement("prepend_name@fs/d_path.c:*") { '
        'if (@defined($p->len)) say("behind-struct", $p$) }', r'^\{\.buf=".*", \.len=\d+\}$'),
    Row("behind-number", 'probe kernel.statement("generic_copy_file_checks@fs/read_write.c:*") { '
        'if (@defined($req_count[0])) say("behind-number", sprint($req_count[0])) }',
        "^2048$"),
    # The compiler does not pass these: their callers tell what they would.
    Row("unpassed", 'probe kernel.function("__set_oom_adj") { '
        'say("unpassed", kernel_string($file->f_path->dentry->d_name->name)) }',
        "^oom_score_adj$"),
    Row("unpassed-inside", 'probe kernel.statement("__set_oom_adj@fs/proc/base.c:*") { '
        'if (@defined($file->f_flags)) say("unpassed-inside", '
        'kernel_string($file->f_path->dentry->d_name->name)) }', "^oom_score_adj$"),
    Row("unpassed-struct", 'probe kernel.function("find_entry@fs/proc/proc_sysctl.c") { '
        'say("unpassed-struct", sprintf("%d %d", $dir->header->nreg > 0, '
        '$dir->root->rb_node != 0)) }', "^1 1$"),
]  # fmt: skip


def command(rows: list[Row], more: str = "") -> str:
    """Write the load as a shell script that prints the rows' proofs as ``NAME! TEXT``.

    ``more`` is a program in Python that it runs as well.
    """
    proofs = "".join(f'echo "{row.name}! $({row.proof})"\n' for row in rows if row.proof)
    program = f"cat >load.py <<'E'\n{more}E\npython3 -S load.py\n"
    return LOAD.replace("{proofs}", proofs).replace("{program}", program)


def wrong(row: Row, output: str) -> str:
    """Tell what is wrong with a row among the output of all, "" when nothing is."""
    said = re.findall(rf"^{re.escape(row.name)}\| (.*)", output, re.MULTILINE)
    if not row.proof:
        fits = any(re.search(row.expect, line) for line in said)
        return "" if fits else f"/{row.expect}/ is not in {said}"
    proofs = re.findall(rf"^{re.escape(row.name)}! (.+)", output, re.MULTILINE)
    return "" if proofs and proofs[0] in said else f"{proofs} is not in {said}"


def script(rows: list[Row], **values: str) -> str:
    """Join the pieces to one script."""
    text = PRELUDE + "\n".join(row.script for row in rows)
    for name, value in values.items():
        text = text.replace("{" + name + "}", value)
    return text
