"""``covey serve``."""

from __future__ import annotations

from typing import Annotated

from covey.cli import _options as options
from covey.cli._console import Console

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --model wine.covey",
    "covey serve wine.covey",
)


_HOST = options.option("The address to listen on.", metavar="ADDRESS")
_PORT = options.option("The port; 0 takes any that is free.", min=0, max=65535, metavar="NUMBER")
_MAX_ROWS = options.option("The most rows of one request.", min=1, metavar="NUMBER")
_MAX_BYTES = options.option("The most bytes of one request.", min=1, metavar="NUMBER")
_SECONDS = options.option("How long one request may take.", min=0.1, metavar="NUMBER")


def serve(
    model: options.Model,
    host: Annotated[str, _HOST] = "127.0.0.1",
    port: Annotated[int, _PORT] = 8000,
    max_rows: Annotated[int, _MAX_ROWS] = 1000,
    max_bytes: Annotated[int, _MAX_BYTES] = 1 << 20,
    seconds: Annotated[float, _SECONDS] = 10.0,
    quiet: options.Quiet = False,
) -> None:
    """Show a model as a web page with a form, and answer programs in JSON.

    The page asks for a row and shows the answer, why, and what would change it. Programs send rows
    to /predict and others; /openapi.json describes them. By default only this machine can reach
    the server, which asks for no password. Ctrl-C or SIGTERM ends it once all requests under way
    are answered.
    """
    from threadpoolctl import threadpool_limits

    from covey.cli._models import load_model
    from covey.serving import Limits, bind, is_loopback, make_app, run

    console, limits = Console(quiet), Limits(max_rows, max_bytes, seconds)
    how = {} if is_loopback(host) else {"hosts": None}
    app = make_app(load_model(model), limits, **how)
    with bind(host, port) as sock:
        address = sock.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        if how:
            console.note(
                f"{host} can be reached by other machines, and everybody may ask: there is no "
                "password and no encryption here; put it behind a proxy that has both."
            )

        def started() -> None:
            console.note(f"{model}: http://{shown}:{address[1]}/ (Ctrl-C ends it)")

        # Requests are answered side by side; threads within one of them would only get in the way.
        with threadpool_limits(1):
            count = run(app, sock, limits, started=started)
    console.note(f"Ended; {count:,} request{'s were' if count != 1 else ' was'} answered.")
