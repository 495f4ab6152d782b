//! `cp`: copies between your own machines; `listen` and `--stdio` are the programs on the other one.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use clap::Args;
use headrace_core::filter::{Filter, Filters};
use headrace_core::sealed::{PublicKey, SigningKey};
use headrace_core::text::{bit_rate, byte_size, read_rate};
use headrace_core::ticket::Verify;
use headrace_core::value::Label;
use serde_json::json;
use tokio::signal::unix::{SignalKind, signal};
use tokio::sync::watch;

use super::keys::default_key;
use super::{Exit, Out, StateArgs};
use crate::cp::place::Place;
use crate::cp::{Copied, Copying, Failed, Rules, Signer, note, run};
use crate::problem::{ControlCode, Problem};
use crate::state::{KeyOwner, StateDir, make_folder, read_key, write_new_key};

/// Lowest ceiling: below it nothing is said to move.
const MIN_RATE_BPS: u64 = 1000;
/// Highest ceiling: above it no link exists, and a unit was mistyped.
const MAX_RATE_BPS: u64 = 100_000_000_000_000;
/// Failed files that people are shown.
const MAX_SHOWN: usize = 20;

#[derive(Args)]
pub(super) struct Cp {
    /// What to copy: a path here, `[user@]host:path`, or `node://host:port/root/path`.
    source: OsString,
    /// Where its content goes; with a slash at the end, into this folder under its own name.
    destination: OsString,
    /// Replace files that differ. Without it nothing is copied when any would have to be.
    #[arg(long)]
    overwrite: bool,
    /// Copy only names that match; again for more.
    #[arg(long, value_name = "GLOB")]
    include: Vec<String>,
    /// Leave out names that match; again for more.
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Read everything back from the destination's storage before it counts.
    #[arg(long)]
    at_rest: bool,
    /// Go no faster, for example `500Mb/s` or `20MB/s` (b is bit, B is byte).
    #[arg(long, value_name = "RATE", value_parser = parse_rate)]
    rate_ceiling: Option<u64>,
    /// Send data through ssh even where the machines reach each other.
    #[arg(long)]
    through_ssh: bool,
    /// Configuration file for ssh instead of your own.
    #[arg(long, short = 'F', value_name = "FILE")]
    ssh_config: Option<PathBuf>,
    /// The program on the other machine.
    #[arg(long, value_name = "PATH", default_value = "headrace-node")]
    remote_program: String,
    /// The key that a `node://` must have.
    #[arg(long, value_name = "KEY")]
    pin: Option<PublicKey>,
    /// Your personal key; it is made on first use.
    #[arg(long, value_name = "FILE", default_value_os_t = default_key())]
    key: PathBuf,
    /// Write the receipt to this file: what both nodes state, under their signatures and yours.
    #[arg(long, value_name = "FILE")]
    receipt: Option<PathBuf>,
    /// Write the list of every file with its BLAKE3 to this file; the receipt holds its digest.
    #[arg(long, value_name = "FILE")]
    files: Option<PathBuf>,
    #[command(flatten)]
    state: StateArgs,
}

impl Cp {
    pub(super) async fn run(self, out: &Out) -> Result<Exit, Problem> {
        let copying = self.copying()?;
        let no_signals = |error: std::io::Error| {
            Problem::new(ControlCode::Internal, format!("no signals: {error}"))
        };
        let mut interrupt = signal(SignalKind::interrupt()).map_err(no_signals)?;
        let mut terminate = signal(SignalKind::terminate()).map_err(no_signals)?;
        let stop = watch::Sender::new(false);
        let copied = run(&copying, stop.subscribe());
        tokio::pin!(copied);
        let copied = tokio::select! {
            copied = &mut copied => copied,
            _ = interrupt.recv() => {
                stop.send_replace(true);
                copied.await
            }
            _ = terminate.recv() => {
                stop.send_replace(true);
                copied.await
            }
        };
        match copied {
            Ok(copied) => Ok(say(out, &copying, &copied)),
            Err(problem) if *stop.borrow() => {
                out.problem(&problem);
                Ok(Exit::Interrupted)
            }
            Err(problem) => Err(problem),
        }
    }

    fn copying(self) -> Result<Copying, Problem> {
        let (source, destination) = (place(&self.source)?, place(&self.destination)?);
        let bad = |message: &str| Err(Problem::new(ControlCode::BadArgument, message));
        if !source.is_here() && !destination.is_here() {
            return bad("neither place is on this machine: run `cp` on one of the two machines");
        }
        if self.through_ssh
            && ![&source, &destination]
                .iter()
                .any(|place| matches!(place, Place::Ssh { .. }))
        {
            return bad("`--through-ssh` needs a place of the form `host:path`");
        }
        if let (Place::Here(from), Place::Here(to)) = (&source, &destination)
            && lies_in(to, from)
        {
            return bad("the destination is the source or in it");
        }
        let filters = Filters {
            include: self.include,
            exclude: self.exclude,
            ..Filters::default()
        };
        if let Err(error) = Filter::new(&filters) {
            return bad(&error.to_string());
        }
        let key = personal_key(&self.key)?;
        Ok(Copying {
            source,
            destination,
            rules: Rules {
                overwrite: self.overwrite,
                verify: if self.at_rest {
                    Verify::AtRest
                } else {
                    Verify::InTransit
                },
                filters,
            },
            signer: Signer {
                key,
                person: person(),
            },
            rate_ceiling_bps: self.rate_ceiling,
            through_ssh: self.through_ssh,
            ssh_config: self.ssh_config,
            remote_program: self.remote_program,
            pin: self.pin,
            receipt: self.receipt,
            files: self.files,
            state: StateDir::open(&self.state.dir)?,
        })
    }
}

/// The personal key, made on first use.
fn personal_key(path: &Path) -> Result<SigningKey, Problem> {
    if let Some(key) = read_key(path, KeyOwner::Person)? {
        return Ok(key);
    }
    let folder = path
        .parent()
        .filter(|folder| !folder.as_os_str().is_empty());
    if let Some(folder) = folder {
        make_folder(folder).map_err(|error| Problem::state("make the folder", folder, &error))?;
    }
    let key = write_new_key(path)?;
    note(&format!(
        "made your personal key {} in `{}`",
        key.public(),
        path.display()
    ));
    Ok(key)
}

/// A place; one on this machine is the same from every folder.
fn place(text: &OsString) -> Result<Place, Problem> {
    match Place::parse(text)? {
        Place::Here(path) => {
            let whole = std::path::absolute(&path);
            let whole =
                whole.map_err(|error| Problem::new(ControlCode::BadArgument, error.to_string()))?;
            Ok(Place::Here(whole))
        }
        other => Ok(other),
    }
}

/// Whether a place is another or in it, also when it is not there yet.
fn lies_in(place: &Path, other: &Path) -> bool {
    let above = || place.parent().unwrap_or(place).canonicalize();
    let (place, other) = (
        place.canonicalize().or_else(|_| above()),
        other.canonicalize(),
    );
    matches!((place, other), (Ok(place), Ok(other)) if place.starts_with(&other))
}

fn person() -> Label {
    let name = ["USER", "LOGNAME"]
        .into_iter()
        .find_map(|name| std::env::var(name).ok());
    name.and_then(|name| name.parse().ok()).unwrap_or_default()
}

/// Reads a ceiling; gives bits per second.
fn parse_rate(text: &str) -> Result<u64, String> {
    let rate = read_rate(text).ok_or_else(|| {
        format!(
            "`{text}` is not a rate: write for example `500Mb/s` or `20MB/s` (b is bit, B is byte)"
        )
    })?;
    if !(MIN_RATE_BPS..=MAX_RATE_BPS).contains(&rate) {
        return Err(format!(
            "`{text}` is outside {} to {}",
            bit_rate(MIN_RATE_BPS),
            bit_rate(MAX_RATE_BPS)
        ));
    }
    Ok(rate)
}

/// Only what was copied is called verified.
fn copied_words(files: u64, verified: Verify) -> String {
    let how = match verified {
        _ if files == 0 => "",
        Verify::AtRest => " and verified at rest",
        Verify::InTransit => " and verified in transit",
    };
    format!("{files} files copied{how}")
}

/// Of files that were there already, size and time were compared.
fn same_words(identical: u64) -> String {
    if identical == 0 {
        return String::new();
    }
    format!("; {identical} taken as the same by size and time, not read")
}

fn say(out: &Out, copying: &Copying, copied: &Copied) -> Exit {
    let Copied {
        transfer,
        attempt,
        statement,
        seconds,
        way,
        resumed,
        failed,
    } = copied;
    let verified = statement.verified;
    let document = json!({
        "source": copying.source.to_string(), "destination": copying.destination.to_string(),
        "transfer": transfer, "attempt": attempt, "outcome": statement.outcome,
        "files": statement.files, "bytes": statement.bytes, "identical": statement.identical,
        "seconds": seconds, "verified": verified, "encrypted": statement.encrypted, "way": way.as_str(),
        "resumed": resumed, "resent_bytes": statement.resent_bytes,
        "failed_count": statement.failed, "failed": failed, "receipt": copying.receipt,
    });
    let mut lines = vec![format!(
        "{}, {} in {seconds:.1} s{}{}",
        copied_words(statement.files, verified),
        byte_size(statement.bytes),
        same_words(statement.identical),
        if *resumed { "; resumed" } else { "" },
    )];
    for Failed { path, message, .. } in failed.iter().take(MAX_SHOWN) {
        lines.push(format!("did not arrive: `{path}`: {message}"));
    }
    if statement.failed > 0 {
        lines.push(format!(
            "{} did not arrive: the same command tries them again",
            statement.failed
        ));
    }
    out.say(&document, &lines.join("\n"));
    if statement.failed > 0 {
        Exit::Partial
    } else {
        Exit::Done
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_was_copied_is_called_verified() {
        let copied = copied_words(2, Verify::InTransit);
        assert_eq!(copied, "2 files copied and verified in transit");
        assert_eq!(copied_words(0, Verify::AtRest), "0 files copied");
        assert!(same_words(3).ends_with("not read"));
        assert_eq!(same_words(0), "");
    }

    #[test]
    fn a_ceiling_that_stops_everything_or_that_no_link_has_is_refused() {
        assert_eq!(parse_rate("1.5Gb/s"), Ok(1_500_000_000));
        for wrong in ["10M", "999b/s", "101Tb/s"] {
            assert!(parse_rate(wrong).is_err(), "{wrong}");
        }
    }
}
