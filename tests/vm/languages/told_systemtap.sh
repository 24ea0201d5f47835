# Passes of SystemTap that need no kernel, and what its runner does with a module that is none.
share=$(dirname "$(command -v stap)")/../share/systemtap
export SYSTEMTAP_TAPSET=$share/tapset SYSTEMTAP_RUNTIME=$share/runtime SYSTEMTAP_DIR=/tmp/told-stap HOME=/tmp
: > /tmp/told.ko
stap -p3 -e 'probe begin { exit() }' > /dev/null 2>&1
staprun /tmp/told.ko > /dev/null 2>&1
true
