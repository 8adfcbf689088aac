"""What runs leave behind: found, read, averaged over seeds, and shown in a terminal."""
