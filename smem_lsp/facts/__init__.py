"""What is known of one kernel.

Holds every analysis of a kernel, each worked out when it is first asked for, within a budget of its own. May import
``allocation`` and below. Never decides what is worth saying.
"""
