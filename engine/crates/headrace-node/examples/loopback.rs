//! Measures two data planes over loopback against a plain rsync daemon, on the same files, in the same run.
//!
//! `cargo run --release -p headrace-node --example loopback -- [FOLDER ...] [--repeat N]` (default: /dev/shm and the current folder).
//! Prints one JSON line a case: seconds of the best run and of all, Gb/s or files/s, and the ratio to rsync. Both nodes live in this
//! process; content is encrypted, verified and made durable on our side, and none of it on rsync's.

#[path = "../tests/session_support/mod.rs"]
mod session_support;

use std::io::Write;
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use headrace_node::session::Outcome;
use session_support::{Pair, content, put};

/// What is moved.
struct Case {
    name: &'static str,
    files: u64,
    bytes_each: usize,
}

const CASES: [Case; 2] = [
    Case {
        name: "1 GiB",
        files: 1,
        bytes_each: 1 << 30,
    },
    Case {
        name: "10,000 x 1 KiB",
        files: 10_000,
        bytes_each: 1024,
    },
];

fn main() {
    let mut folders: Vec<PathBuf> = Vec::new();
    let mut repeat = 3;
    let mut arguments = std::env::args().skip(1);
    while let Some(argument) = arguments.next() {
        if argument == "--repeat" {
            repeat = arguments
                .next()
                .and_then(|count| count.parse().ok())
                .unwrap_or(repeat);
        } else {
            folders.push(argument.into());
        }
    }
    if folders.is_empty() {
        folders = vec!["/dev/shm".into(), ".".into()];
    }
    for folder in &folders {
        for case in &CASES {
            measure(folder, case, repeat);
        }
    }
}

fn measure(folder: &Path, case: &Case, repeat: usize) {
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    let (mut cpu, mut rsync_cpu) = (Vec::new(), Vec::new());
    for _ in 0..repeat {
        let (seconds, cpu_seconds) = ours_once(folder, case);
        ours.push(seconds);
        cpu.push(cpu_seconds);
        let (seconds, cpu_seconds) = rsync_once(folder, case);
        theirs.push(seconds);
        rsync_cpu.push(cpu_seconds);
    }
    let (best, best_rsync) = (lowest(&ours), lowest(&theirs));
    #[expect(clippy::cast_precision_loss, reason = "sizes far below 2^53")]
    let (files, bits) = (
        case.files as f64,
        (case.files * case.bytes_each as u64) as f64 * 8.0,
    );
    let line = serde_json::json!({
        "case": case.name, "folder": folder, "seconds": best, "all_seconds": ours,
        "gbit_per_s": bits / best / 1e9, "files_per_s": files / best,
        "cpu_seconds": lowest(&cpu), "rsync_cpu_seconds": lowest(&rsync_cpu),
        "rsync_seconds": best_rsync, "rsync_all_seconds": theirs, "times_rsync": best_rsync / best,
    });
    writeln!(std::io::stdout(), "{line}").expect("a line");
}

fn lowest(seconds: &[f64]) -> f64 {
    seconds.iter().copied().fold(f64::INFINITY, f64::min)
}

fn fill(from: &Path, case: &Case) {
    for number in 0..case.files {
        put(
            from,
            format!("file-{number:05}"),
            &content(case.bytes_each, number),
        );
    }
}

fn ours_once(folder: &Path, case: &Case) -> (f64, f64) {
    let pair = Pair::in_folder(folder);
    fill(&pair.from(), case);
    let (start, before) = (Instant::now(), cpu_seconds());
    let (source, destination) = pair.run();
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - before);
    assert_eq!(
        (source.outcome, destination.outcome),
        (Outcome::Complete, Outcome::Complete)
    );
    (seconds, cpu)
}

fn rsync_once(folder: &Path, case: &Case) -> (f64, f64) {
    let scratch = tempfile::tempdir_in(folder).expect("a folder");
    let (from, to) = (scratch.path().join("from"), scratch.path().join("to"));
    std::fs::create_dir_all(&to).expect("a folder");
    fill(&from, case);
    let mut daemon = Daemon::start(scratch.path(), &to);
    let (start, before) = (Instant::now(), cpu_seconds());
    let url = format!("rsync://127.0.0.1:{}/to/", daemon.port);
    let status = Command::new("rsync")
        .args(["-a", "--whole-file"])
        .arg(from.join(""))
        .arg(url)
        .status();
    let seconds = start.elapsed().as_secs_f64();
    daemon.child.kill().expect("it runs");
    daemon.child.wait().expect("it ends");
    assert!(status.expect("rsync is installed").success());
    (seconds, cpu_seconds() - before)
}

/// Processor time of this process and of its children that have ended.
fn cpu_seconds() -> f64 {
    let stat = std::fs::read_to_string("/proc/self/stat").expect("Linux");
    let fields = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .skip(11)
        .take(4);
    let ticks: u32 = fields.map(|field| field.parse::<u32>().unwrap_or(0)).sum();
    // The kernel counts in hundredths of a second on every machine we know.
    f64::from(ticks) / 100.0
}

struct Daemon {
    child: Child,
    port: u16,
}

impl Daemon {
    fn start(scratch: &Path, to: &Path) -> Self {
        let port = std::net::TcpListener::bind("127.0.0.1:0")
            .and_then(|socket| socket.local_addr())
            .expect("a port")
            .port();
        let config = scratch.join("rsyncd.conf");
        let text = format!(
            "use chroot = no\nuid = root\ngid = root\n[to]\npath = {}\nread only = no\n",
            to.display()
        );
        std::fs::write(&config, text).expect("a file");
        let child = Command::new("rsync")
            .args([
                "--daemon",
                "--no-detach",
                "--address=127.0.0.1",
                &format!("--port={port}"),
            ])
            .arg(format!("--config={}", config.display()))
            .stdout(Stdio::null())
            .spawn()
            .expect("rsync is installed");
        let deadline = Instant::now() + Duration::from_secs(10);
        while TcpStream::connect(("127.0.0.1", port)).is_err() {
            assert!(
                Instant::now() < deadline,
                "the rsync daemon does not listen"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
        Self { child, port }
    }
}
