"""Reports as text and JSON. Nothing here analyses or reads files."""
