#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh RELEASE DIR UNITS [TEST…]: plain kbuild of test modules in DIR, with objects of DIR/runtime.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
release=$1
dir=$2
units=$3
shift 3
cp "$here"/*.c "$here"/*.h "$here/Makefile" "$dir/" 2>/dev/null || true
exec make -s -C "/lib/modules/$release/build" M="$dir" TESTS="$*" UNITS="$units" CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= modules
