//! What is kept of a copy until it is done, so that the same command goes on where an earlier one ended.

use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use headrace_core::sealed::{Document, DocumentType, SigningKey};
use headrace_core::ticket::Execution;
use headrace_core::value::{Digest, Id, decimal};
use rustix::fs::FlockOperation;
use serde::{Deserialize, Serialize};

use crate::problem::{ControlCode, Problem};
use crate::state::{StateDir, read_bounded, write_durably};

/// How long a program that was killed at one end may still hold its place at the other.
const LOCK_TRIES: u32 = 200;
const LOCK_PAUSE: Duration = Duration::from_millis(100);
const FILE: &str = "job.json";
const MAX_BYTES: u64 = 4 << 20;

/// A folder of one copy. While this lives no other program uses it.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) state: StateDir,
    _lock: File,
}

/// A plan as its sealed document says it.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Planned {
    pub(super) transfer: Id,
    pub(super) source: String,
    pub(super) destination: String,
    pub(super) execution: Execution,
}

/// A plan, and which attempt of it comes next.
#[derive(Debug, Clone)]
pub(super) struct Plan {
    pub(super) digest: Digest,
    pub(super) planned: Planned,
    pub(super) attempt: u64,
    document: String,
}

#[derive(Serialize, Deserialize)]
struct Saved {
    #[serde(with = "decimal")]
    attempt: u64,
    plan: String,
}

impl Job {
    /// Takes the folder of this name, waiting while another program leaves it.
    pub(super) async fn open(folder: PathBuf) -> Result<Self, Problem> {
        for _ in 0..LOCK_TRIES {
            let state = StateDir::open(&folder)?;
            if let Some(lock) = lock(&state.join("lock"))? {
                return Ok(Self { state, _lock: lock });
            }
            tokio::time::sleep(LOCK_PAUSE).await;
        }
        let message = "the same copy is running already: wait for its end, or stop it";
        Err(Problem::new(ControlCode::AlreadyRunning, message))
    }

    /// The plan that an earlier command left, if this key signed it.
    pub(super) fn plan(&self, key: &SigningKey) -> Result<Option<Plan>, Problem> {
        let path = self.state.join(FILE);
        let bytes = match read_bounded(&path, MAX_BYTES) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(None),
            Err(error) => return Err(Problem::state("read", &path, &error)),
        };
        let damaged = |detail: &dyn std::fmt::Display| {
            Problem::new(
                ControlCode::StateFailed,
                format!("`{}` is damaged: {detail}", path.display()),
            )
        };
        let saved: Saved = serde_json::from_slice(&bytes).map_err(|error| damaged(&error))?;
        let document = Document::parse(&saved.plan, DocumentType::Plan)?;
        document.signers(&[key.public()])?;
        Ok(Some(Plan {
            digest: document.digest(),
            planned: document.claims()?,
            attempt: saved.attempt,
            document: saved.plan,
        }))
    }

    /// Keeps a plan durably, before anything is done under it.
    pub(super) fn keep(&self, plan: &Plan) -> Result<(), Problem> {
        let saved = Saved {
            attempt: plan.attempt,
            plan: plan.document.clone(),
        };
        let bytes = serde_json::to_vec(&saved)
            .map_err(|error| Problem::new(ControlCode::Internal, error.to_string()))?;
        write_durably(&self.state.join(FILE), &bytes)
    }

    /// Whether there is a plan that may be resumed.
    pub(super) fn has_plan(&self) -> bool {
        self.state.join(FILE).exists()
    }

    /// Removes the plan: the next command makes a new one.
    pub(super) fn drop_plan(&self) -> Result<(), Problem> {
        crate::state::remove(&self.state.join(FILE))
    }

    /// Removes everything. What can't be removed is in nobody's way.
    pub(super) fn remove(self) {
        if let Err(error) = std::fs::remove_dir_all(self.state.path()) {
            tracing::debug!("`{}` stays: {error}", self.state.path().display());
        }
    }
}

/// Locks the file of this name, unless another program holds it.
fn lock(path: &Path) -> Result<Option<File>, Problem> {
    let failed = |error: io::Error| Problem::state("lock", path, &error);
    let file = match File::create(path) {
        Ok(file) => file,
        // Who held it is just removing the folder.
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed(error)),
    };
    match rustix::fs::flock(&file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => {}
        Err(rustix::io::Errno::WOULDBLOCK) => return Ok(None),
        Err(error) => return Err(failed(error.into())),
    }
    // A lock on a file that was removed in the meantime keeps nobody out.
    let ours = file.metadata().map_err(failed)?.ino();
    let named = std::fs::metadata(path).map(|metadata| metadata.ino());
    Ok((named.ok() == Some(ours)).then_some(file))
}

impl Plan {
    /// Seals a plan that was never run.
    pub(super) fn seal(planned: Planned, key: &SigningKey) -> Result<Self, Problem> {
        let document = Document::seal(DocumentType::Plan, &planned, &[key])?;
        Ok(Self {
            digest: document.digest(),
            planned,
            attempt: 0,
            document: document.text(),
        })
    }
}
