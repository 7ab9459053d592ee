"""``covey serve``."""

from __future__ import annotations

from typing import Annotated

import typer

from covey.cli import _options as options
from covey.cli._console import CommandError, Console

EXAMPLE = (
    "covey demo --table wine.csv",
    "covey fit wine.csv --target cultivar --model wine.covey",
    "covey serve wine.covey",
)


def serve(
    model: options.Model,
    host: Annotated[
        str, typer.Option(metavar="ADDRESS", help="The address to listen on.")
    ] = "127.0.0.1",
    port: Annotated[
        int, typer.Option(metavar="NUMBER", help="The port; 0 takes any that is free.")
    ] = 8000,
    max_rows: Annotated[
        int, typer.Option(metavar="NUMBER", help="The most rows of one request.")
    ] = 1000,
    max_bytes: Annotated[
        int, typer.Option(metavar="NUMBER", help="The most bytes of one request.")
    ] = 1 << 20,
    rate: Annotated[
        float,
        typer.Option(metavar="NUMBER", help="The most requests a second of one client; 0: any."),
    ] = 500.0,
    seconds: Annotated[
        float, typer.Option(metavar="NUMBER", help="How long one request may take.")
    ] = 10.0,
    quiet: options.Quiet = False,
) -> None:
    """Show a model as a web page with a form, and answer programs in JSON.

    The page asks for a row and shows the answer, why, and what would change it. Programs send rows
    to /predict and others; /openapi.json describes them. By default only this machine can reach
    the server: it asks nobody for a password. Ctrl-C or SIGTERM ends it when all requests that are
    under way are answered.
    """
    from covey.cli._models import load_model

    console = Console(quiet)
    limits = _limits(max_rows, max_bytes, rate, seconds)
    if not 0 <= port <= 65535:
        raise CommandError(f"--port must be a number from 0 to 65535, got {port}.")
    fitted = load_model(model)
    _run(console, model, fitted, host, port, limits)


def _limits(max_rows: int, max_bytes: int, rate: float, seconds: float):
    from covey.serving import Limits

    given = {"rows": max_rows, "bytes": max_bytes, "rate": rate, "seconds": seconds}
    wanted = {
        "rows": ("--max-rows", "a whole number from 1 on"),
        "bytes": ("--max-bytes", "a whole number from 1 on"),
        "rate": ("--rate", "a number from 0 on"),
        "seconds": ("--seconds", "a number above 0"),
    }
    for name, value in given.items():
        try:
            Limits(**{name: value})
        except ValueError:
            option, what = wanted[name]
            raise CommandError(f"{option} must be {what}, got {value:g}.") from None
    return Limits(**given)


def _run(console, path, model, host, port, limits):
    from threadpoolctl import threadpool_limits

    from covey.serving import bind, is_loopback, make_app, run

    loopback = is_loopback(host)
    app = make_app(model, limits, **({} if loopback else {"hosts": None}))
    with bind(host, port) as sock:
        address = sock.getsockname()
        shown = f"[{address[0]}]" if ":" in address[0] else address[0]
        if not loopback:
            console.note(
                f"{host} can be reached by other machines, and everybody may ask: there is no "
                "password and no encryption here; put it behind a proxy that has both."
            )

        def started() -> None:
            console.note(f"{path}: http://{shown}:{address[1]}/ (Ctrl-C ends it)")

        # Requests are answered side by side; threads within one of them would only get in the way.
        with threadpool_limits(1):
            run(app, sock, limits, started=started)
    count = app.state.counts.answered
    console.note(f"Ended; {count:,} request{'s were' if count != 1 else ' was'} answered.")
