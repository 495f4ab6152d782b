"""Run commands of `headrace`, each in a fork of a process that has loaded the program: lines of JSON in and out."""

import json
import os
import sys
import tempfile
import traceback

from headrace.cli import card, main, moving, planning, transfers  # noqa: F401 - loaded once, for every fork


def _child(words: list[str], out: int, err: int) -> None:
    """Be `headrace WORDS` in the child; never returns."""
    nothing = os.open(os.devnull, os.O_RDONLY)
    for target, source in enumerate((nothing, out, err)):
        os.dup2(source, target)
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(n, mode) for n, mode in enumerate("rww"))
    sys.argv = ["headrace", *words]
    code = 0
    try:
        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter would say it
        traceback.print_exc()
        code = 250
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(words: list[str]) -> dict[str, object]:
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        child = os.fork()
        if child == 0:
            _child(words, out.fileno(), err.fileno())
        _, status = os.waitpid(child, 0)
        out.seek(0)
        err.seek(0)
        said = [file.read().decode(errors="replace") for file in (out, err)]
    return {"code": os.waitstatus_to_exitcode(status), "out": said[0], "err": said[1]}


if __name__ == "__main__":
    for line in sys.stdin:
        sys.stdout.write(json.dumps(_run(json.loads(line))) + "\n")
        sys.stdout.flush()
