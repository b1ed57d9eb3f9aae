"""Daily summaries."""

from datetime import time

AT = time(8)
