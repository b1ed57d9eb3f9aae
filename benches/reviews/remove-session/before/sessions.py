"""Sessions, one file each."""

import json
import secrets
from pathlib import Path


class SessionFiles:
    def __init__(self, folder):
        self.folder = Path(folder)

    def create(self, user):
        session_id = secrets.token_hex(16)
        (self.folder / session_id).write_text(json.dumps({"user": user}))
        return session_id
