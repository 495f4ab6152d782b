"""The pages of docs/guide: their commands are run as they are written, one page after the other, at a terminal."""

import os
import pty
import re
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from demo.stage import surroundings
from tests.servers.headrace import PASSWORD
from tests.servers.ports import free_port

pytestmark = pytest.mark.timeout(300)

GUIDE: Final = Path(__file__).parents[2] / "docs" / "guide"
PAGES: Final = (
    "install.md", "first-transfer.md", "console.md", "command-line.md", "assistants.md", "rest.md", "python.md",
)  # fmt: skip
"""In the order in which somebody reads them: each goes on with what those before it have left."""
LIMIT_S: Final = 100
COPIED: Final = {
    "first-transfer.md": ("photos",),
    "command-line.md": ("photos", "planned", "watched", "nightly"),
    "rest.md": ("by-rest",),
    "python.md": ("by-python",),
}
"""Folders that a page has copied, below where it copies to."""
WRITTEN_FOR: Final = "127.0.0.1:8470"
"""Where the pages say that the service is: the default."""
_BLOCK: Final = re.compile(r"(?:<!-- ([^>]*) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
_SAVED_AS: Final = re.compile(r"Save this as `([\w.]+)`")
_SERVE: Final = "headrace serve "


@dataclass(frozen=True)
class Block:
    """What a reader does with one block of a page."""

    note: str
    language: str
    text: str
    save_as: str

    @property
    def exit_code(self) -> int:
        found = re.fullmatch(r"exits with: (\d+)", self.note)
        return int(found.group(1)) if found else 0


def blocks(page: str) -> list[Block]:
    text = (GUIDE / page).read_text(encoding="utf-8")
    found, end = [], 0
    for match in _BLOCK.finditer(text):
        saved = _SAVED_AS.findall(text[end : match.start()])
        found.append(Block(match[1] or "", match[2], match[3], saved[-1] if saved else ""))
        end = match.end()
    return found


class Reader:
    """Somebody who has a machine with the programs, a home folder, and two terminals."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.listen = f"127.0.0.1:{free_port()}"
        self.service: subprocess.Popen[bytes] | None = None
        programs = str(Path(sys.executable).parent)
        self._environment = surroundings() | {
            "HOME": str(home),
            "PATH": f"{programs}:{os.environ['PATH']}",
            "HEADRACE_LISTEN": self.listen,
            "HEADRACE_HUB_LISTEN": "127.0.0.1:0",
            "HEADRACE_SERVICE": f"http://{self.listen}",
            "TERM": "dumb",
            "COLUMNS": "160",
        }

    @property
    def _answers(self) -> dict[str, str]:
        """What is typed at each question of a command."""
        link = self.home / ".local/share/headrace/bootstrap-link"
        return {
            r"Link: ": link.read_text().strip() if link.exists() else "",
            r"name that you sign in with: ": "ada",
            r"New password: ": PASSWORD,
            r"Repeat for confirmation: ": PASSWORD,
            r"Your password: ": PASSWORD,
            r"whole sentence again\): ": "here:/photos",
            r"\[Y/n\]: ": "y",
            r"\[y/N\]: ": "y",
        }

    def follow(self, page: str) -> None:
        """Do what a page says, in one shell, as far as it is to be run."""
        lines: list[str] = ["set -e"]
        for block in blocks(page):
            if block.note.startswith("not run: "):
                continue
            if block.language == "python":
                (self.home / block.save_as).write_text(self._here(block.text), encoding="utf-8")
            elif block.text.startswith(_SERVE):
                self._shell(lines)
                lines = ["set -e"]
                self._serve(block.text)
            elif block.exit_code:
                lines += [f"code=0; {block.text.strip()} || code=$?", f'[ "$code" = {block.exit_code} ]']
            else:
                lines.append(block.text)
        self._shell(lines)

    def _here(self, text: str) -> str:
        return text.replace(WRITTEN_FOR, self.listen)

    def _serve(self, text: str) -> None:
        words = [word.replace("~", str(self.home)).replace("$HOME", str(self.home)) for word in shlex.split(text)]
        root = ["--allow-root"] if os.geteuid() == 0 else []
        self.service = subprocess.Popen(
            [*words, *root], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environment, cwd=self.home
        )
        assert self.service.stdout is not None
        assert select.select([self.service.stdout], [], [], LIMIT_S)[0], "the service did not start"
        assert self.service.stdout.readline().startswith(b"service"), "the service did not start"

    def _shell(self, lines: list[str]) -> None:
        mine, theirs = pty.openpty()
        command = ["bash", "-c", self._here("\n".join(lines))]
        with subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=self._environment, cwd=self.home,
            start_new_session=True,
        ) as shell:  # fmt: skip
            os.close(theirs)
            try:
                shown = self._type(mine)
                assert shell.wait(LIMIT_S) == 0, shown
            finally:
                shell.kill()
                os.close(mine)

    def _type(self, screen: int) -> str:
        """Read to the end, and answer each question once."""
        shown, answered, limit = "", 0, time.monotonic() + LIMIT_S
        while select.select([screen], [], [], max(0.0, limit - time.monotonic()))[0]:
            try:
                shown += os.read(screen, 65536).decode(errors="replace")
            except OSError:  # nobody has the other side any more
                return shown
            for question, answer in self._answers.items():
                if asked := re.compile(f"{question}$").search(shown, answered):
                    answered = asked.end()
                    os.write(screen, answer.encode() + b"\n")
        message = f"the commands did not end; they showed:\n{shown}"
        raise AssertionError(message)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    one = Reader(tmp_path)
    yield one
    if one.service is not None:
        one.service.terminate()
        assert one.service.wait(LIMIT_S) == 0
        assert one.service.stdout is not None
        one.service.stdout.close()


def test_the_guide_has_these_pages_and_its_index_names_them() -> None:
    index = (GUIDE / "README.md").read_text(encoding="utf-8")
    assert {path.name for path in GUIDE.glob("*.md")} == {*PAGES, "README.md"}
    assert re.findall(r"^\| \[([\w.-]+)\]", index, re.MULTILINE) == list(PAGES)


def test_what_the_page_of_the_console_names_is_written_there() -> None:
    page = (GUIDE / "console.md").read_text(encoding="utf-8")
    named = {*re.findall(r"\*\*(.+?)\*\*", page), *re.findall(r"^\| ([A-Z][^|]*?) \|", page, re.MULTILINE)}
    texts = "".join(path.read_text(encoding="utf-8") for path in (GUIDE.parents[1] / "web/src/i18n/en").glob("*.ts"))
    assert len(named) > 8
    assert {name for name in named if f': "{name}"' not in texts} == set()


def test_the_commands_of_the_pages_one_after_the_other_do_what_they_say(reader: Reader) -> None:
    for page in PAGES:
        reader.follow(page)
        for copied in COPIED.get(page, ()):
            arrived = {path.name: path.read_text() for path in (reader.home / "backup" / copied).iterdir()}
            assert arrived == {"one.txt": "first\n", "two.txt": "second\n"}, (page, copied)
