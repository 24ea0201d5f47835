"""A throw-away virtual machine in which pass 5 can run: for users (``--vm``) and for tests.

``session.py`` is what pass 5 uses, ``machine.py`` a machine for any command.
This file is a part of the guest's agent, so nothing is imported here.
"""
