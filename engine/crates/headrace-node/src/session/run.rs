//! Runs an attempt: sessions, one after the other, until one comes to its end or the attempt cannot go on.

use std::path::Path;
use std::sync::Arc;
use std::time::{Instant, SystemTime};

use headrace_core::code::{Code, Failure};
use headrace_core::ticket::Verify;
use headrace_core::value::Timestamp;

use super::attempt::{AttemptEnd, AttemptSpec, Outcome, Peer, Role, Shared, StatementFields};
use super::connect::{connect, for_lists};
use super::context::{Context, Done};
use super::failures::contained;
use super::plane::Plane;
use super::{destination, local, source};

/// Run an attempt to its end.
pub(super) fn run(
    plane: &Arc<Plane>,
    shared: &Arc<Shared>,
    spec: &AttemptSpec,
    folder: &Path,
) -> AttemptEnd {
    let context = Context {
        plane,
        shared,
        spec,
        folder,
        share: &Arc::new(plane.descriptors.share()),
    };
    let result = contained(|| match &spec.role {
        Role::Local(from, to) => local::run(context, from, to),
        Role::Source(_) | Role::Destination(_) => sessions(context),
    });
    let statement = |done: &Done| StatementFields {
        totals: done.totals,
        verified_at_rest: verifies_at_rest(shared),
        encrypted: !done.cipher.is_empty(),
        cipher: done.cipher.clone(),
        started: shared.started,
        ended: Timestamp::from(SystemTime::now()),
        changed: done.drifted.clone(),
        sources_deleted: done.sources_deleted,
        sources_kept: done.sources_kept.clone(),
        trash: done.trash.clone(),
    };
    match result {
        Ok(done) => AttemptEnd {
            outcome: if done.totals.failed == 0 {
                Outcome::Complete
            } else {
                Outcome::Partial
            },
            failure: None,
            statement: Some(statement(&done)),
            files_list: done.files_list,
            failed_list: done.failed_list,
        },
        Err(failure) => {
            tracing::info!(code = %failure.code, message = failure.message, "an attempt ended early");
            let outcome = if matches!(failure.code, Code::Stopped | Code::ProbeOver) {
                Outcome::Stopped
            } else {
                Outcome::Failed
            };
            AttemptEnd {
                outcome,
                failure: Some(failure),
                statement: None,
                files_list: None,
                failed_list: None,
            }
        }
    }
}

/// Whether the destination reads back what it wrote: on request, and always before a move deletes its source.
fn verifies_at_rest(shared: &Shared) -> bool {
    let ticket = shared.ticket.lock();
    let execution = &ticket.ticket().execution;
    execution.verify == Verify::AtRest || execution.delete_source
}

fn sessions(context: Context<'_>) -> Result<Done, Failure> {
    let Context { shared, spec, .. } = context;
    let mut lost_since = Instant::now();
    let mut finished: Option<Done> = None;
    let mut patience = spec.tuning.reconnect;
    // Before it is there for the first time, a destination reads its lists.
    if matches!(spec.role, Role::Source(_)) {
        patience += for_lists(&shared.current().execution);
    }
    loop {
        let before = moved(shared);
        shared.counters.restart();
        let connected = connect(context, patience);
        // Who dialled has tried for as long as makes sense; who waits may have been called by a stranger.
        let in_vain = connected.is_err() && matches!(spec.peer, Peer::Dial(_));
        let result = connected.and_then(|connected| match &spec.role {
            Role::Destination(root) => destination::run(context, root, connected, &mut finished),
            Role::Source(root) | Role::Local(root, _) => source::run(context, root, connected),
        });
        patience = spec.tuning.reconnect;
        *shared.joinable.lock() = None;
        let failure = match result {
            Ok(done) => return Ok(done),
            Err(failure) => failure,
        };
        if moved(shared) > before {
            lost_since = Instant::now();
        }
        let lost_for_long = lost_since.elapsed() >= spec.tuning.reconnect;
        if failure.code != Code::PeerUnreachable || lost_for_long || in_vain {
            // Only the last word of the source was missing, so everything was done.
            return finished.ok_or(failure);
        }
        tracing::info!(
            message = failure.message,
            "a session ended and is begun again"
        );
    }
}

fn moved(shared: &Shared) -> u64 {
    shared.counters.moved()
}
