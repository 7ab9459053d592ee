"""``covey serve``."""

from __future__ import annotations

import sys
from typing import Annotated, Any

from covey.cli import _options as options
from covey.cli._console import CommandError, Console
from covey.cli._edit import PRICED_ON, priced_on

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
_EDIT = options.option(
    "Let a person who knows the address change effects on a page, and save the model here.",
    metavar="FILE.covey",
)
# The most rows on which a price is measured, which a person waits for.
_MOST_ROWS = 5000


def serve(
    model: options.Model,
    host: Annotated[str, _HOST] = "127.0.0.1",
    port: Annotated[int, _PORT] = 8000,
    max_rows: Annotated[int, _MAX_ROWS] = 1000,
    max_bytes: Annotated[int, _MAX_BYTES] = 1 << 20,
    seconds: Annotated[float, _SECONDS] = 10.0,
    edit: Annotated[str | None, _EDIT] = None,
    table: Annotated[str | None, PRICED_ON] = None,
    quiet: options.Quiet = False,
) -> None:
    """Show a model as a web page with a form, and answer programs in JSON.

    The page asks for a row and shows the answer, why, and what would change it. Programs send rows
    to /predict and others; /openapi.json describes them. By default only this machine can reach
    the server, which asks for no password. Ctrl-C or SIGTERM ends it once all requests under way
    are answered.

    With --edit there is a page on which effects are dragged, at an address with a key, which is
    printed. The model that is served stays as it is.
    """
    from threadpoolctl import threadpool_limits

    from covey.cli._models import load_model
    from covey.serving import Limits, bind, is_loopback, make_app, run

    console, limits = Console(quiet), Limits(max_rows, max_bytes, seconds)
    how = {} if is_loopback(host) else {"hosts": None}
    fitted, editing = load_model(model), None
    if edit is not None:
        if how:
            raise CommandError("--edit is for this machine alone; leave --host out.")
        editing = _editing(fitted, model, edit, table, console)
    elif table is not None:
        raise CommandError("--table is for --edit: it measures what a correction costs.")
    app = make_app(fitted, limits, editing=editing, **how)
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
            if editing is not None:
                # A fragment, which browsers do not send, so that no record of requests has it.
                console.result(f"Correct it: http://{shown}:{address[1]}/edit#{editing.key}")
                sys.stdout.flush()

        # Requests are answered side by side; threads within one of them would only get in the way.
        with threadpool_limits(1):
            count = run(app, sock, limits, started=started)
    console.note(f"Ended; {count:,} request{'s were' if count != 1 else ' was'} answered.")


def _editing(fitted: Any, model: str, out: str, table: str | None, console: Console) -> Any:
    """Return what a person needs to correct a model on a page, and to save it in a file."""
    import numpy as np

    from covey.cli._models import save_model
    from covey.cli._writing import check_writable
    from covey.serving import Editing

    inputs = [one for one in (model, table) if one]
    check_writable(out, (".covey",), inputs)
    held_out, caution = priced_on(fitted, table, console)
    if held_out is not None:
        kept = np.random.default_rng(0).permutation(len(held_out[1]))[:_MOST_ROWS]
        held_out = held_out[0].iloc[kept], held_out[1][kept]

    def save(corrected: Any) -> str:
        try:
            check_writable(out, (".covey",), inputs)
            rows = corrected.model_.table.remembered() if held_out is None else held_out[0]
            save_model(corrected, out, rows)
        except CommandError as error:
            raise OSError(str(error)) from None
        return f"Saved {out}."

    try:
        return Editing(fitted, save, held_out, caution)
    except ValueError as error:
        raise CommandError(f"--edit: {error}") from None
