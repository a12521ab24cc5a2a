"""From text to a statement tree. Nothing here raises on user text; only this package imports lark."""
