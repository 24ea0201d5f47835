"""Structs that only a module defines, met where the kernel's BTF merely declares them."""

from __future__ import annotations

from pathlib import Path

import pytest

from stapy import cli

RELEASES = sorted(path.parent.name for path in Path("/lib/modules").glob("*-cloud-amd64/kernel"))

pytestmark = [
    pytest.mark.build,
    pytest.mark.skipif(not RELEASES, reason="no kernel is installed"),
]

FUNCTION = 'module("sunrpc").function("rpc_shutdown_client")'


@pytest.mark.parametrize("release", RELEASES)
@pytest.mark.parametrize(
    "script",
    [
        f"probe {FUNCTION} {{ println($clnt->cl_metrics->om_ops) }}",
        f"probe {FUNCTION} {{ println($clnt->cl_metrics[1]->om_ops) }}",
        'probe begin { println(@cast(1, "rpc_clnt", "sunrpc")->cl_metrics->om_ops) }',
    ],
)
def test_members_of_a_struct_of_a_module(release: str, script: str) -> None:
    assert cli.main(["-r", release, "-p2", "-e", script]) == 0


@pytest.mark.parametrize("release", RELEASES)
def test_such_a_struct_is_printed(release: str, capfd: pytest.CaptureFixture[str]) -> None:
    script = f"probe {FUNCTION} {{ println($clnt->cl_metrics$) }}"
    assert cli.main(["-r", release, "-p3", "-e", script]) == 0
    assert ".om_ops=" in capfd.readouterr().out
