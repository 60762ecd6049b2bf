"""`python -m mooring` is `mooring`."""

from __future__ import annotations

from mooring.cli.main import main

if __name__ == "__main__":
    main()
