"""A model as a web page and a JSON endpoint, on this machine unless told otherwise.

``covey serve model.covey`` is the command; `make_app` makes the same application for a server of
your own, and `run` runs it here. FastAPI and uvicorn are in the extra ``serve``.

Requests are checked against a schema made of the model's columns, and bounded in size and time
(`Limits`); an error in one is described in one sentence.
"""

from covey._names import extra

with extra("A server needs", "serve"):
    from covey.serving._app import make_app
    from covey.serving._batches import Limits
    from covey.serving._editing import Editing
    from covey.serving._server import bind, is_loopback, run

__all__ = ["Editing", "Limits", "bind", "is_loopback", "make_app", "run"]
