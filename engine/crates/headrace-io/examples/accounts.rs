//! What it costs to work as a local account, in processor time: `accounts FOLDER FILES`, as root, in a folder that everybody may write in.

use std::io::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headrace_core::access::Access;
use headrace_core::name::RelPath;
use headrace_io::account::{Account, act_as};
use headrace_io::descriptors::Descriptors;
use headrace_io::root::Root;
use headrace_io::storage::posix::PosixStorages;
use headrace_io::storage::{Existing, Holding, Metadata, Storages, Writing};
use headrace_io::walk::WalkLimits;

const UID: u32 = 48_101;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [folder, files] = &arguments[..] else {
        return Err("accounts FOLDER FILES".into());
    };
    let (folder, files): (&Path, u32) = (Path::new(folder), files.parse()?);
    let mut out = std::io::stdout().lock();
    let account = Arc::new(Account::new("bench", UID, UID, &[UID, UID + 1, UID + 2])?);
    let begun = spent();
    for _ in 0..files {
        drop(act_as(&account)?);
    }
    writeln!(out, "become and back: {:.2} us", micros(begun, files))?;
    let root = Root::open_for_accounts("bench", folder, Access::Delete)?;
    let mapped = Arc::new(root.acting_as(account)?);
    let own = Arc::new(Root::open("bench", folder, Access::Delete)?);
    for round in 1..=5 {
        for (said, root) in [("node", &own), ("account", &mapped)] {
            let [received, sent] = files_of(root, files, round)?;
            writeln!(
                out,
                "{round} {said}: {received:.2} us a file received, {sent:.2} us a file listed and read"
            )?;
        }
    }
    Ok(())
}

/// Microseconds for each file of 4 KiB: received, and listed and read.
fn files_of(root: &Arc<Root>, files: u32, round: u32) -> std::io::Result<[f64; 2]> {
    let target = PosixStorages.target(root, Writing::Buffered);
    let top = target.folder(&RelPath::root())?;
    let name = format!("{round}-{}", root.account().map_or(0, Account::uid));
    top.make_folder(name.as_bytes())?;
    let folder = top.folder(name.as_bytes())?;
    let content = [7; 4096];
    let begun = spent();
    for number in 0..files {
        let together = folder.together()?;
        let part = folder.create(b".t", Holding::Unnamed, Writing::Buffered)?;
        part.write_at(&content, 0)?;
        part.set_metadata(Metadata {
            mode: Some(0o644),
            mtime_ns: Some(1),
        })?;
        drop(together);
        part.publish(number.to_string().as_bytes(), Existing::Keep)?;
    }
    let received = micros(begun, files);
    let share = Arc::new(Descriptors::new(1024).share());
    let path = RelPath::from_bytes(name.as_bytes()).map_err(std::io::Error::other)?;
    let origin = PosixStorages.origin(root, path, share);
    let mut bytes = [0; 4096];
    let begun = spent();
    for entry in origin.list(WalkLimits::default()) {
        let entry = entry.map_err(std::io::Error::other)?;
        if let Some(reader) = origin.open(&entry.path)? {
            reader.read_at(&mut bytes, 0)?;
        }
    }
    let sent = micros(begun, files);
    for number in 0..files {
        folder.remove(number.to_string().as_bytes())?;
    }
    top.remove_folder(name.as_bytes())?;
    Ok([received, sent])
}

fn micros(begun: Duration, files: u32) -> f64 {
    spent().saturating_sub(begun).as_secs_f64() * 1e6 / f64::from(files)
}

/// Processor time of this thread: what else the machine does counts little.
fn spent() -> Duration {
    let spent = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    spent.try_into().unwrap_or_default()
}
