"""What a run shows: its record read from files, lineage of lines, figures, and the HTML pages."""
