//! Copies inside one file system that can keep the content of two files once. Needs root and `mkfs`; without them it says so and does nothing.

mod session_support;

use std::os::unix::fs::FileExt;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;

use headrace_node::session::{AttemptEnd, Outcome, Role, start};
use session_support::{Pair, content, lines, put, tree};

/// Bytes of the file that is shared, and of the file system.
const LARGE: usize = 48 << 20;
const IMAGE_BYTES: u64 = 512 << 20;

/// A file system in a file, mounted; unmounted when dropped.
struct Mounted(tempfile::TempDir);

impl Mounted {
    /// `None` where that can't be done.
    fn new(kind: &str) -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder");
        let (image, at) = (folder.path().join("image"), folder.path().join("at"));
        let file = std::fs::File::create(&image).expect("a file");
        file.set_len(IMAGE_BYTES).expect("its size");
        std::fs::create_dir(&at).expect("a folder");
        let is_done =
            |command: &mut Command| command.output().is_ok_and(|end| end.status.success());
        let made = is_done(Command::new(format!("mkfs.{kind}")).arg("-q").arg(&image))
            && is_done(
                Command::new("mount")
                    .args(["-o", "loop"])
                    .args([&image, &at]),
            );
        made.then(|| Self(folder))
    }

    fn at(&self) -> std::path::PathBuf {
        self.0.path().join("at")
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        drop(Command::new("umount").arg(self.at()).status());
    }
}

fn used_bytes(at: &Path) -> u64 {
    assert!(
        Command::new("sync")
            .arg("-f")
            .arg(at)
            .status()
            .expect("it runs")
            .success(),
        "not synced"
    );
    let found = rustix::fs::statvfs(at).expect("readable");
    (found.f_blocks - found.f_bfree) * found.f_frsize
}

fn copied(pair: &mut Pair) -> AttemptEnd {
    pair.ticket = session_support::ticket(1, 1);
    let root = Arc::clone(&pair.source.root);
    let mut spec = pair.source_spec();
    spec.role = Role::Local(Arc::clone(&root), root);
    start(&pair.source.plane, spec).expect("it starts").wait()
}

#[test]
fn a_copy_inside_one_file_system_keeps_content_once_where_that_can_be() {
    for kind in ["btrfs", "xfs"] {
        let Some(mounted) = Mounted::new(kind) else {
            println!("not tested: no {kind} can be made and mounted here");
            continue;
        };
        let mut pair = Pair::in_folder(&mounted.at());
        let bytes = content(LARGE + 5, 1);
        put(&pair.from(), "large", &bytes);
        put(&pair.from(), "small", &content(5000, 2));
        let sparse = put(&pair.from(), "sparse", b"");
        let file = std::fs::File::options().write(true).open(sparse);
        let file = file.expect("opened");
        file.set_len(20 << 20).expect("its size");
        file.write_all_at(b"in the middle", 9 << 20)
            .expect("written");
        let before = used_bytes(&mounted.at());
        let end = copied(&mut pair);
        assert_eq!(end.outcome, Outcome::Complete, "{end:?}");
        let to = pair.source.data.join("to");
        assert!(tree(&pair.from()) == tree(&to), "{kind}: the trees differ");
        let grown = used_bytes(&mounted.at()).saturating_sub(before);
        assert!(grown < LARGE as u64 / 3, "{kind}: {grown} bytes more");
        // What is said of a file is what is there.
        let said = lines(end.files_list.as_ref());
        let large = said
            .iter()
            .find(|line| line["path"] == serde_json::json!(["large"]));
        let hash = blake3::hash(&bytes).to_hex().to_string();
        let large = large.expect("listed").to_string();
        assert!(large.contains(&hash), "{kind}: {large}");
        // Each goes its own way from then on.
        put(&pair.from(), "large", b"changed");
        assert!(std::fs::read(to.join("large")).expect("readable") == bytes);
    }
}
