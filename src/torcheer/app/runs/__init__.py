"""What the page can ask about runs: found in folders, read in threads, and pushed when there is news."""
