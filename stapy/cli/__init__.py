"""The command line of ``stapy``: what its words mean, and who does their work.

`start` obeys it: there `main` is. `parsing` makes `Options` of its words, `option` finds one option
by its name and gives it its value (what it then means, the table in ``stapy/options/`` says),
`apart` says which words belong to which option, `texts` has ``--help`` and ``-V``, `ending` the
exit status, and what is said when nothing more can be done.
"""

from stapy.cli.ending import complain, message_format, told
from stapy.cli.parsing import parse
from stapy.cli.start import main

__all__ = ["complain", "main", "message_format", "parse", "told"]
