"""Other hosts: how they are named, asked and reached, and a module run on all of them at once.

OpenSSH's own programs carry everything, with the user's configuration, keys and jump hosts.
"""
