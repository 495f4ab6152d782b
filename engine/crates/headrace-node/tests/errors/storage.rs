//! Two honest nodes on storage that does not do what is asked of it.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use headrace_core::access::Access;
use headrace_core::code::Code;
use headrace_core::name::RelPath;
use headrace_core::ticket::Action;
use headrace_io::tls::Identity;
use headrace_node::session::{DataPlane, Outcome, Peer, Settings, start};
use rustix::mount::{MountFlags, MountPropagationFlags, mount, mount_change, mount_remount};
use rustix::process::{Gid, Uid, geteuid};
use rustix::thread::{UnshareFlags, set_thread_groups, set_thread_res_gid, set_thread_res_uid};

use crate::network_file::NetworkFile;
use crate::puppet::code;
use crate::session_support::{Pair, content, lines, node_key, put, root_of, tree};

/// An account that owns nothing.
const NOBODY: u32 = 65_534;

/// Do something on a thread of its own, which passes on to the threads it starts what it did to itself.
fn on_a_thread_of_its_own(body: impl FnOnce() + Send) {
    std::thread::scope(|scope| {
        if let Err(panic) = scope.spawn(body).join() {
            std::panic::resume_unwind(panic);
        }
    });
}

/// Both nodes of a pair that is made in a folder, without any privilege; the folder is what `prepare` leaves of it.
fn without_privilege(prepare: impl FnOnce(&mut Pair) + Send, then: impl FnOnce(&Pair) + Send) {
    on_a_thread_of_its_own(|| {
        let mut pair = Pair::new();
        prepare(&mut pair);
        for node in [&pair.source, &pair.destination] {
            let top = node.data.parent().expect("a folder");
            fs::set_permissions(top, Permissions::from_mode(0o755)).expect("ours");
            fs::set_permissions(&node.state, Permissions::from_mode(0o777)).expect("ours");
        }
        if geteuid().is_root() {
            let (user, group) = (Uid::from_raw(NOBODY), Gid::from_raw(NOBODY));
            set_thread_groups(&[]).expect("we are root");
            set_thread_res_gid(group, group, group).expect("we are root");
            set_thread_res_uid(user, user, user).expect("we are root");
        }
        pair.restart_planes();
        then(&pair);
    });
}

fn mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("ours");
}

/// The names that failed, with code and message.
fn failed(pair: &Pair) -> Vec<(String, String, String)> {
    let (_, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Partial, "{destination:?}");
    let text = |value: &serde_json::Value| value.as_str().expect("text").to_owned();
    let path = |value: &serde_json::Value| {
        let names = value.as_array().expect("a path").iter().map(text);
        names.collect::<Vec<_>>().join("/")
    };
    lines(destination.failed_list.as_ref())
        .iter()
        .map(|line| {
            (
                path(&line["path"]),
                text(&line["error"]),
                text(&line["message"]),
            )
        })
        .collect()
}

fn one(failed: &[(String, String, String)]) -> (&str, &str, &str) {
    let [(path, code, message)] = failed else {
        panic!("{failed:?}");
    };
    (path, code, message)
}

#[test]
fn what_the_nodes_account_may_not_read_fails_by_name_and_the_rest_arrives() {
    let prepare = |pair: &mut Pair| {
        mode(&put(&pair.from(), "secret", b"1"), 0o000);
        mode(&put(&pair.from(), "large", &content(1 << 20, 1)), 0o000);
        put(&pair.from(), "closed/inner", b"1");
        mode(&pair.from().join("closed"), 0o000);
        put(&pair.from(), "open", b"1");
        fs::create_dir(pair.to()).expect("a folder");
        mode(&pair.to(), 0o777);
    };
    without_privilege(prepare, |pair| {
        let failed = failed(pair);
        let codes: Vec<(&str, &str)> = failed
            .iter()
            .map(|(path, code, _)| (path.as_str(), code.as_str()))
            .collect();
        assert_eq!(
            codes,
            ["closed", "large", "secret"].map(|path| (path, "source_unreadable"))
        );
        let said = "`from/secret` in root `root`: Permission denied (os error 13)";
        assert_eq!(failed[2].2, said);
        assert_eq!(fs::read(pair.to().join("open")).expect("there"), b"1");
    });
}

#[test]
fn where_the_nodes_account_may_not_write_nothing_is_written_and_the_folder_is_named() {
    let prepare = |pair: &mut Pair| {
        put(&pair.from(), "file", b"1");
        fs::create_dir(pair.to()).expect("a folder");
        mode(&pair.to(), 0o555);
    };
    without_privilege(prepare, |pair| {
        let failed = failed(pair);
        let (path, code, message) = one(&failed);
        assert_eq!((path, code), ("file", "permission_denied"));
        assert!(message.contains("`to/file` in root `root`"), "{message}");
    });
}

#[test]
fn what_can_not_be_deleted_is_listed_and_the_rest_is() {
    let prepare = |pair: &mut Pair| {
        pair.ticket.execution.action = Action::Sync;
        pair.ticket.execution.delete_extraneous = true;
        put(&pair.from(), "file", b"1");
        put(&pair.to(), "closed/kept", b"1");
        put(&pair.to(), "gone", b"1");
        mode(&pair.to().join("closed"), 0o555);
        mode(&pair.to(), 0o777);
        pair.list_deletes(&["closed/kept", "gone"]);
    };
    without_privilege(prepare, |pair| {
        let failed = failed(pair);
        let (path, code, message) = one(&failed);
        assert_eq!((path, code), ("closed/kept", "not_deleted"));
        assert!(message.contains("Permission denied"), "{message}");
        assert!(!pair.to().join("gone").exists());
        assert!(pair.to().join("closed/kept").exists());
    });
}

#[test]
fn a_state_folder_that_can_not_be_written_starts_nothing() {
    let prepare = |pair: &mut Pair| {
        put(&pair.from(), "file", b"1");
        put(&pair.source.state, "transfers/other", b"");
        mode(&pair.source.state.join("transfers"), 0o555);
    };
    without_privilege(prepare, |pair| {
        let refused = start(&pair.source.plane, pair.source_spec()).expect_err("refused");
        assert_eq!(refused.code, Code::StateFailed);
        assert!(refused.message.contains("Permission denied"), "{refused:?}");
    });
}

/// A thread on which nobody else sees what is mounted.
fn with_mounts_of_its_own(body: impl FnOnce() + Send) {
    on_a_thread_of_its_own(|| {
        // SAFETY: only this thread's view of the file systems changes; no memory or descriptor is shared less than before.
        #[expect(
            unsafe_code,
            reason = "there is no safe way to a file system of one's own"
        )]
        unsafe { rustix::thread::unshare_unsafe(UnshareFlags::NEWNS | UnshareFlags::FS) }
            .expect("we are root");
        mount_change(
            "/",
            MountPropagationFlags::REC | MountPropagationFlags::PRIVATE,
        )
        .expect("we are root");
        body();
    });
}

/// A thread that sees `folder` as a small file system of its own.
fn mounted(folder: &Path, options: &str, body: impl FnOnce() + Send) {
    with_mounts_of_its_own(|| {
        let options = std::ffi::CString::new(options).expect("no zeros");
        mount(
            "none",
            folder,
            "tmpfs",
            MountFlags::empty(),
            options.as_c_str(),
        )
        .expect("we are root");
        body();
    });
}

#[test]
fn a_file_that_another_client_of_a_network_file_system_changes_meanwhile_arrives_in_one_state() {
    let pair = Pair::new();
    fs::create_dir(pair.from()).expect("a folder");
    with_mounts_of_its_own(|| {
        let network = NetworkFile::mount(&pair.from());
        // The nodes' threads see what this one sees.
        let mut pair = pair.on_other_roots();
        pair.restart_planes();
        let (_, destination) = pair.run();
        let arrived = fs::read(pair.to().join("file")).expect("there");
        assert!(
            arrived == network.changed(),
            "two states of a file under one name"
        );
        let statement = destination.statement.expect("a statement");
        assert_eq!(statement.changed, ["file"]);
    });
}

#[test]
fn a_name_on_a_network_file_system_is_looked_at_where_it_is() {
    let folder = tempfile::tempdir().expect("a folder");
    with_mounts_of_its_own(|| {
        let network = NetworkFile::mount(folder.path());
        let root = root_of(folder.path(), Access::Read);
        let top = root.dir(&RelPath::root()).expect("a folder");
        let listed = || top.entry(b"file", RelPath::root()).expect("readable");
        let then = listed();
        network.change();
        assert_eq!(listed(), then, "the kernel remembers");
        assert_ne!(
            top.entry_now(b"file", RelPath::root()).expect("readable"),
            then
        );
        assert_eq!(
            top.entry_now(b"none", RelPath::root()).expect("readable"),
            None
        );
    });
}

#[test]
fn a_file_system_that_is_read_only_is_said_to_be() {
    let folder = tempfile::tempdir().expect("a folder");
    mounted(folder.path(), "size=16m", || {
        let pair = Pair::in_folder(folder.path());
        put(&pair.from(), "file", b"1");
        fs::create_dir(pair.to()).expect("a folder");
        let disk = pair.destination.data.clone();
        rustix::mount::mount_bind(&disk, &disk).expect("we are root");
        mount_remount(&disk, MountFlags::BIND | MountFlags::RDONLY, c"").expect("we are root");
        let pair = pair.on_other_roots();
        let failed = failed(&pair);
        let (path, code, message) = one(&failed);
        assert_eq!((path, code), ("file", "read_only"));
        assert!(message.contains("`to/file` in root `root`"), "{message}");
    });
}

#[test]
fn a_disk_that_fills_up_half_way_fails_what_does_not_fit_and_the_rest_arrives() {
    let disk = tempfile::tempdir().expect("a folder");
    mounted(disk.path(), "size=4m", || {
        let mut pair = Pair::new();
        put(&pair.from(), "fits", &content(1 << 20, 1));
        put(&pair.from(), "large", &content(8 << 20, 2));
        put(&pair.from(), "small", b"1");
        pair.destination.data = disk.path().to_owned();
        let pair = pair.on_other_roots();
        let failed = failed(&pair);
        let (path, code, message) = one(&failed);
        assert_eq!((path, code), ("large", "no_space"));
        assert!(message.contains("`to/large` in root `root`"), "{message}");
        let names: Vec<Vec<u8>> = tree(&pair.to()).into_keys().collect();
        assert_eq!(names, [b"fits".to_vec(), b"small".to_vec()]);
    });
}

#[test]
fn a_path_that_is_too_long_at_the_destination_fails_by_name() {
    let mut pair = Pair::new();
    let deep = vec!["d".repeat(200); 15].join("/");
    put(&pair.from(), format!("{deep}/file"), b"1");
    put(&pair.from(), "good", b"1");
    let below = ["to".to_owned(), vec!["x".repeat(250); 5].join("/")].join("/");
    pair.ticket.execution.destination.path = RelPath::from_bytes(below.as_bytes()).expect("a path");
    let failed = failed(&pair);
    assert!(!failed.is_empty());
    for (_, code, message) in &failed {
        assert_eq!(code, "name_too_long", "{message}");
        let said = "the destination path would be too long, ";
        assert!(message.starts_with(said), "{message}");
    }
    assert_eq!(failed.last().expect("one").0, format!("{deep}/file"));
    let there = pair.destination.data.join(below).join("good");
    assert_eq!(fs::read(there).expect("there"), b"1");
}

#[test]
fn a_node_that_nobody_listens_for_is_unreachable() {
    let mut pair = Pair::new();
    put(&pair.from(), "file", b"1");
    // Far longer than a test may take: who is refused gives up sooner than who hears nothing.
    pair.tuning.reconnect = Duration::from_hours(1);
    // Nobody listens there, and no other test is given this port meanwhile.
    let address: std::net::SocketAddr = "127.0.0.1:1".parse().expect("an address");
    let mut spec = pair.source_spec();
    spec.peer = Peer::Dial(vec![address]);
    let end = start(&pair.source.plane, spec).expect("it starts").wait();
    assert_eq!(code(&end), Some(Code::PeerUnreachable));
    let said = format!(
        "dialling {address}: Connection refused (os error 111); no other host reaches that address: let the other node take data at one \
         that this host reaches (`--data-listen`)"
    );
    assert_eq!(end.failure.expect("a failure").message, said);
}

#[test]
fn a_node_that_runs_as_many_attempts_as_it_may_is_too_busy() {
    let mut pair = Pair::new();
    let settings = Settings {
        max_attempts: 1,
        ..Settings::default()
    };
    let identity = Identity::new(&node_key(2)).expect("an identity");
    let plane = DataPlane::start(identity, None, settings).expect("a data plane");
    let running = start(&plane, pair.destination_spec()).expect("it starts");
    pair.ticket.transfer = "tr_2".parse().expect("an id");
    pair.ticket.execution.destination.path = RelPath::from_bytes(b"other").expect("a path");
    let refused = start(&plane, pair.destination_spec()).expect_err("refused");
    assert_eq!(refused.code, Code::TooBusy);
    assert_eq!(refused.message, "this node runs 1 attempts already");
    running.stop(headrace_node::session::StopReason::Requested);
    assert_eq!(code(&running.wait()), Some(Code::Stopped));
}
