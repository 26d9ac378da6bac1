"""Local engines without the second of CPU in which Python imports what they are made of."""

import os

from integration.forking import OPERATOR, ROOT, Forker

FORKED_ENGINES = Forker(
    "localengine.__main__:main", path=os.pathsep.join((str(ROOT / "devtools"), str(OPERATOR)))
)
