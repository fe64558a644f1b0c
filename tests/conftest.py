"""What all tests share: drawn examples that are the same at every run.

``FSMEU_EXPLORE=1`` draws new ones instead, to look for what the fixed ones miss.
"""

import os

from hypothesis import settings

settings.register_profile("repeatable", derandomize=True, deadline=None)
settings.register_profile("explore", deadline=None)
settings.load_profile("explore" if os.environ.get("FSMEU_EXPLORE") else "repeatable")
