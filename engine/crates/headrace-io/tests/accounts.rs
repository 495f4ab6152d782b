//! What a thread does as a local account is checked by the kernel against that account: with two real ones, so these tests run as root.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::path::Path;
use std::sync::Arc;

use headrace_core::access::Access;
use headrace_core::name::RelPath;
use headrace_io::account::{Account, AccountError, act_as, can_act};
use headrace_io::descriptors::Descriptors;
use headrace_io::root::Root;
use headrace_io::storage::posix::PosixStorages;
use headrace_io::storage::{
    Existing, Folder, Holding, Metadata, Part, Removal, Replaced, Storages, Writing,
};
use rustix::process::{getegid, geteuid, getgroups};
use tempfile::TempDir;

const ALICE: u32 = 48_101;
const BOB: u32 = 48_102;
const SHARED: u32 = 48_200;

/// Both accounts have a group of their own; alice is also in `SHARED`.
fn account(uid: u32) -> Arc<Account> {
    let groups: &[u32] = if uid == ALICE { &[SHARED, uid] } else { &[uid] };
    Arc::new(Account::new("somebody", uid, uid, groups).expect("an account"))
}

/// A folder that everybody may go to and write in; `None`, with a word, where nobody can act as an account.
fn folder() -> Option<TempDir> {
    if !geteuid().is_root() || can_act().is_err() {
        eprintln!("skipped: only the superuser can act as two accounts");
        return None;
    }
    let folder = tempfile::tempdir().expect("a folder");
    fs::set_permissions(folder.path(), Permissions::from_mode(0o1777)).expect("own folder");
    Some(folder)
}

fn make(path: &Path, owner: (u32, u32), mode: u32) {
    if mode & 0o111 == 0 {
        fs::write(path, b"content").expect("a file");
    } else {
        fs::create_dir(path).expect("a folder");
    }
    chown(path, Some(owner.0), Some(owner.1)).expect("root gives away");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("root changes modes");
}

fn root_of(folder: &Path, uid: u32) -> Arc<Root> {
    let root = Root::open_for_accounts("data", folder, Access::Delete).expect("a root");
    Arc::new(root.acting_as(account(uid)).expect("may go there"))
}

fn target_of(folder: &Path, uid: u32) -> Arc<dyn Folder> {
    let target = PosixStorages.target(&root_of(folder, uid), Writing::Buffered);
    target.folder(&RelPath::root()).expect("a folder")
}

fn path(text: &str) -> RelPath {
    RelPath::from_bytes(text.as_bytes()).expect("a path")
}

fn denied<T>(answer: io::Result<T>) -> bool {
    matches!(answer, Err(error) if error.kind() == io::ErrorKind::PermissionDenied)
}

fn owner(path: &Path) -> (u32, u32) {
    let stat = fs::symlink_metadata(path).expect("there");
    (stat.uid(), stat.gid())
}

/// A file that is complete but for its name.
fn part(folder: &dyn Folder, temporary: &[u8], holding: Holding) -> Arc<dyn Part> {
    let part = folder
        .create(temporary, holding, Writing::Buffered)
        .expect("created");
    part.allocate(3).expect("room");
    part.write_at(b"new", 0).expect("written");
    let metadata = Metadata {
        mode: Some(0o640),
        mtime_ns: Some(1_700_000_000_000_000_000),
    };
    part.set_metadata(metadata).expect("set");
    part.sync().expect("synced");
    part
}

#[test]
fn nobody_reads_or_lists_what_the_account_can_not() {
    let Some(folder) = folder() else { return };
    make(&folder.path().join("secret"), (ALICE, ALICE), 0o600);
    make(&folder.path().join("home"), (ALICE, ALICE), 0o700);
    fs::write(folder.path().join("home/inside"), b"x").expect("root writes");
    for (uid, allowed) in [(ALICE, true), (BOB, false)] {
        let root = root_of(folder.path(), uid);
        let top = root.dir(&RelPath::root()).expect("everybody's");
        assert_eq!(top.open_file(b"secret").is_ok(), allowed);
        assert_eq!(top.dir(b"home").is_ok(), allowed);
        assert_eq!(root.entry(&path("home/inside")).is_ok(), allowed);
        assert!(root.entry(&path("home")).is_ok_and(|entry| entry.is_some()));
        let share = Arc::new(Descriptors::new(1024).share());
        let origin = PosixStorages.origin(&root, RelPath::root(), share);
        assert_eq!(origin.open(&path("secret")).is_ok(), allowed);
        assert_eq!(origin.entry(&path("home/inside")).is_ok(), allowed);
        let listed = origin.list(headrace_io::walk::WalkLimits::default());
        let failed = listed.filter(Result::is_err).count();
        assert_eq!(failed == 0, allowed);
    }
}

#[test]
fn a_supplementary_group_opens_what_its_mode_gives_to_the_group_and_no_other_account_gets_it() {
    let Some(folder) = folder() else { return };
    make(&folder.path().join("ours"), (BOB, SHARED), 0o040);
    make(&folder.path().join("project"), (0, SHARED), 0o070);
    let open = |uid| {
        let top = root_of(folder.path(), uid).dir(&RelPath::root());
        let top = top.expect("everybody's");
        (top.open_file(b"ours").is_ok(), top.dir(b"project").is_ok())
    };
    assert_eq!(open(ALICE), (true, true));
    // Root's own groups are not bob's, and alice's are not left behind.
    assert_eq!(open(BOB), (false, false));
}

#[test]
fn what_the_account_may_not_write_replace_or_delete_stays_as_it_is() {
    let Some(folder) = folder() else { return };
    make(&folder.path().join("hers"), (ALICE, ALICE), 0o755);
    make(&folder.path().join("hers/file"), (ALICE, ALICE), 0o644);
    make(&folder.path().join("hers/empty"), (ALICE, ALICE), 0o755);
    make(&folder.path().join("sticky"), (ALICE, ALICE), 0o666);
    let target = PosixStorages.target(&root_of(folder.path(), BOB), Writing::Buffered);
    let hers = target.folder(&path("hers")).expect("everybody may look");
    for holding in [Holding::Named, Holding::Unnamed] {
        assert!(denied(
            hers.create(b"t", holding, Writing::Buffered).map(drop)
        ));
    }
    assert!(denied(hers.make_folder(b"f")));
    assert!(denied(hers.make_symlink(b"l", b"file")));
    assert!(denied(hers.rename(b"file", b"g", Existing::Keep)));
    assert!(denied(hers.rename(b"file", b"g", Existing::Replace)));
    assert!(denied(hers.remove(b"file")));
    assert!(denied(hers.remove_if(b"file", &|_| true).map(drop)));
    assert!(denied(hers.remove_folder(b"empty")));
    assert!(denied(hers.reopen(b"file", Writing::Buffered).map(drop)));
    let metadata = Metadata {
        mode: Some(0o777),
        mtime_ns: Some(1),
    };
    assert!(hers.set_metadata(metadata).is_err());
    assert!(
        hers.open_file(b"file")
            .expect("readable")
            .set_metadata(metadata)
            .is_err()
    );

    // In a folder where everybody may write but replaces only what is his own.
    let top = target.folder(&RelPath::root()).expect("everybody's");
    for (holding, name) in [(Holding::Named, b"t1"), (Holding::Unnamed, b"t2")] {
        let part = part(&*top, name, holding);
        assert!(part.replace(b"sticky", &|_| true).is_err());
        drop(part.discard());
    }
    let share = Arc::new(Descriptors::new(1024).share());
    let origin = PosixStorages.origin(&root_of(folder.path(), BOB), path("hers"), share);
    let file = origin
        .entry(&path("file"))
        .expect("readable")
        .expect("there");
    assert!(origin.remove_if(&file).is_err());
    assert!(origin.remove_folder(&path("empty")).is_err());

    assert_eq!(
        fs::read(folder.path().join("hers/file")).expect("there"),
        b"content"
    );
    assert_eq!(
        fs::read(folder.path().join("sticky")).expect("there"),
        b"content"
    );
    assert_eq!(
        fs::metadata(folder.path().join("hers"))
            .expect("there")
            .mode()
            & 0o777,
        0o755
    );
    assert_eq!(
        fs::read_dir(folder.path().join("hers"))
            .expect("there")
            .count(),
        2
    );
}

#[test]
fn what_an_account_makes_is_its_own_in_every_way_of_making_it() {
    let Some(folder) = folder() else { return };
    let top = target_of(folder.path(), ALICE);
    for (holding, replace, name) in [
        (Holding::Named, false, "named"),
        (Holding::Unnamed, false, "unnamed"),
        (Holding::Named, true, "named-over"),
        (Holding::Unnamed, true, "unnamed-over"),
    ] {
        let there = folder.path().join(name);
        let part = part(&*top, format!("t-{name}").as_bytes(), holding);
        if replace {
            make(&there, (ALICE, SHARED), 0o644);
            let replaced = part.replace(name.as_bytes(), &|_| true);
            assert_eq!(replaced.expect("replaced"), Replaced::Yes);
        } else {
            part.publish(name.as_bytes(), Existing::Keep)
                .expect("named");
        }
        let stat = fs::metadata(&there).expect("there");
        assert_eq!(
            (stat.uid(), stat.gid(), stat.mode() & 0o7777),
            (ALICE, ALICE, 0o640)
        );
        assert_eq!(fs::read(&there).expect("there"), b"new");
    }
    let direct = top
        .create(b"direct", Holding::Named, Writing::Direct)
        .expect("created");
    drop(direct);
    top.make_folder(b"folder").expect("made");
    top.make_symlink(b"link", b"anywhere").expect("made");
    for name in ["direct", "folder", "link"] {
        assert_eq!(owner(&folder.path().join(name)), (ALICE, ALICE), "{name}");
    }
    assert_eq!(
        top.remove_if(b"direct", &|_| true).expect("removed"),
        Removal::Gone
    );
}

#[test]
fn a_folder_that_gives_its_group_gives_it_to_what_an_account_makes_there_too() {
    let Some(folder) = folder() else { return };
    make(&folder.path().join("project"), (0, SHARED), 0o2770);
    let target = PosixStorages.target(&root_of(folder.path(), ALICE), Writing::Buffered);
    let project = target.folder(&path("project")).expect("her group's");
    part(&*project, b"t", Holding::Unnamed)
        .publish(b"file", Existing::Keep)
        .expect("named");
    project.make_folder(b"below").expect("made");
    let below = project.folder(b"below").expect("her own");
    let metadata = Metadata {
        mode: Some(0o750),
        mtime_ns: None,
    };
    below.set_metadata(metadata).expect("set");
    assert_eq!(owner(&folder.path().join("project/file")), (ALICE, SHARED));
    let stat = fs::metadata(folder.path().join("project/below")).expect("there");
    assert_eq!(
        (stat.uid(), stat.gid(), stat.mode() & 0o7777),
        (ALICE, SHARED, 0o2750)
    );
}

#[test]
fn a_root_is_closed_to_an_account_that_may_not_go_there() {
    let Some(folder) = folder() else { return };
    make(&folder.path().join("hers"), (ALICE, ALICE), 0o700);
    make(&folder.path().join("hers/data"), (ALICE, ALICE), 0o777);
    let data = folder.path().join("hers/data");
    let root = Root::open_for_accounts("data", &data, Access::Read).expect("a root");
    assert!(root.acting_as(account(ALICE)).is_ok());
    // The node itself may; the account gets no further than it would by itself.
    assert!(denied(root.acting_as(account(BOB)).map(drop)));
    fs::rename(&data, folder.path().join("hers/elsewhere")).expect("moved");
    fs::create_dir(&data).expect("another folder");
    let elsewhere = root.acting_as(account(ALICE)).map_err(|error| error.kind());
    assert_eq!(elsewhere.err(), Some(io::ErrorKind::NotFound));
}

fn me() -> (u32, u32, Vec<u32>) {
    let groups = getgroups()
        .expect("groups")
        .into_iter()
        .map(rustix::fs::Gid::as_raw);
    (geteuid().as_raw(), getegid().as_raw(), groups.collect())
}

#[test]
fn a_thread_is_itself_again_after_success_after_an_error_and_after_a_panic() {
    let Some(folder) = folder() else { return };
    let before = me();
    let (ask, asked) = std::sync::mpsc::channel::<()>();
    // A thread that was there before: ids are those of one thread only.
    let bystander = std::thread::spawn(move || {
        asked.recv().expect("asked");
        me()
    });
    {
        let _acting = act_as(&account(ALICE)).expect("root may");
        assert_eq!(me(), (ALICE, ALICE, vec![ALICE, SHARED]));
        ask.send(()).expect("it waits");
        assert_eq!(bystander.join().expect("no panic"), before);
        let within = act_as(&account(ALICE)).expect("the same account");
        drop(within);
        assert_eq!(me().0, ALICE);
        assert!(act_as(&account(BOB)).is_err(), "one account at a time");
        assert_eq!(me().0, ALICE);
    }
    assert_eq!(me(), before);

    make(&folder.path().join("secret"), (ALICE, ALICE), 0o600);
    let top = target_of(folder.path(), BOB);
    assert!(denied(top.open_file(b"secret").map(drop)));
    assert!(denied(top.reopen(b"secret", Writing::Buffered).map(drop)));
    assert_eq!(me(), before);

    let panicked = std::panic::catch_unwind(|| {
        let _acting = act_as(&account(BOB));
        panic!("in the name of bob");
    });
    assert!(panicked.is_err());
    assert_eq!(me(), before);
}

#[test]
fn threads_act_as_different_accounts_at_the_same_time() {
    let Some(folder) = folder() else { return };
    std::thread::scope(|scope| {
        for uid in [ALICE, BOB, ALICE, BOB] {
            let folder = folder.path();
            scope.spawn(move || {
                let top = target_of(folder, uid);
                for number in 0..200 {
                    let name = format!("{:?}-{number}", std::thread::current().id());
                    let part = part(&*top, format!("t{name}").as_bytes(), Holding::Unnamed);
                    part.publish(name.as_bytes(), Existing::Keep)
                        .expect("named");
                    assert_eq!(owner(&folder.join(name)), (uid, uid));
                }
            });
        }
    });
}

#[test]
fn no_account_is_the_superuser_or_has_an_id_that_means_none() {
    let made = |uid, gid, groups: &[u32]| Account::new("x", uid, gid, groups).map(|_| ());
    assert!(matches!(
        made(0, 1, &[]),
        Err(AccountError::Superuser { .. })
    ));
    for (uid, gid, group) in [(u32::MAX, 1, 1), (1, u32::MAX, 1), (1, 1, u32::MAX)] {
        assert!(matches!(
            made(uid, gid, &[group]),
            Err(AccountError::NoId { .. })
        ));
    }
    let many = vec![7; 65_537];
    assert!(matches!(
        made(1, 1, &many),
        Err(AccountError::TooManyGroups { .. })
    ));
    assert_eq!(made(1, 1, &many[1..]), Ok(()));
}

/// Says to the child that it is one: the folder in which it makes a file.
const CHILD: &str = "HEADRACE_TEST_NO_ROOT";

/// What a process that is not root says of itself: why it can't act as alice, or who owns what it made as alice and as itself.
fn without_root(folder: &Path) -> String {
    if let Err(error) = can_act() {
        return error.to_string();
    }
    let top = target_of(folder, ALICE);
    part(&*top, b"t", Holding::Unnamed)
        .publish(b"hers", Existing::Keep)
        .expect("named");
    fs::write(folder.join("own"), b"1").expect("everybody may write here");
    format!(
        "{:?} {:?}",
        owner(&folder.join("hers")),
        owner(&folder.join("own"))
    )
}

#[test]
fn a_node_that_is_not_root_acts_with_two_capabilities_and_not_with_those_that_override_permissions()
{
    if let Ok(folder) = std::env::var(CHILD) {
        return fs::write(
            Path::new(&folder).join("said"),
            without_root(Path::new(&folder)),
        )
        .expect("everybody may write here");
    }
    let name = "a_node_that_is_not_root_acts_with_two_capabilities_and_not_with_those_that_override_permissions";
    for (capabilities, expected) in [
        ("-all,+setuid,+setgid", "(48101, 48101) (48300, 48300)"),
        (
            "-all,+setuid,+setgid,+dac_override,+fowner",
            "(CAP_DAC_OVERRIDE, CAP_FOWNER)",
        ),
        ("-all,+setuid", "not both CAP_SETUID and CAP_SETGID"),
    ] {
        let Some(folder) = folder() else { return };
        fs::set_permissions(folder.path(), Permissions::from_mode(0o777)).expect("own folder");
        // Where the tests were built others may not look.
        let program = folder.path().join("program");
        let this = std::env::current_exe().expect("this program");
        fs::copy(this, &program).expect("a copy");
        let ran = std::process::Command::new("setpriv")
            .args(["--reuid=48300", "--regid=48300", "--clear-groups"])
            .args([
                format!("--inh-caps={capabilities}"),
                format!("--ambient-caps={capabilities}"),
            ])
            .arg(&program)
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, folder.path())
            .output()
            .expect("util-linux is there");
        assert!(ran.status.success(), "{ran:?}");
        let said = fs::read_to_string(folder.path().join("said")).expect("it said something");
        assert!(said.contains(expected), "{said}");
    }
}
