"""A model as a web page and a JSON endpoint, on this machine unless told otherwise.

``covey serve model.covey`` is the command; `make_app` gives the same application to those who run
a server of their own, and `run` runs it here. FastAPI and uvicorn are in the extra ``serve``.

What comes in is checked by a schema made of the model's columns, and bounded in size, rate and
time (`Limits`); what is wrong with it is said in one sentence.
"""

from covey.serving._app import make_app
from covey.serving._limits import Limits
from covey.serving._server import bind, is_loopback, run

__all__ = ["Limits", "bind", "is_loopback", "make_app", "run"]
