"""README.md, the guide, and the pages on backups and upgrades: their commands are run as written, at a terminal."""

import os
import pty
import re
import select
import shlex
import signal
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from demo.stage import Stage, surroundings
from tests.servers.headrace import PASSWORD
from tests.servers.ports import free_port

pytestmark = pytest.mark.timeout(300)

TREE: Final = Path(__file__).parents[2]
GUIDE: Final = TREE / "docs" / "guide"
README: Final = TREE / "README.md"
OPERATIONS: Final = TREE / "docs" / "operations"
PAGES: Final = (
    "install.md", "first-transfer.md", "console.md", "command-line.md", "assistants.md", "rest.md", "python.md",
)  # fmt: skip
"""In the order in which somebody reads them: each goes on with what the first two have left."""
_AT: Final = PAGES.index("command-line.md")
"""The longest page: it is walked apart from those for programs."""
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
A_SITES_DATA: Final = "/var/lib/headrace"
"""Where the pages for a site say that the service's data is."""
_BLOCK: Final = re.compile(r"(?:<!-- ([^>]*) -->\n)?```(\w+)\n(.*?)```", re.DOTALL)
_SAVED_AS: Final = re.compile(r"Save this as `([\w.]+)`")
_SERVE: Final = "headrace serve "
_LINK: Final = re.compile(r"https?://\S+/accept#\S+")


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


def blocks(page: Path) -> list[Block]:
    return blocks_of(page.read_text(encoding="utf-8"))


def blocks_of(text: str) -> list[Block]:
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
        self.folder = home
        """Where the commands are given."""
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

    def _answers(self, shown: str) -> dict[str, str]:
        """What is typed at each question of a command: a link is the last that was shown, or the first start's."""
        first = self.home / ".local/share/headrace/bootstrap-link"
        links = [first.read_text().strip() if first.exists() else "", *_LINK.findall(shown)]
        return {
            r"Link: ": links[-1],
            r"name that you sign in with: ": "ada",
            r"New password \(at least 12 characters\): ": PASSWORD,
            r"Repeat for confirmation: ": PASSWORD,
            r"Your password: ": PASSWORD,
            r"whole sentence again\): ": "here:/photos",
            r"\[Y/n\]: ": "y",
            r"\[y/N\]: ": "y",
        }

    def follow(self, page: Path) -> None:
        """Do what a page says, in one shell, as far as it is to be run."""
        self.do(blocks(page))

    def do(self, told: Iterable[Block]) -> None:
        """Do what blocks say, in one shell."""
        lines: list[str] = ["set -e"]
        for block in told:
            if block.note.startswith("not run: "):
                continue
            if block.note == "ends the service":
                self._shell(lines)
                lines = ["set -e"]
                self.end_service()
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
        return text.replace(WRITTEN_FOR, self.listen).replace(A_SITES_DATA, "~/.local/share/headrace")

    def end_service(self) -> None:
        """Press Ctrl-C in the terminal of the service, if there is one."""
        if self.service is not None:
            self.service.send_signal(signal.SIGINT)
            assert self.service.wait(LIMIT_S) == 0
            assert self.service.stdout is not None
            self.service.stdout.close()
            self.service = None

    def _serve(self, text: str) -> None:
        words = [word.replace("~", str(self.home)).replace("$HOME", str(self.home)) for word in shlex.split(text)]
        root = ["--allow-root"] if os.geteuid() == 0 else []
        self.service = subprocess.Popen(
            [*words, *root], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=self._environment, cwd=self.folder
        )
        assert self.service.stdout is not None
        assert select.select([self.service.stdout], [], [], LIMIT_S)[0], "the service did not start"
        assert self.service.stdout.readline().startswith(b"service"), "the service did not start"

    def _shell(self, lines: list[str]) -> None:
        mine, theirs = pty.openpty()
        command = ["bash", "-c", self._here("\n".join(lines))]
        with subprocess.Popen(
            command, stdin=theirs, stdout=theirs, stderr=theirs, env=self._environment, cwd=self.folder,
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
        """Read to the end, and answer each question once; nothing is silent for longer than the limit."""
        shown, answered = "", 0
        while select.select([screen], [], [], LIMIT_S)[0]:
            try:
                shown += os.read(screen, 65536).decode(errors="replace")
            except OSError:  # nobody has the other side any more
                return shown
            for question, answer in self._answers(shown).items():
                if asked := re.compile(f"{question}$").search(shown, answered):
                    answered = asked.end()
                    os.write(screen, answer.encode() + b"\n")
        message = f"the commands neither went on nor ended; they showed:\n{shown}"
        raise AssertionError(message)


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[Reader]:
    one = Reader(tmp_path)
    yield one
    one.end_service()


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


@pytest.mark.parametrize("pages", [PAGES[: _AT + 1], (*PAGES[:2], *PAGES[_AT + 1 :])], ids=["commands", "programs"])
def test_the_commands_of_the_pages_one_after_the_other_do_what_they_say(reader: Reader, pages: Sequence[str]) -> None:
    for page in pages:
        reader.follow(GUIDE / page)
        for copied in COPIED.get(page, ()):
            arrived = {path.name: path.read_text() for path in (reader.home / "backup" / copied).iterdir()}
            assert arrived == {"one.txt": "first\n", "two.txt": "second\n"}, (page, copied)


def test_the_readme_takes_a_newcomer_from_the_source_to_a_receipt(reader: Reader) -> None:
    reader.folder = reader.home / "headrace"
    reader.folder.mkdir()
    (reader.folder / "docs").symlink_to(TREE / "docs")
    (reader.folder / ".venv").symlink_to(sys.prefix)
    _, *first_steps = blocks(README)
    assert any("headrace ask" in block.text for block in first_steps)
    reader.do(first_steps)
    pictures = {path.name: path.read_bytes() for path in (TREE / "docs/console").glob("*.png")}
    assert {path.name: path.read_bytes() for path in (reader.home / "backup/photos").iterdir()} == pictures

    assert {path.name for path in reader.folder.iterdir()} == {"docs", ".venv"}, "keys and tokens lie in no source"
    page = (GUIDE / "command-line.md").read_text(encoding="utf-8")
    reader.do(blocks_of(page.partition("\n## When a file does not arrive\n")[2].partition("\n## ")[0]))
    assert (reader.home / "backup/differs/one.txt").read_text() == "first\n"


@pytest.mark.parametrize(
    "page", [README, OPERATIONS / "backup.md", *(GUIDE / page for page in PAGES)], ids=lambda page: str(page.name)
)
def test_no_command_of_a_page_leaves_a_file_in_the_folder_where_it_is_given(page: Path) -> None:
    told = "\n".join(block.text for block in blocks(page) if block.language == "sh")
    written = re.findall(r"(?:(?<![\d&<-])>{1,2}|--output|headrace backup)\s+([^\s;)]+)", told)
    assert {name for name in written if not name.startswith("~/")} == set()


def test_a_second_host_joins_and_takes_a_copy_as_the_readme_says(reader: Reader) -> None:
    reader.follow(GUIDE / "first-transfer.md")
    joining = README.read_text(encoding="utf-8").partition("\n## Joining a second host\n")[2].partition("\n## ")[0]
    made, join, *then = re.findall(r"^    (headrace.+)$", joining, re.MULTILINE)
    reader.do([Block("", "sh", f"{made} > made.txt\n", "")])
    [token] = re.findall(r"hrj_\S+", (reader.home / "made.txt").read_text())
    folder, address = reader.home / "archive", f"127.0.0.1:{free_port()}"
    folder.mkdir()
    program, *words = shlex.split(join)
    assert program == "headrace-node"
    here = {"TOKEN": token, "0.0.0.0:8472": address, "dtn2.example.org:8472": address}
    with Stage(reader.home) as stage:
        stage.node("dtn2", *(here.get(word, word.replace("/srv/archive", str(folder))) for word in words))
        attached = """jq -e 'any(.items[]; .name == "dtn2" and .state == "attached")'"""
        reader.do([Block("", "sh", f"until headrace nodes --json | {attached}; do :; done\n", "")])
        reader.do([Block("", "sh", "\n".join(then), "")])
    assert {path.name for path in (folder / "photos").iterdir()} == {"one.txt", "two.txt"}


def test_the_first_example_of_the_readme_is_carried_out_as_it_is_written(reader: Reader) -> None:
    raw = reader.home / "raw/run42"
    raw.mkdir(parents=True)
    (reader.home / "archive").mkdir()
    (raw / "frame.dat").write_text("frame")
    (raw / "half.tmp").write_text("half")
    example = blocks(README)[0]
    assert example.text.startswith("headrace ask ")
    serve = (
        'headrace serve --data ~/.local/share/headrace --root krios1="$HOME":read --root archive="$HOME/archive":write'
    )
    login = "headrace login --link - --name ada\n"
    reader.do([Block("", "sh", serve, ""), Block("", "sh", login, ""), example])
    assert [path.name for path in (reader.home / "archive/2026/run42").iterdir()] == ["frame.dat"]


def test_a_service_is_backed_up_restored_and_upgraded_as_the_pages_say(reader: Reader) -> None:
    reader.follow(GUIDE / "first-transfer.md")
    upgrading = (OPERATIONS / "deploy.md").read_text(encoding="utf-8").partition("\n## Upgrading\n")[2]
    assert "headrace backup" in upgrading
    reader.follow(OPERATIONS / "deploy.md")
    reader.follow(OPERATIONS / "backup.md")
    data = reader.home / ".local/share/headrace"
    assert not (data / "halt").exists()
    assert (reader.home / "broken/headrace.sqlite").exists()
    copy = "headrace copy here:/photos there:/after --yes\n"
    reader.do([Block("", "sh", copy, "")])
    assert {path.name for path in (reader.home / "backup/after").iterdir()} == {"one.txt", "two.txt"}


@pytest.mark.parametrize(
    "page", ["docs/guide/install.md", "docs/guide/README.md", "docs/operations/deploy.md", "docs/operations/backup.md"]
)
def test_the_readme_leads_to_what_a_newcomer_needs(page: str) -> None:
    readme = README.read_text(encoding="utf-8")
    assert f"]({page})" in readme
    for place in re.findall(r"\]\((?!https?:|#)([^)#]+)", readme):
        assert (TREE / place).exists(), place
    titles = re.findall(r"^## (.+)$", readme, re.MULTILINE)
    headings = {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}
    assert {*re.findall(r"\]\(#([^)]+)\)", readme)} <= headings
