//! `cp` as a person runs it: the built program, a real ssh and sshd, real folders.

mod cp_support;
mod support;

use std::fs;
use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Child, Stdio};

use cp_support::{Desk, Sshd, eventually, finish, interrupt, kill, snapshot};
use headrace_core::sealed::{Document, DocumentType, SigningKey};
use serde_json::{Value, json};
use support::Site;

#[test]
fn a_tree_arrives_equal_and_its_receipt_can_be_checked() {
    let desk = Desk::new();
    let from = desk.tree("from");
    let done = desk
        .cp(&[
            "from",
            "to",
            "--at-rest",
            "--receipt",
            "receipt.json",
            "--files",
            "files.jsonl",
        ])
        .done();
    assert_eq!(snapshot(&desk.path("to")), snapshot(&from));
    assert_eq!(
        (&done["files"], &done["verified"]),
        (&json!(8), &json!("at-rest"))
    );
    assert_eq!(
        (&done["way"], &done["resumed"]),
        (&json!("local"), &json!(false))
    );

    let verify = |root: &str| {
        let arguments = [
            "receipt",
            "verify",
            "receipt.json",
            "--list",
            "files.jsonl",
            "--root",
            root,
        ];
        desk.command(&arguments)
            .output()
            .expect("the program starts")
            .status
            .success()
    };
    assert!(verify("to"));
    let told = |more: &[&str]| {
        let arguments = [&["receipt", "verify", "receipt.json"][..], more].concat();
        let ran = desk
            .command(&arguments)
            .output()
            .expect("the program starts");
        String::from_utf8_lossy(&[ran.stdout, ran.stderr].concat()).into_owned()
    };
    let said = told(&[]);
    assert!(
        said.starts_with("Whole, and signed by whom it names: receipt "),
        "{said}"
    );
    assert!(
        said.contains("0 deleted, inside one host, sent over no network"),
        "{said}"
    );
    let key = said.split("signed by ").nth(2).expect("its key");
    let key = key.split_whitespace().next().expect("its key");
    let said = told(&["--key", key]);
    assert!(said.starts_with("Valid: receipt "), "{said}");
    assert!(said.contains("copy "), "{said}");
    let other = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
    let said = told(&["--key", other]);
    assert!(
        said.contains(&format!(
            "it is NOT signed by the key that you gave, {other}"
        )),
        "{said}"
    );
    fs::write(desk.path("to/nothing"), "something").expect("our file");
    assert!(!verify("to"));
    // Nothing is kept of what is done.
    assert_eq!(
        fs::read_dir(desk.path("near-state/cp"))
            .expect("a folder")
            .count(),
        0
    );
}

#[test]
fn listings_of_both_ends_leave_each_other_room() {
    let desk = Desk::new();
    // The names of one end all come before the other's; unread, either listing once filled their connection.
    for (folder, first) in [("from", 'z'), ("to", 'a')] {
        fs::create_dir(desk.path(folder)).expect("our folder");
        for number in 0..30_000 {
            let path = desk.path(&format!("{folder}/{first}{number:0>7}"));
            fs::File::create(path).expect("our file");
        }
    }
    let done = desk.cp(&["from", "to"]).done();
    assert_eq!(done["files"], json!(30_000));
}

#[test]
fn a_slash_at_the_end_means_into_that_folder() {
    let desk = Desk::new();
    desk.tree("from");
    fs::create_dir(desk.path("there")).expect("a folder");
    desk.cp(&["from", "there/"]).done();
    assert!(desk.path("there/from/sub/plain").exists());
    desk.cp(&["from/sub", "there"]).done();
    assert!(desk.path("there/plain").exists());
    desk.cp(&["from/sub/plain", "there/from"]).done();
    assert!(desk.path("there/from/plain").exists());
    desk.cp(&["from/sub/plain", "there/renamed"]).done();
    assert_eq!(
        fs::read(desk.path("there/renamed")).expect("a file"),
        b"hello"
    );
}

#[test]
fn a_tree_arrives_equal_over_ssh_in_both_directions() {
    let desk = Desk::new();
    let sshd = Sshd::start(&desk);
    let from = desk.tree("from");
    let there = format!("far:{}", desk.path("there").display());
    let done = desk.cp(&sshd.with(&["from", &there])).done();
    assert_eq!(
        (&done["way"], &done["encrypted"]),
        (&json!("dialled"), &json!(true))
    );
    assert_eq!(snapshot(&desk.path("there")), snapshot(&from));
    desk.cp(&sshd.with(&[&there, "back"])).done();
    assert_eq!(snapshot(&desk.path("back")), snapshot(&from));
    let again = desk.cp(&sshd.with(&["from", &there])).done();
    assert_eq!(
        (&again["files"], &again["identical"]),
        (&json!(0), &json!(8))
    );
    // A session leaves nothing behind on the other machine.
    eventually("the far program cleans up", || {
        fs::read_dir(desk.path("far-state/far"))
            .expect("a folder")
            .count()
            == 0
    });
}

#[test]
fn data_takes_the_way_that_is_open() {
    let desk = Desk::new();
    let sshd = Sshd::start(&desk);
    let from = desk.tree("from");
    for (host, forced, way) in [
        ("back", false, "called-back"),
        ("away", false, "through-ssh"),
        ("far", true, "through-ssh"),
    ] {
        let name = format!("{host}-{way}");
        let there = format!("{host}:{}", desk.path(&name).display());
        let mut arguments = sshd.with(&["from", &there]);
        if forced {
            arguments.push("--through-ssh");
        }
        let ran = desk.cp(&arguments);
        assert_eq!(ran.done()["way"], json!(way), "{ran:?}");
        assert_eq!(
            ran.err.contains("data goes through ssh"),
            way == "through-ssh",
            "{ran:?}"
        );
        assert_eq!(snapshot(&desk.path(&name)), snapshot(&from));
    }
}

/// Starts a copy of 20 MB that takes some seconds, and waits until some of it has arrived for good.
fn half_way(desk: &Desk, arguments: &[&str]) -> Child {
    let mut slow = arguments.to_vec();
    slow.extend(["--rate-ceiling", "40Mb/s"]);
    let copy = desk.start_cp(&slow);
    eventually("the first files arrive", || {
        fs::read_dir(desk.path("there")).is_ok_and(|mut names| {
            names.any(|name| {
                !name
                    .expect("a name")
                    .file_name()
                    .to_string_lossy()
                    .starts_with('.')
            })
        })
    });
    copy
}

fn goes_on(desk: &Desk, arguments: &[&str]) {
    // Whole files under their names are durable: nothing of them is sent again.
    let there: u64 = fs::read_dir(desk.path("there"))
        .expect("a folder")
        .map(|entry| entry.expect("a name"))
        .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
        .map(|entry| entry.metadata().expect("a file").len())
        .sum();
    let done = desk.cp(arguments).done();
    assert_eq!(
        (&done["resumed"], &done["attempt"]),
        (&json!(true), &json!(2))
    );
    let resent = done["resent_bytes"].as_u64().expect("a number");
    assert!(
        resent <= 20_000_000 - there,
        "{resent} bytes were sent again, and {there} were there"
    );
    assert_eq!(snapshot(&desk.path("there")), snapshot(&desk.path("from")));
    assert_eq!(
        fs::read_dir(desk.path("near-state/cp"))
            .expect("a folder")
            .count(),
        0
    );
}

#[test]
fn invariant_5_a_copy_goes_on_after_the_far_program_was_killed() {
    let desk = Desk::new();
    let sshd = Sshd::start(&desk);
    desk.many("from", 200);
    let (program, pid) = sshd.traced_program();
    let there = format!("far:{}", desk.path("there").display());
    let arguments = sshd.with(&["from", &there, "--remote-program", &program]);
    let copy = half_way(&desk, &arguments);
    kill("-KILL", &fs::read_to_string(pid).expect("it runs"));
    let ran = finish(copy);
    assert_eq!(ran.code, Some(7), "{ran:?}");
    assert!(
        ran.document()["message"]
            .to_string()
            .contains("the same command goes on")
    );
    goes_on(&desk, &arguments);
}

#[test]
fn invariant_5_a_copy_goes_on_after_the_near_program_was_killed() {
    let desk = Desk::new();
    let sshd = Sshd::start(&desk);
    desk.many("from", 200);
    let there = format!("far:{}", desk.path("there").display());
    let arguments = sshd.with(&["from", &there, "--through-ssh"]);
    let mut copy = half_way(&desk, &arguments);
    copy.kill().expect("it runs");
    copy.wait().expect("it ends");
    goes_on(&desk, &arguments);
    // Neither ssh nor anything on the other machine outlives the program.
    eventually("every session ends", || sshd.sessions() == 0);
}

#[test]
fn an_interrupted_copy_says_how_it_goes_on() {
    let here = Desk::new();
    let over_ssh = Desk::new();
    let sshd = Sshd::start(&over_ssh);
    let there = format!("far:{}", over_ssh.path("there").display());
    for (desk, arguments) in [
        (&here, vec!["from", "there"]),
        (&over_ssh, sshd.with(&["from", &there])),
    ] {
        desk.many("from", 200);
        let copy = half_way(desk, &arguments);
        interrupt(&copy);
        let ran = finish(copy);
        assert_eq!(ran.refused(), (Some(130), "stopped".to_owned()), "{ran:?}");
        assert!(ran.err.contains("the same command goes on"), "{ran:?}");
        goes_on(desk, &arguments);
    }
}

#[test]
fn nothing_is_replaced_unless_that_was_asked_for() {
    let desk = Desk::new();
    let from = desk.tree("from");
    fs::create_dir_all(desk.path("to/sub")).expect("a folder");
    fs::write(desk.path("to/sub/plain"), "precious").expect("a file");
    let ran = desk.cp(&["from", "to"]);
    assert_eq!(ran.refused(), (Some(4), "destination_exists".to_owned()));
    assert!(
        ran.err.contains("`sub/plain`") && ran.err.contains("--overwrite"),
        "{ran:?}"
    );
    // Not a byte had moved.
    assert_eq!(snapshot(&desk.path("to")).len(), 2);
    let ran = desk.cp(&["from", "to", "--overwrite"]);
    ran.done();
    assert!(
        ran.err.contains("1 file will be replaced: `sub/plain`"),
        "{ran:?}"
    );
    assert_eq!(snapshot(&desk.path("to")), snapshot(&from));
}

#[test]
fn other_rules_make_a_new_plan_of_what_was_interrupted() {
    let desk = Desk::new();
    desk.many("from", 200);
    let copy = half_way(&desk, &["from", "there"]);
    interrupt(&copy);
    assert_eq!(finish(copy).code, Some(130));
    fs::write(desk.path("there/0199"), "in the way").expect("our file");
    let done = desk.cp(&["from", "there", "--overwrite"]).done();
    assert_eq!(
        (&done["resumed"], &done["attempt"]),
        (&json!(false), &json!(1))
    );
    assert_eq!(snapshot(&desk.path("there")), snapshot(&desk.path("from")));
}

#[test]
fn files_that_did_not_arrive_are_listed_and_the_others_arrive() {
    let desk = Desk::new();
    desk.tree("from");
    fs::create_dir_all(desk.path("to/nothing")).expect("a folder");
    let ran = desk.cp(&["from", "to", "--overwrite"]);
    assert_eq!(ran.code, Some(6), "{ran:?}");
    let document = ran.document();
    assert_eq!(document["failed"][0]["path"], json!(["nothing"]));
    assert_eq!(
        document["failed"][0]["error"],
        json!("destination_is_directory")
    );
    assert!(desk.path("to/sub/plain").exists());
    fs::remove_dir(desk.path("to/nothing")).expect("our folder");
    desk.cp(&["from", "to", "--overwrite"]).done();
    assert_eq!(snapshot(&desk.path("to")), snapshot(&desk.path("from")));
}

#[test]
fn mistakes_are_named_with_what_to_do() {
    let desk = Desk::new();
    let sshd = Sshd::start(&desk);
    desk.tree("from");
    let at = |host: &str, name: &str| format!("{host}:{}", desk.path(name).display());
    let code = |arguments: &[&str]| desk.cp(&sshd.with(arguments)).refused();
    let named = |exit: i32, code: &str| (Some(exit), code.to_owned());
    assert_eq!(code(&["none", "to"]), named(1, "source_missing"));
    assert_eq!(
        code(&[&at("far", "none"), "to"]),
        named(1, "source_missing")
    );
    assert_eq!(
        code(&["from", &at("far", "no/where")]),
        named(1, "destination_missing")
    );
    assert_eq!(code(&["from", "from/sub"]), named(2, "bad_argument"));
    assert_eq!(code(&["from", "from/new"]), named(2, "bad_argument"));
    assert_eq!(code(&["far:a", "away:b"]), named(2, "bad_argument"));
    assert_eq!(code(&["from", &at("closed", "to")]), named(7, "ssh_failed"));
    let lacking = [
        "from",
        &at("far", "to"),
        "--remote-program",
        "/no/such program",
    ];
    let ran = desk.cp(&sshd.with(&lacking));
    assert_eq!(ran.refused(), named(7, "remote_program_missing"));
    assert!(ran.err.contains("copy the one binary"), "{ran:?}");
    let older = ["from", &at("far", "to"), "--remote-program", "false"];
    assert_eq!(code(&older), named(7, "node_unreachable"));
    let older = ["from", &at("far", "to"), "--remote-program", "ls"];
    assert_eq!(code(&older), named(1, "version_unsupported"));
    let mut without = desk.command(&["cp", "--json", "from", "far:to"]);
    let output = without
        .env("PATH", desk.path("empty"))
        .output()
        .expect("the program starts");
    let document: Value = serde_json::from_slice(&output.stdout).expect("a document");
    assert_eq!(document["code"], "ssh_missing");
    assert!(!desk.path("to").exists());
}

/// A standing node, and the first document it writes.
fn listen(desk: &Desk, accept: &str, root: &Path, state: &Path) -> (Standing, Value) {
    let root = format!("data={}:write", root.display());
    let mut command = desk.command(&["listen", "--json", "--log", "error", "--allow-root"]);
    command.args(["--accept", accept, "--root", &root]);
    command.args(["--listen", "127.0.0.1:0", "--data-listen", "127.0.0.1:0"]);
    command.arg("--state").arg(state).stdout(Stdio::piped());
    let mut child = command.spawn().expect("the program starts");
    let mut line = String::new();
    let output = child.stdout.take().expect("a pipe");
    BufReader::new(output)
        .read_line(&mut line)
        .expect("it says where it is");
    let document = serde_json::from_str(&line).expect("a document");
    (Standing(child), document)
}

struct Standing(Child);

impl Drop for Standing {
    fn drop(&mut self) {
        // Ours, and at the end of a test.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

#[test]
fn invariant_1_a_standing_node_obeys_only_the_keys_it_was_given() {
    let desk = Desk::new();
    let from = desk.tree("from");
    let (mine, _) = (desk.key("mine"), desk.key("other"));
    let root = desk.path("standing");
    fs::create_dir(&root).expect("a folder");
    let (_standing, said) = listen(&desk, &mine, &root, &desk.path("standing-state"));
    let text = |name: &str| said[name].as_str().expect("text").to_owned();
    let (node, place) = (text("node"), format!("node://{}/data/x", text("address")));
    let cp = |key: &str, pin: &str, arguments: &[&str]| {
        let mut all = vec!["--key", key, "--pin", pin];
        all.extend(arguments);
        desk.cp(&all)
    };
    let stranger = cp("other", &node, &["from", &place]).refused();
    assert_eq!(stranger, (Some(4), "key_refused".to_owned()));
    let impostor = cp("mine", &mine, &["from", &place]).refused();
    assert_eq!(impostor, (Some(4), "wrong_peer_key".to_owned()));
    let unpinned = desk.cp(&["--key", "mine", "from", &place]).refused();
    assert_eq!(unpinned, (Some(2), "bad_argument".to_owned()));
    let elsewhere = cp("mine", &node, &["from", &place.replace("/data/", "/etc/")]).refused();
    assert_eq!(elsewhere.1, "root_unknown");
    let outside = cp(
        "mine",
        &node,
        &["from", &place.replace("/data/x", "/data/../x")],
    )
    .refused();
    assert_eq!(outside, (Some(2), "bad_argument".to_owned()));
    assert_eq!(
        fs::read_dir(desk.path("standing"))
            .expect("a folder")
            .count(),
        0
    );

    assert_eq!(
        cp("mine", &node, &["from", &place]).done()["way"],
        json!("dialled")
    );
    assert_eq!(snapshot(&desk.path("standing/x")), snapshot(&from));
    cp("mine", &node, &[&place, "back"]).done();
    assert_eq!(snapshot(&desk.path("back")), snapshot(&from));
}

#[test]
fn a_forced_command_serves_only_the_key_it_names() {
    let desk = Desk::new();
    let sshd = Sshd::start(&desk);
    desk.tree("from");
    let (mine, _) = (desk.key("mine"), desk.key("other"));
    let script = desk.path("forced");
    let text = format!(
        "#!/bin/sh\nexec {} --stdio --accept {mine}\n",
        cp_support::PROGRAM
    );
    fs::write(&script, text).expect("a file");
    fs::set_permissions(&script, std::os::unix::fs::PermissionsExt::from_mode(0o700))
        .expect("our file");
    let script = script.display().to_string();
    let there = format!("far:{}", desk.path("to").display());
    let with =
        |key| desk.cp(&sshd.with(&["from", &there, "--remote-program", &script, "--key", key]));
    assert_eq!(with("other").refused(), (Some(4), "key_refused".to_owned()));
    with("mine").done();
}

#[tokio::test]
async fn invariant_1_a_site_root_never_accepts_a_personal_key() {
    let desk = Desk::new();
    let mine = desk.key("mine");
    let site = Site::start().await;
    let node = site.node("dtn").await;
    // The node's own state folder, and so its key and roots, can't be put behind a personal key.
    let (_standing, document) = listen(&desk, &mine, &node.root, node.state.path());
    assert_eq!(document["code"], "config_invalid", "{document}");
    // And a permit that a personal key signed opens nothing there.
    let body: Value = serde_json::from_str(
        Document::parse(&site.permit(&node, ""), DocumentType::Permit)
            .expect("ours")
            .body(),
    )
    .expect("a body");
    let seed = fs::read_to_string(desk.path("mine")).expect("a key");
    let seed: headrace_core::value::Digest = seed.trim().parse().expect("a seed");
    let personal = SigningKey::from_seed(&seed.0);
    let permit = Document::seal(DocumentType::Permit, &body, &[&personal])
        .expect("a small body")
        .text();
    let browsed = site.hub.browse(&permit, &support::path(""), None, 10).await;
    assert_eq!(browsed.expect_err("refused").code, "permit_foreign");
}
