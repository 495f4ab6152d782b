"""A data folder whose disk goes away while the service runs: nothing starts, nothing is written in its place."""

from pathlib import Path

import pytest
from tests.servers.site import Site
from tests.service.refusals import refused
from tests.service.test_consent import publish

from headrace.api.data_folder import HALT, OwnFolder
from headrace.api.errors import Code
from headrace.client import HeadraceError
from headrace.client import models as m
from headrace.guardrails import default_policy_text


def unmounted(site: Site) -> tuple[Path, Path]:
    """Put an empty folder in the place of the site's, as a mount point is when its disk is gone."""
    data = site.settings.data
    kept = data.with_name("kept")
    data.rename(kept)
    data.mkdir()
    return data, kept


def mounted_again(data: Path, kept: Path) -> None:
    data.rmdir()
    kept.rename(data)


@pytest.mark.anyio
async def test_where_the_data_folder_is_gone_everything_is_halted_and_nothing_is_made_in_its_place(site: Site) -> None:
    (site.lab / "set").mkdir()
    (site.lab / "set" / "a.bin").write_bytes(b"a" * 1000)
    plan = await site.ada.plan("lab:/set", "archive:/set")
    data, kept = unmounted(site)

    health = await site.ada.port.health()
    assert [one.code for one in health.causes if "is gone, or is not the one" in one.sentence] == [
        m.HealthCode.STORE_FAILED
    ]
    assert "mount its disk again" in next(one for one in health.causes if "is gone" in one.sentence).what_to_do
    assert health.halted
    assert [one.code for one in await site.use_cases.health.of_writes()] == [m.HealthCode.STORE_FAILED]
    with refused(Code.HALTED) as told:
        await site.ada.submit(plan)
    assert "mounts its disk again" in told.value.problem.detail
    with pytest.raises(OSError, match="not the data folder"):
        await site.use_cases.audit.export_head()
    with pytest.raises((HeadraceError, OSError)) as unpublished:
        await publish(site, default_policy_text() + "\n// anew\n")
    assert "data folder" in str(unpublished.value)
    assert list(data.iterdir()) == []

    mounted_again(data, kept)
    assert not (await site.ada.port.health()).halted
    assert (await site.ada.end_of(await site.ada.submit(plan))).state is m.TransferState.COMPLETE


@pytest.mark.anyio
async def test_a_halt_by_file_stays_one_where_the_folder_that_holds_it_is_gone(site: Site) -> None:
    (site.settings.data / HALT).write_text("storm\n")
    data, kept = unmounted(site)
    assert (await site.ada.port.health()).halted
    mounted_again(data, kept)
    assert "storm" in (await site.ada.port.health()).halted


def test_a_folder_is_the_own_one_by_what_it_is_and_not_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    folder = OwnFolder(tmp_path / "data")
    folder.make(tmp_path / "data" / "plans" / "pl_1")
    assert (tmp_path / "data" / "plans" / "pl_1").is_dir()
    (tmp_path / "data").rename(tmp_path / "kept")
    assert not folder.is_here
    (tmp_path / "data").mkdir()
    with pytest.raises(OSError, match="not the data folder"):
        folder.make(tmp_path / "data" / "plans" / "pl_2")
    assert list((tmp_path / "data").iterdir()) == []
