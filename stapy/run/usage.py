"""What ``stapy-run --help`` prints."""

from __future__ import annotations

USAGE = """\
Usage: stapy-run [options] MODULE.ko [name=value ...]
   or: stapy-run --info MODULE.ko
   or: stapy-run -d MODULE
   or: stapy-run -A MODULE
   or: stapy-run --list
   or: stapy-run --sudoers

  -c CMD      start CMD once the probes are armed, stop when it ends
  --probe-effect CMD
              run CMD without and with the probes and compare the time that it takes
  --probe-effect-runs NUM
              so often each, 3 to 1000; else 10 times
  -x PID      set target() to PID
  -N PID      use the name spaces of PID: its numbers in ns_pid() and the like,
              its files for what --target-namespaces named
  -o FILE     write the output to FILE; %-sequences of strftime are expanded
  --record FILE
              of a module made with --format: beside the output, write the lines of
              --format=json to FILE, which stapy plot draws
  --width COLUMNS
              histograms and lists take so many columns; 0: as in a file or
              pipe; else as many as the terminal has that the output goes to
  -S MB[,N]   start a new output file every MB megabytes, keep the last N
  -T SECONDS  stop after SECONDS
  -M SECONDS  show probes and globals on the terminal, of a module made with --monitor
  --metrics ADDR:PORT
              serve the globals of a module made with --metrics to Prometheus
  --format=FORM
              of a module made with --format: json, an object on a line for each print;
              csv, tables; folded, stacks with counts; text; else as the module was made
  -b MB       output buffer of each CPU, 1 to 4095 megabytes
  -w          no warnings
  -v          say what is done
  -L          load the module, start it and detach
  -D          go on in the background, with -o: the process is shown
  -R          load the module under a name of its own
  -i          hand standard input on to the script, as is done for every script with
              input probes
  -A          attach to a module that was left running
  -d          remove a module that was left loaded
  --list      show the sessions that are in the kernel: module, state, user, and
              which process reads the session, nobody when it was detached
  -C WHEN     colours in messages, and of what is drawn on a terminal: auto, always, never
  --message-format=json
              each message as one object on a line; text, as it is without
  --sudoers   print the rule for sudo by which members of the groups stapusr, stapsys
              and stapdev run modules
  -V, -h      version, this text
  name=value  set a global that -G named when the module was made

Signals: INT, TERM and HUP end the session, QUIT detaches, USR2 starts a new
output file.
"""
