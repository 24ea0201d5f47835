"""Rows whose values a second source in the guest knows: /proc, the caller's own arguments.

`test_debuginfo.py` runs them with those of `points.py`; ``proof`` is a shell command that
prints what the script must have said.
"""

from __future__ import annotations

from tests.vm.points import Row

# One process of a name of its own does what rows ask about: a directory with a mode that
# nobody else uses, and children that lose the parent's scheduling policy, unless a bit is
# taken from them on the way.
LOAD = """
import os, select, socket
open("/proc/self/comm", "w").write("stapy-values")
os.mkdir("values", 0o751)
os.write(os.open("values/file", os.O_CREAT | os.O_WRONLY), b"x" * 77)
os.sched_setscheduler(0, os.SCHED_RR | os.SCHED_RESET_ON_FORK, os.sched_param(1))
os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
select.select([4], [], [], 0)
socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 16).connect((0, 0))
for child in 1, 2:
    if not os.fork():
        os.sched_getscheduler(0)
        os._exit(0)
    os.wait()
"""
OWN = 'if (execname() == "stapy-values")'
UTS = '@var("init_uts_ns")->name'
RELEASE = 'echo "\\"$(uname -r)\\""'
PROVEN = [
    # --- copies that the compiler made, with parameters in other places or not passed at all
    Row("p-part", f'probe kernel.function("__do_pipe_flags") {{ {OWN} if (isinstr(probefunc(), '
        f'".part.")) say("p-part", sprintf("%#x", $flags)) }}', "^0x80800$"),
    Row("p-constprop", f'probe kernel.function("do_pselect") {{ {OWN} '
        f'say("p-constprop", sprintf("%d %s", $n, probefunc())) }}',
        r"^5 do_pselect\.constprop\.0$"),
    Row("p-isra", f'probe kernel.function("netlink_autobind") {{ {OWN} say("p-isra", sprintf('
        f'"%d %d %s", $sock->type, $sock->sk->sk_protocol, probefunc())) }}',
        r"^3 16 netlink_autobind\.isra\.0$"),
    # --- variables that only DWARF knows, of all kinds of types
    Row("v-string", f'probe begin {{ say("v-string", {UTS}->release$) }}', proof=RELEASE),
    Row("v-negative", 'probe begin { say("v-negative", sprint(@var("panic_timeout"))) }',
        proof="cat /proc/sys/kernel/panic"),
    Row("v-bool", 'probe begin { say("v-bool", sprint(@var("printk_time"))) }',
        proof="tr YN 10 </sys/module/printk/parameters/time"),
    Row("v-int", 'probe begin { say("v-int", sprint(@var("sysctl_nr_open@fs/file.c"))) }',
        proof="cat /proc/sys/fs/nr_open"),
    Row("v-enum", 'probe begin { say("v-enum", '
        '@enumname(@var("system_state"), "system_states", "kernel")) }', "^SYSTEM_RUNNING$"),
    Row("v-array", 'probe begin { '
        'say("v-array", @var("init_net")->ipv4->sysctl_tcp_rmem$) }',
        proof='tr "\\t" "," </proc/sys/net/ipv4/tcp_rmem | sed "s/,/, /g; s/.*/[&]/"'),
    Row("v-element", 'probe begin { i = 2; '
        'say("v-element", sprint(@var("init_net")->ipv4->sysctl_tcp_rmem[i])) }',
        proof='cut -f3 /proc/sys/net/ipv4/tcp_rmem'),
    Row("v-calls", 'probe begin { say("v-calls", symname(@var("sys_call_table")[39])) }',
        "^__(x64|do)_sys_getpid$"),
    Row("v-pointers", 'probe begin { f = &@var("def_chr_fops"); text = @var("def_chr_fops")$ '
        'say("v-pointers", sprintf("%s %d", symname(f->open), '
        'isinstr(text, sprintf(".open=%#x,", f->open)))) }', "^chrdev_open 1$"),
    Row("v-nested", 'probe begin { p = &@var("init_pid_ns"); '
        'say("v-nested", p->ns$$) }', r"\.inum=4026531836.*\{\.refs=\{\.counter=\d+\}\}"),
    Row("v-number", 'probe begin { say("v-number", sprint(@var("init_pid_ns")->ns->inum)) }',
        proof='readlink /proc/self/ns/pid | tr -dc "0-9"'),
    Row("v-typedef", 'probe begin { say("v-typedef", '
        'sprint(@cast(&@var("_totalram_pages"), "atomic_long_t", "kernel")->counter)) }',
        proof="awk \"/MemTotal/{print \\$2/4}\" /proc/meminfo"),
    Row("v-raw", 'probe begin { say("v-raw", '
        'sprint(kernel_long(&@var("_totalram_pages")) == @var("_totalram_pages")->counter)) }',
        "^1$"),
    Row("v-module", 'probe module("brd").function("brd_submit_bio") { say("v-module", '
        'sprint(@var("rd_size", "brd"))) }', proof="cat /sys/module/brd/parameters/rd_size"),
    # --- casts
    Row("c-header", 'probe begin { say("c-header", @cast(&@var("init_uts_ns")->name, '
        '"struct new_utsname", "kernel<linux/utsname.h>")->release$) }', proof=RELEASE),
    Row("c-user", 'probe begin { say("c-user", @cast(&@var("init_uts_ns")->name, '
        '"struct utsname", "<sys/utsname.h>")->release$) }', proof=RELEASE),
    # --- anonymous members, flexible arrays, unions
    Row("a-members", f'probe kernel.statement("vfs_write@fs/read_write.c+2").nearest {{ {OWN} '
        '{ d = &$file->f_path->dentry->d_lockref say("a-members", sprintf("%d", '
        'd->count == kernel_int(d + 4) && d->count > 0)) } }', "^1$"),
    Row("a-union", f'probe kernel.statement("vfs_write@fs/read_write.c+2").nearest {{ {OWN} '
        'say("a-union", $file->f_path->dentry->d_lockref$$) }',
        r"\.count=[1-9]\d*"),
    Row("a-flexible", f'probe kernel.statement("do_mkdirat@fs/namei.c+2").nearest {{ {OWN} '
        'say("a-flexible", sprintf("%s %c %d", kernel_string(&$name->iname[0]), '
        '$name->iname[1], $name->name == &$name->iname[0])) }', "^values a 1$"),
    Row("a-flexible-text", f'probe kernel.statement("do_mkdirat@fs/namei.c+2").nearest {{ {OWN} '
        'say("a-flexible-text", $name$) }', r'\.name="values"'),
    # --- statements and what is in scope there
    Row("s-parms", f'probe kernel.statement("do_mkdirat@fs/namei.c+2").nearest {{ {OWN} '
        'say("s-parms", $$parms) }', "^dfd=0xffffffffffffff9c name=0x[0-9a-f]{16} mode=0x1e9$"),
    Row("s-locals", f'probe kernel.statement("do_mkdirat@fs/namei.c:*") {{ {OWN} '
        'say("s-locals", $$locals) }', r"^dentry=0x[0-9a-f]{16} path=\{\.{3}\} error=0x0 lookup_"),
    Row("s-vars", f'probe kernel.statement("do_mkdirat@fs/namei.c:*") {{ {OWN} '
        'say("s-vars", $$vars) }', r"mode=0x1e9 dentry=0x[0-9a-f]{16} path=\{\.\.\.\} error=0x0\b"),
    Row("s-return", f'probe kernel.function("ksys_write@fs/read_write.c").return {{ {OWN} '
        'say("s-return", $$return) }', "^return=0x4d$"),
    Row("s-return-text", f'probe kernel.function("vfs_write@fs/read_write.c").return {{ {OWN} '
        'say("s-return-text", sprintf("%d %s", $return, $$return$)) }', "^77 return=77$"),
    Row("s-entry", f'probe kernel.function("vfs_write@fs/read_write.c").return {{ {OWN} '
        'if (@entry($pos)) say("s-entry", sprintf("%s %d %d", '
        '@entry(kernel_string($file->f_path->dentry->d_name->name)), '
        'kernel_long(@entry($pos)) - @entry($pos ? $pos[0] : 0), @entry($count + 1))) }',
        "^file 77 78$"),
    # --- bit fields: children of the parent lose its policy, but not the one whose bit is taken
    Row("b-read", 'global forks probe kernel.statement("sched_fork@kernel/sched/core.c+2").nearest '
        f'{{ {OWN} {{ forks++ say("b-read", sprint($p->sched_reset_on_fork)) '
        'before = $p->sched_contributes_to_load + 2 * $p->sched_migrated '
        'if (forks == 2) { $p->sched_reset_on_fork = 0 say("b-write", sprintf("%d %d", '
        '$p->sched_reset_on_fork, '
        'before == $p->sched_contributes_to_load + 2 * $p->sched_migrated)) } } }', "^1$"),
    Row("b-write", "", "^0 1$"),
    Row("b-left", "", "^1: 0$"),
    Row("b-effect", 'probe kernel.function("__x64_sys_sched_getscheduler").return '
        f'{{ {OWN} say(forks == 1 ? "b-left" : "b-effect", sprintf("%d: %d", forks, $return)) }}',
        "^2: 2$"),
    # --- @defined of every kind, decided when the script is translated
    Row("d-kinds", 'probe kernel.statement("do_mkdirat@fs/namei.c+2").nearest { '
        'say("d-kinds", sprintf("%d%d%d%d%d%d%d%d", @defined($mode), @defined($name->name), '
        '@defined($name->iname[0]), @defined(&$name->iname), @defined(@var("panic_timeout")), '
        '@defined(@var("rd_nr", "brd")), @defined(@cast(0, "struct filename")->name), '
        '@defined(@enum("PIDTYPE_MAX")))) }', "^11111111$"),
    Row("d-none", 'probe kernel.statement("do_mkdirat@fs/namei.c+2").nearest { '
        'say("d-none", sprintf("%d%d%d%d%d%d%d%d", @defined($nosuch), @defined($name->nosuch), '
        '@defined($return), @defined($$return), @defined(@var("nosuch_variable")), '
        '@defined(@var("rd_nr", "nosuch")), @defined(@cast(0, "struct filename")->nosuch), '
        '@defined(@cast(0, "struct nosuch")->name))) }', "^00000000$"),
    Row("d-choose", f'probe kernel.statement("do_mkdirat@fs/namei.c+2").nearest {{ {OWN} '
        'say("d-choose", sprintf("%o %o", @choose_defined($nosuch, $mode), '
        '@choose_defined($mode, $nosuch))) }', "^751 751$"),
]  # fmt: skip
