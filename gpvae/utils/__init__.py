"""What every package may use and what knows none of them: linear algebra, checks, files, locks, processes."""
