"""Pages to look around in: one HTML file each, with all it needs inside and nothing fetched."""
