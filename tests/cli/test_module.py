from __future__ import annotations

import subprocess
import sys


def test_python_m_mooring() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "mooring", "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.startswith("mooring, version ")
