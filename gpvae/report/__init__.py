"""`gpvae report`: runs as one HTML page that needs nothing else to be read.

From the folders of runs to the page: `runs` finds and reads them, `config` says what was run and `clock` how long it
took; `naming`, `variants` and `labels` say what it is called, and `groups` puts together what can be compared;
`tables`, `charts`, `heat_maps` and `pictures` show it, in `sections` of a `page`.
"""
