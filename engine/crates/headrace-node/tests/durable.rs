//! What a node must remember over a loss of power is durable before it acts on it: its keys, and what a ticket binds a transfer to.
//! The program runs with a library in front that writes down its syncs and renames.

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// What the program made durable and gave names to, in order.
struct Recorded(Vec<(String, PathBuf)>);

impl Recorded {
    /// Run the program with these arguments, in a folder of its own.
    fn run(folder: &Path, arguments: &[&str]) -> Self {
        let (ran, log) = start(folder, arguments, None);
        assert!(ran.status.success(), "{ran:?}");
        let lines = std::fs::read_to_string(log).expect("it was written down");
        let line = |line: &str| {
            let (what, path) = line.split_once(' ').expect("two words");
            (what.to_owned(), PathBuf::from(path))
        };
        Self(lines.lines().map(line).collect())
    }

    /// Where this was done first, from `start` on.
    fn find(&self, start: usize, what: &str, path: &Path) -> Option<usize> {
        let found = |(index, line): (usize, &(String, PathBuf))| {
            (index >= start && line.0 == what && line.1 == path).then_some(index)
        };
        self.0.iter().enumerate().find_map(found)
    }

    /// The content before the name, the name before anything else: what was renamed to `path` was synced, and then its folder.
    fn replaced_durably(&self, path: &Path) {
        let named = self.find(0, "name", path).expect("it has its name");
        let temporary = &self.0[named - 1].1;
        let synced = self.find(0, "sync", temporary);
        assert!(
            synced.is_some_and(|synced| synced < named),
            "the content of {} was not durable before its name",
            path.display()
        );
        self.folder_synced(named, path);
    }

    fn folder_synced(&self, start: usize, path: &Path) {
        let folder = path.parent().expect("a folder");
        assert!(
            self.find(start, "sync", folder).is_some(),
            "the name of {} is not durable",
            path.display()
        );
    }
}

/// Runs the program in this folder, up to a step where it crashes; gives what came of it, and where its steps are written down.
fn start(folder: &Path, arguments: &[&str], crash_at: Option<usize>) -> (Output, PathBuf) {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/durable_support/recorder.c");
    let (library, log) = (folder.join("recorder.so"), folder.join("log"));
    let compiled = Command::new("cc")
        .args(["-shared", "-fPIC", "-o"])
        .args([&library, &source])
        .arg("-ldl")
        .status();
    assert!(compiled.expect("a C compiler").success());
    let mut command = Command::new(env!("CARGO_BIN_EXE_headrace-node"));
    command
        .args(arguments)
        .env("HEADRACE_NODE_STATE", folder.join("state"))
        .env("XDG_CONFIG_HOME", folder.join("config"))
        .env("LD_PRELOAD", library)
        .env("DURABLE_LOG", &log)
        .stdin(Stdio::null())
        .current_dir(folder);
    if let Some(step) = crash_at {
        command.env("DURABLE_END", step.to_string());
    }
    (command.output().expect("the program starts"), log)
}

#[test]
fn a_key_is_durable_before_anybody_learns_of_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let key = folder.path().join("new/above/key");
    let output = key.to_str().expect("a text");
    let recorded = Recorded::run(folder.path(), &["keygen", "--output", output]);
    recorded.replaced_durably(&key);
    // Its folder may go with a loss of power, too, when the name of that is not durable.
    for folder in key.ancestors().skip(1).take(3) {
        recorded.folder_synced(0, &folder.join("any"));
    }
}

#[test]
fn a_crash_at_any_step_leaves_a_whole_key_or_none_and_the_next_start_clears_up() {
    let mut crashes = 0;
    for step in 1.. {
        let folder = tempfile::tempdir().expect("a folder");
        let keys = || {
            let names = std::fs::read_dir(folder.path().join("keys")).expect("a folder");
            let mut names: Vec<_> = names
                .map(|entry| entry.expect("a name").file_name())
                .collect();
            names.sort();
            names
        };
        std::fs::create_dir(folder.path().join("keys")).expect("a folder");
        let (ran, _) = start(
            folder.path(),
            &["keygen", "--output", "keys/key"],
            Some(step),
        );
        if ran.status.success() {
            break;
        }
        assert_eq!(ran.status.code(), Some(9), "{ran:?}");
        crashes += 1;
        let there = std::fs::read(folder.path().join("keys/key")).ok();
        assert!(
            there.as_ref().is_none_or(|key| key.len() == 65),
            "step {step}"
        );
        let again: &[&str] = match there {
            Some(_) => &["keygen", "--output", "keys/key", "--show"],
            None => &["keygen", "--output", "keys/key"],
        };
        let (again, _) = start(folder.path(), again, None);
        assert!(again.status.success(), "step {step}: {again:?}");
        assert_eq!(keys(), ["key"], "step {step}");
    }
    assert!(crashes >= 4, "{crashes} steps: sync, link, unlink, sync");
}

#[test]
fn what_a_ticket_binds_a_transfer_to_is_durable_before_anything_is_done() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("file"), "1").expect("a file");
    let recorded = Recorded::run(folder.path(), &["cp", "file", "copy"]);
    let named =
        |(what, path): &&(String, PathBuf)| what == "name" && path.ends_with("binding.json");
    let (_, binding) = recorded.0.iter().find(named).expect("a binding");
    recorded.replaced_durably(binding);
    // Its folder, and those above that may be new.
    for folder in binding.ancestors().skip(1).take(3) {
        assert!(
            recorded.find(0, "sync", folder).is_some(),
            "{} is not durable",
            folder.display()
        );
    }
}
