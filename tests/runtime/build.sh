#!/bin/sh
# SPDX-License-Identifier: GPL-2.0-or-later
# build.sh RELEASE DIR [TEST…]: plain kbuild of test modules (runtime included) in DIR.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
release=$1
dir=$2
shift 2
mkdir -p "$dir"
cp -r "$here/../../runtime" "$dir/"
cp "$here"/*.c "$here"/*.h "$here/Makefile" "$dir/" 2>/dev/null || true
exec make -s -C "/lib/modules/$release/build" M="$dir" TESTS="$*" CONFIG_DEBUG_INFO= CONFIG_DEBUG_INFO_BTF_MODULES= modules
