"""A plain script without `await`: make a task, run it now, ask why.

Prints:

done: 3 rows
It ran: succeeded
"""

from __future__ import annotations

import tempfile
from pathlib import Path

from horae import Horae

app = Horae(f"sqlite:///{Path(tempfile.mkdtemp())}/script.db", zone="Asia/Shanghai")


@app.task("every weekday at 9am", name="import", retries=1)
def import_rows(rows: int = 3) -> str:
    return f"{rows} rows"


def main() -> None:
    with app.sync() as horae:
        task = horae.get("import")
        run = task.run_now(wait="30s")
        print("done:", run.result if run is not None else "nothing")
        print(str(task.why()).partition(". ")[0])


if __name__ == "__main__":
    main()
