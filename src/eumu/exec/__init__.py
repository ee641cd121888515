"""The engines: they run a :class:`~eumu.exec.grid.Grid` against a :class:`~eumu.exec.host.Host`."""
