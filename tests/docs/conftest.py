"""What makes the site lies in docs/_site, beside the pages."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.append(str(ROOT / "docs"))
