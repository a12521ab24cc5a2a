"""What holds of a kernel when it runs.

Holds occupancy, and one room for each kind of analysis. May import ``ir``. Never writes a message or an edit.
"""
