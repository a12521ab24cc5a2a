"""What a question may cost, in the solver's own units."""

from __future__ import annotations

TO_PROVE = 200_000  # effort of a proof
EFFORT = 60_000
OF_MANY = 30_000  # of a proof for many ways at once
AT_FIRST = 8_000  # effort of a question before it is put otherwise
TO_ASK = 1_000  # effort of putting a question
