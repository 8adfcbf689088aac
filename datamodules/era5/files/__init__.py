"""ERA5 files of any layout, read as one archive."""
