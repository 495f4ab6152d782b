//! Tells the hub how attempts ended, until it acknowledges.

use std::fs::File;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::mpsc;
use tokio_stream::wrappers::ReceiverStream;
use tonic::transport::Channel;

use super::Shared;
use super::attempts::{Attempts, End};
use crate::blocking::blocking;
use crate::problem::Problem;
use crate::proto::control_client::ControlClient;
use crate::proto::{CHUNK_BYTES, FinishPart, finish_part};

/// Parts of a list that wait to be sent.
const PARTS: usize = 4;
/// Pause before an end that was not taken is told again.
const RETRY_DELAY: Duration = Duration::from_secs(5);

/// Reports every end that waits, beside the stream. When it is over before they are told, the next stream's begin
/// rings again.
pub(super) fn report(shared: Arc<Shared>, client: ControlClient<Channel>) {
    tokio::spawn(async move {
        // One at a time: who comes second finds what is left.
        let reporting = shared.reporting.lock().await;
        let mut all = true;
        for end in shared.attempts.ends() {
            let told = tell(&Attempts::told_as(end.clone()), client.clone()).await;
            if let Err(problem) = told.and_then(|()| shared.attempts.acknowledged(&end)) {
                tracing::warn!(attempt = ?end.id(), "an end could not be reported: {problem}");
                all = false;
            }
        }
        drop(reporting);
        if !all {
            tokio::time::sleep(RETRY_DELAY).await;
            shared.attempts.ended.notify_one();
        }
    });
}

/// Sends an end with its lists. What the hub answers counts: it may have this end, or need no more of it.
async fn tell(end: &End, mut client: ControlClient<Channel>) -> Result<(), Problem> {
    let (parts, stream) = mpsc::channel(PARTS);
    let sending = async {
        let ended = FinishPart {
            part: Some(finish_part::Part::Ended(end.message())),
        };
        // When the hub has enough, it closes the stream: its answer says why.
        if parts.send(ended).await.is_err() {
            return Ok(());
        }
        let sent = send_lists(end, parts.clone()).await;
        if sent.is_err() {
            // What ended here would look whole. The hub refuses a part without content, and the end is told again.
            let _ = parts.send(FinishPart { part: None }).await;
        }
        drop(parts);
        sent
    };
    let finishing = async {
        client
            .finish(ReceiverStream::new(stream))
            .await
            .map_err(Problem::from)
    };
    let (sent, finished) = tokio::join!(sending, finishing);
    sent.and(finished.map(|_| ()))
}

/// Sends both lists, in a thread: each read would otherwise wait for one.
async fn send_lists(end: &End, parts: mpsc::Sender<FinishPart>) -> Result<(), Problem> {
    let (files, failed) = (end.files_list.clone(), end.failed_list.clone());
    blocking(move || {
        send_list(files.as_deref(), finish_part::Part::Files, &parts)?;
        send_list(failed.as_deref(), finish_part::Part::Failed, &parts)
    })
    .await?
}

fn send_list(
    path: Option<&Path>,
    part: impl Fn(tonic::codegen::Bytes) -> finish_part::Part,
    parts: &mpsc::Sender<FinishPart>,
) -> Result<(), Problem> {
    let Some(path) = path else { return Ok(()) };
    let failed = |error: std::io::Error| Problem::state("read", path, &error);
    let mut file = File::open(path).map_err(failed)?;
    loop {
        let mut bytes = Vec::new();
        let length = (&mut file)
            .take(CHUNK_BYTES as u64)
            .read_to_end(&mut bytes)
            .map_err(failed)?;
        let part = FinishPart {
            part: Some(part(bytes.into())),
        };
        if length == 0 || parts.blocking_send(part).is_err() {
            return Ok(());
        }
    }
}
