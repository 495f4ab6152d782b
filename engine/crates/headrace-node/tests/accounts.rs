//! A node that works as people's local accounts, with two real ones: listings, whole transfers, and who is refused. Runs as root.

mod session_support;
mod support;

use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _, chown, symlink};
use std::os::unix::process::ExitStatusExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use headrace_core::access::Access;
use headrace_core::asker::Asker;
use headrace_core::statement::KeptReason;
use headrace_core::ticket::{Action, OnConflict, Verify};
use headrace_core::wishes::Wishes;
use headrace_io::account::{Account, can_act};
use headrace_io::root::Root;
use headrace_node::accounts::{Accounts, Ids, Mapping, Rule};
use headrace_node::config::{Config, Roots};
use headrace_node::convert::Outcome as Ended;
use headrace_node::hub::HubEvent;
use headrace_node::node::data_mover::DataMover;
use headrace_node::node::mover::Mover as _;
use headrace_node::node::{Node, node_key};
use headrace_node::problem::Problem;
use headrace_node::session::{Outcome, Peer, Role, StopReason, forget, start};
use rustix::process::{Signal, geteuid, getpid, kill_process};
use serde_json::{Value, json};
use session_support::{Dialler, Pair, content, lines, put, tree};
use support::{Site, TestNode, typed};

const ALICE: u32 = 48_101;
const BOB: u32 = 48_102;
const MIB: usize = 1 << 20;

/// Whether this process can act as two accounts; else it says that nothing was tested.
fn able() -> bool {
    let able = geteuid().is_root() && can_act().is_ok();
    if !able {
        eprintln!("skipped: only the superuser can act as two accounts");
    }
    able
}

fn give(path: &Path, uid: u32, mode: u32) {
    chown(path, Some(uid), Some(uid)).expect("root gives away");
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("root changes modes");
}

fn owners(folder: &Path) -> Vec<(u32, u32)> {
    let mut owners: Vec<_> = walk(folder)
        .iter()
        .map(|path| fs::symlink_metadata(path).expect("there"))
        .map(|stat| (stat.uid(), stat.gid()))
        .collect();
    owners.sort_unstable();
    owners.dedup();
    owners
}

/// What is there, and everything below it when it is a folder.
fn walk(folder: &Path) -> Vec<PathBuf> {
    let mut found = vec![folder.to_owned()];
    if !folder.is_dir() {
        return found;
    }
    found.extend(tree(folder).into_keys().map(|name| {
        use std::os::unix::ffi::OsStrExt as _;
        folder.join(std::ffi::OsStr::from_bytes(&name))
    }));
    found
}

fn acting(data: &Path, uid: u32) -> Arc<Root> {
    let account = Account::new("somebody", uid, uid, &[uid]).expect("an account");
    let root = Root::open_for_accounts("root", data, Access::Delete).expect("a root");
    Arc::new(root.acting_as(Arc::new(account)).expect("may go there"))
}

/// A pair whose source is read as alice, from her own closed folder, and whose destination is written as bob, into his.
fn pair() -> Pair {
    let mut pair = Pair::new();
    fs::create_dir_all(pair.from()).expect("a folder");
    for (node, uid) in [(&mut pair.source, ALICE), (&mut pair.destination, BOB)] {
        let top = node.data.parent().expect("a folder");
        fs::set_permissions(top, Permissions::from_mode(0o711)).expect("ours");
        give(&node.data, uid, 0o700);
        node.root = acting(&node.data, uid);
    }
    pair
}

fn give_all(folder: &Path, uid: u32) {
    for path in walk(folder) {
        if !path.is_symlink() {
            let mode = if path.is_dir() { 0o700 } else { 0o600 };
            give(&path, uid, mode);
        }
    }
}

#[test]
fn a_transfer_reads_as_one_account_and_what_it_writes_belongs_to_the_other() {
    if !able() {
        return;
    }
    let mut pair = pair();
    pair.ticket.execution.verify = Verify::AtRest;
    put(&pair.from(), "large", &content(9 * MIB, 1));
    put(&pair.from(), "folder/below/small", b"1");
    for number in 0..100 {
        put(&pair.from(), format!("many/{number}"), b"x");
    }
    symlink("large", pair.from().join("link")).expect("a symlink");
    give_all(&pair.from(), ALICE);
    put(&pair.from(), "bobs", b"private");
    give(&pair.from().join("bobs"), BOB, 0o600);
    let (source, destination) = pair.run();
    assert_eq!(
        destination.outcome,
        Outcome::Partial,
        "{source:?} {destination:?}"
    );
    let failed = lines(destination.failed_list.as_ref());
    let said: Vec<_> = failed
        .iter()
        .map(|line| (line["path"][0].as_str(), line["error"].as_str()))
        .collect();
    assert_eq!(said, [(Some("bobs"), Some("source_unreadable"))]);
    fs::remove_file(pair.from().join("bobs")).expect("there");
    assert!(tree(&pair.from()) == tree(&pair.to()), "the trees differ");
    assert_eq!(owners(&pair.to()), [(BOB, BOB)]);
    // What the node keeps for itself stays its own.
    assert_eq!(owners(&pair.destination.state), [(0, 0)]);
}

#[test]
fn where_the_account_may_not_write_nothing_is_written() {
    if !able() {
        return;
    }
    let pair = pair();
    put(&pair.from(), "file", b"1");
    give_all(&pair.from(), ALICE);
    fs::create_dir(pair.to()).expect("a folder");
    give(&pair.to(), ALICE, 0o755);
    let (_, destination) = pair.run();
    assert_ne!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert_eq!(fs::read_dir(pair.to()).expect("there").count(), 0);
}

#[test]
fn a_sync_replaces_and_deletes_as_the_account_and_a_move_deletes_as_the_account_of_the_source() {
    if !able() {
        return;
    }
    let mut pair = pair();
    for name in ["stays", "differs", "new"] {
        put(&pair.from(), name, name.as_bytes());
    }
    give_all(&pair.from(), ALICE);
    put(&pair.to(), "differs", b"before");
    put(&pair.to(), "extra", b"old");
    give_all(&pair.to(), BOB);
    let execution = &mut pair.ticket.execution;
    execution.action = Action::Sync;
    execution.on_conflict = OnConflict::Overwrite;
    execution.delete_extraneous = true;
    pair.list_overwrites(&["differs"]);
    pair.list_deletes(&["extra"]);
    let (_, destination) = pair.run();
    assert_eq!(destination.outcome, Outcome::Complete, "{destination:?}");
    assert!(tree(&pair.from()) == tree(&pair.to()), "the trees differ");
    assert_eq!(owners(&pair.to()), [(BOB, BOB)]);

    let mut pair = self::pair();
    put(&pair.from(), "hers", b"1");
    put(&pair.from(), "kept/bobs", b"2");
    give_all(&pair.from(), ALICE);
    give(&pair.from().join("kept"), BOB, 0o755);
    give(&pair.from().join("kept/bobs"), BOB, 0o644);
    pair.ticket.execution.action = Action::Move;
    pair.ticket.execution.delete_source = true;
    let (source, destination) = pair.run();
    assert_eq!(
        destination.outcome,
        Outcome::Complete,
        "{source:?} {destination:?}"
    );
    // What alice may read and not delete has arrived, and stays.
    assert!(!pair.from().join("hers").exists());
    assert_eq!(
        fs::read(pair.from().join("kept/bobs")).expect("there"),
        b"2"
    );
    let kept = source.statement.expect("a statement").sources_kept;
    assert!(
        kept.iter()
            .any(|kept| kept.reason == KeptReason::Failed && kept.names == ["kept/bobs"]),
        "{kept:?}"
    );
}

#[test]
fn a_copy_within_one_node_reads_as_one_account_and_writes_as_another() {
    if !able() {
        return;
    }
    let mut pair = pair();
    put(&pair.from(), "large", &content(5 * MIB, 1));
    put(&pair.from(), "small", b"1");
    give_all(&pair.from(), ALICE);
    let me = pair.ticket.source_node;
    pair.ticket.destination_node = me;
    pair.ticket.execution.destination.node = me;
    let mut spec = pair.source_spec();
    spec.role = Role::Local(
        Arc::clone(&pair.source.root),
        Arc::clone(&pair.destination.root),
    );
    spec.peer = Peer::Await;
    let end = start(&pair.source.plane, spec).expect("it starts").wait();
    assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
    assert!(tree(&pair.from()) == tree(&pair.to()), "the trees differ");
    assert_eq!(owners(&pair.to()), [(BOB, BOB)]);
}

/// Says to the child that it is one: where its node's folders are, and whom it dials.
const CHILD: &str = "HEADRACE_TEST_KILLED_AS_ACCOUNT";

fn slow_pair() -> Pair {
    let mut pair = pair();
    pair.dialler = Dialler::Destination;
    pair.tuning.unit_bytes = (MIB / 2) as u64;
    pair.tuning.epochs.max_bytes = (2 * MIB) as u64;
    pair.ticket.rate_ceiling_bps = Some(100_000_000);
    pair
}

fn receive_and_die(told: &str) {
    let (address, folder) = told.split_once(' ').expect("two words");
    let mut pair = slow_pair();
    pair.destination.root = acting(&Path::new(folder).join("data"), BOB);
    pair.destination.state = Path::new(folder).join("state");
    let mut spec = pair.destination_spec();
    spec.peer = Peer::Dial(vec![address.parse().expect("an address")]);
    let destination = start(&pair.destination.plane, spec).expect("it starts");
    while destination.end().is_none() {
        if destination.progress().bytes_durable >= (2 * MIB) as u64 {
            kill_process(getpid(), Signal::KILL).expect("it is ours");
        }
        std::thread::yield_now();
    }
}

#[test]
fn what_a_killed_node_left_belongs_to_the_account_is_gone_on_with_and_can_be_forgotten() {
    if let Ok(told) = std::env::var(CHILD) {
        return receive_and_die(&told);
    }
    if !able() {
        return;
    }
    let name =
        "what_a_killed_node_left_belongs_to_the_account_is_gone_on_with_and_can_be_forgotten";
    for is_resumed in [true, false] {
        let mut pair = slow_pair();
        put(&pair.from(), "large", &content(16 * MIB, 1));
        give_all(&pair.from(), ALICE);
        let source = start(&pair.source.plane, pair.source_spec()).expect("it starts");
        let address = pair.source.plane.address().expect("it listens");
        let folder = pair.destination.state.parent().expect("a folder");
        let scratch = tempfile::tempdir().expect("a folder");
        fs::set_permissions(scratch.path(), Permissions::from_mode(0o711)).expect("ours");
        let ran = Command::new(std::env::current_exe().expect("this program"))
            .args(["--exact", name, "--nocapture"])
            .env(CHILD, format!("{address} {}", folder.display()))
            .env("TMPDIR", scratch.path())
            .output()
            .expect("it runs");
        assert_eq!(ran.status.signal(), Some(9), "{ran:?}");
        source.stop(StopReason::Requested);
        assert_eq!(source.wait().outcome, Outcome::Stopped);
        let left = fs::read_dir(pair.to()).expect("there").count();
        assert_eq!((left, owners(&pair.to())), (1, vec![(BOB, BOB)]));

        if is_resumed {
            pair.ticket.rate_ceiling_bps = None;
            pair.ticket.attempt = 2;
            let (source, destination) = pair.start();
            let end = destination.wait();
            assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
            assert_eq!(source.wait().outcome, Outcome::Complete);
            let sent = source.progress().bytes_received;
            assert!(sent <= (14 * MIB) as u64, "{sent} bytes were sent again");
            assert!(tree(&pair.from()) == tree(&pair.to()), "the trees differ");
            assert_eq!(owners(&pair.to()), [(BOB, BOB)]);
            continue;
        }
        let (plane, state) = (&pair.destination.plane, &pair.destination.state);
        let transfer = pair.ticket.transfer.clone();
        let asked = std::sync::Mutex::new(None);
        let data = pair.destination.data.clone();
        let root = |_: &str, asker: &Asker| {
            *asked.lock().expect("one thread") = Some(asker.clone());
            Some(acting(&data, BOB))
        };
        forget(plane, state, &transfer, &root).expect("forgotten");
        let asked = asked.into_inner().expect("one thread").expect("asked");
        assert_eq!(asked.person(), "ada", "who asked is remembered");
        assert_eq!(fs::read_dir(pair.to()).expect("there").count(), 0);
    }
}

/// A node with its real data plane, whose root works as the accounts of alice and bob.
async fn mapped_node(site: &Site, name: &str) -> TestNode {
    let ids = |person: &str, uid| Rule {
        issuer: Some("local".to_owned()),
        name: Some(person.to_owned()),
        ids: Some(Ids {
            uid,
            gid: uid,
            groups: vec![],
        }),
        ..Rule::default()
    };
    let mapping = Mapping {
        lowest_uid: 1000,
        rules: vec![ids("alice", ALICE), ids("bob", BOB)],
    };
    let mut node = site.node(name).await;
    drop(node.node.take());
    fs::set_permissions(site.folder.path(), Permissions::from_mode(0o711)).expect("ours");
    fs::set_permissions(&node.root, Permissions::from_mode(0o1777)).expect("ours");
    let mut config = Config::load(&node.state).expect("read").expect("there");
    "127.0.0.1:0".clone_into(&mut config.data.listen);
    config.roots[0].accounts = Accounts::Mapped(mapping);
    config.save(&node.state).expect("saved");
    let key = node_key(&node.state).expect("a key");
    let mover = DataMover::start(&node.state, key, &config.data).expect("a data plane");
    assert!(mover.data_address().is_some());
    node.node = Some(Node::start(&node.state, site.clock.clock(), mover).expect("a node"));
    let attached = |event: &HubEvent| matches!(event, HubEvent::NodeAttached { node: key, .. } if *key == node.key);
    site.next(attached).await;
    node
}

fn asks(who: &str) -> impl FnOnce(&mut Value) {
    let known_as = if who.is_empty() {
        String::new()
    } else {
        format!("local {who}")
    };
    move |body: &mut Value| body["local_account"] = json!(known_as)
}

async fn names(site: &Site, node: &TestNode, who: &str, below: &str) -> Result<usize, Problem> {
    let permit = site.permit_with(node, "", asks(who));
    let below = support::path(below);
    let page = site.hub.browse(&permit, &below, None, 100).await;
    page.map(|page| page.entries.len())
}

#[tokio::test]
async fn people_list_what_their_accounts_may_and_who_has_none_is_refused() {
    if !able() {
        return;
    }
    let site = Site::start().await;
    let node = mapped_node(&site, "dtn1").await;
    node.write("alices/file", b"1");
    give(&node.root.join("alices"), ALICE, 0o700);
    assert_eq!(names(&site, &node, "alice", "alices").await, Ok(1));
    let closed = names(&site, &node, "bob", "alices")
        .await
        .expect_err("closed");
    assert_eq!(closed.code, "folder_unreadable");
    assert!(closed.message.contains("Permission denied"), "{closed}");
    assert_eq!(names(&site, &node, "bob", "").await, Ok(1));
    for (who, said) in [("mallory", "`mallory` of `local`"), ("", "`ada`")] {
        let refused = names(&site, &node, who, "").await.expect_err("refused");
        assert_eq!(refused.code, "account_unmapped", "{who}");
        assert!(refused.message.contains(said), "{refused}");
    }
    // A folder above the root that the account may not go through closes the whole root.
    fs::set_permissions(site.folder.path(), Permissions::from_mode(0o700)).expect("ours");
    let refused = names(&site, &node, "alice", "").await.expect_err("refused");
    assert_eq!(refused.code, "folder_unreadable");
    assert!(
        refused
            .message
            .contains("can't be entered by local account"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_transfer_runs_as_the_accounts_of_who_asked_and_for_nobody_else() {
    if !able() {
        return;
    }
    let site = Site::start().await;
    let (from, to) = (
        mapped_node(&site, "from").await,
        mapped_node(&site, "to").await,
    );
    from.write("run/file", b"1");
    give_all(&from.root.join("run"), ALICE);
    let mut execution = support::execution(&from, &to);
    execution["source"]["path"] = json!(["run"]);
    for (number, who, code) in [
        (1, "bob", Some("folder_unreadable")),
        (2, "mallory", Some("account_unmapped")),
        (3, "", Some("account_unmapped")),
        (4, "alice", None),
    ] {
        let transfer = format!("tr_{number}");
        let (lists, results) = site.folders(&transfer);
        let permits = [&from, &to].map(|node| site.permit_with(node, "", asks(who)));
        let draft = typed(&execution);
        let surveyed = site
            .hub
            .survey(&permits[0], &permits[1], &draft, &lists)
            .await;
        let refused = surveyed.err().map(|problem| problem.code);
        assert_eq!(refused.as_deref(), code, "{who}");

        let ticket = site.ticket_with(&transfer, &from, &to, |body| {
            body["execution"] = execution.clone();
            asks(who)(body);
        });
        let started = site
            .hub
            .start_attempt(&ticket, (&lists, &results), "", Wishes::default())
            .await;
        match (started, code) {
            (Ok(()), None) => {
                let ended = site.end_of(&transfer).await;
                assert_eq!((ended.outcome, ended.problem), (Ended::Complete, None));
                assert_eq!(fs::read(to.root.join("file")).expect("there"), b"1");
                assert_eq!(owners(&to.root.join("file")), [(ALICE, ALICE)]);
            }
            (Ok(()), Some(_)) => {
                // Bob has an account, and what alice keeps is closed to it.
                let ended = site.end_of(&transfer).await;
                assert_ne!(ended.outcome, Ended::Complete);
                assert_eq!(fs::read_dir(&to.root).expect("there").count(), 0, "{who}");
            }
            (Err(refused), code) => {
                assert_eq!(Some(&*refused.code), code, "{who}");
                assert_eq!(fs::read_dir(&to.root).expect("there").count(), 0, "{who}");
            }
        }
    }
}

#[test]
fn a_root_whose_mapping_the_node_can_not_keep_to_is_not_exported() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut root = headrace_node::config::RootConfig::parse(&format!(
        "data={}:write",
        folder.path().display()
    ))
    .expect("a root");
    root.accounts = Accounts::Mapped(Mapping {
        lowest_uid: 1000,
        rules: vec![Rule {
            issuer: Some("local".to_owned()),
            account: Some("{name}".to_owned()),
            ..Rule::default()
        }],
    });
    let config = Config {
        roots: vec![root],
        ..Config::default()
    };
    // A thread that gives its ids away, as a node that was never allowed to change them.
    let opened = std::thread::spawn(move || {
        if geteuid().is_root() {
            let nobody = rustix::process::Uid::from_raw(65_534);
            rustix::thread::set_thread_res_uid(nobody, nobody, nobody).expect("we are root");
        }
        config.open_roots(&Roots::default())
    });
    let roots = opened.join().expect("no panic");
    let [missing] = roots.missing() else {
        panic!("it is exported");
    };
    assert!(missing.reason.contains("CAP_SETUID"), "{}", missing.reason);
}
