"""Pictures of what scripts gathered: recording -> charts -> Vega-Lite -> a file.

`recording.py` reads what ``--format=json`` or ``--format=folded`` wrote, `choice.py` says which
charts become of it, `flames.py`, `tables.py` and `timelines.py` make them, `labels.py` cuts long
names, `views.py` writes a chart as Vega-Lite, `files.py` the file; `page.py` is what a page does.
"""
