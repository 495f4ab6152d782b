//! The attempts of a node: tickets are verified here, ends are kept until the hub has acknowledged them.

use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use headrace_core::code::{Code, Failure};
use headrace_core::sealed::{DocumentError, SigningKey};
use headrace_core::shares::{Links, TransferShare};
use headrace_core::statement::Statement;
use headrace_core::ticket::{Execution, Part, VerifiedTicket};
use headrace_core::value::{Id, Label};
use headrace_core::wishes::Wishes;
use headrace_io::root::Root;
use parking_lot::Mutex;
use serde::{Deserialize, Serialize};
use tokio::sync::{Notify, oneshot, watch};
use tokio::time::timeout;

use super::mover::{ListFile, Meet, MoveEnd, Mover, Moving, Order, StopCause};
use crate::blocking::blocking;
use crate::config::Roots;
use crate::convert::{
    AttemptId, Outcome, ProgressCounts, outcome_out, progress_out, violation, wishes_in,
};
use crate::problem::{ControlCode, Problem};
use crate::proto::{self, Dial, READS_KEPT_SOURCES, TRASH};
use crate::state::{self, StateDir};
use crate::transport::Clock;

/// Attempts that run at once at most.
const MAX_RUNNING: usize = 256;
/// Longest wait for an earlier attempt to stop.
const LEAVE_TIMEOUT: Duration = Duration::from_secs(30);
const MAX_END_BYTES: u64 = 8 << 20;

/// What runs here, and what ended but is not acknowledged.
pub(super) struct Attempts {
    key: SigningKey,
    clock: Clock,
    mover: Arc<dyn Mover>,
    ends_dir: PathBuf,
    lists_dir: PathBuf,
    running: Mutex<HashMap<Id, Running>>,
    ends: Mutex<BTreeMap<AttemptId, End>>,
    /// How many are running, for who waits until none is.
    count: watch::Sender<usize>,
    /// What the hub said last that it can do.
    hub_features: AtomicU64,
    /// Rung when an end waits to be reported.
    pub(super) ended: Notify,
    /// Rings when one is over here, after which other bytes are free below the roots.
    pub(super) over: Notify,
}

#[derive(Clone)]
struct Running {
    ticket: VerifiedTicket,
    moving: Option<Arc<dyn Moving>>,
    /// Why it was told to stop, if it was; also before it has begun.
    stop: Option<StopCause>,
}

impl Running {
    /// Tells it to stop; whether that is news.
    fn stop(&mut self, cause: StopCause) -> bool {
        if self.stop.is_some() {
            return false;
        }
        if let Some(moving) = &self.moving {
            moving.stop(cause.clone());
        }
        self.stop = Some(cause);
        true
    }
}

/// An end that the hub must learn of, as it is kept.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct End {
    transfer: Id,
    attempt: u64,
    outcome: Outcome,
    problem: Option<(String, String, bool)>,
    statements: Vec<String>,
    pub(super) files_list: Option<PathBuf>,
    pub(super) failed_list: Option<PathBuf>,
    /// What had been counted; nothing of an attempt that never began.
    #[serde(default)]
    progress: Option<ProgressCounts>,
}

impl End {
    pub(super) fn id(&self) -> AttemptId {
        AttemptId {
            transfer: self.transfer.clone(),
            attempt: self.attempt,
        }
    }

    pub(super) fn message(&self) -> proto::Ended {
        let problem = self.problem.clone();
        proto::Ended {
            attempt: Some((&self.id()).into()),
            outcome: outcome_out(self.outcome),
            problem: problem.map(|(code, message, retryable)| proto::Problem {
                code,
                message,
                retryable,
            }),
            statements: self.statements.clone(),
            progress: self
                .progress
                .clone()
                .map(|counts| progress_out(&self.id(), counts)),
        }
    }
}

impl Attempts {
    /// Reads the ends that an earlier process left.
    pub(super) fn open(
        state: &StateDir,
        key: SigningKey,
        clock: Clock,
        mover: Arc<dyn Mover>,
    ) -> Result<Self, Problem> {
        let ends_dir = state.dir("ends")?;
        let ends = read_ends(&ends_dir)?;
        Ok(Self {
            key,
            clock,
            mover,
            ends_dir,
            lists_dir: state.dir("lists")?,
            running: Mutex::default(),
            ends: Mutex::new(ends),
            count: watch::Sender::new(0),
            hub_features: AtomicU64::new(0),
            ended: Notify::new(),
            over: Notify::new(),
        })
    }

    /// Everything the hub has to know of when this node attaches.
    pub(super) fn known(&self) -> Vec<AttemptId> {
        let running = self.running.lock();
        let running = running.values().map(|running| id_of(&running.ticket));
        running.chain(self.ends.lock().keys().cloned()).collect()
    }

    /// Ends that wait for their acknowledgement, by transfer.
    pub(super) fn ends(&self) -> Vec<End> {
        self.ends.lock().values().cloned().collect()
    }

    /// The hub has this end: it is not kept. Its lists stay with the transfer until that is forgotten.
    pub(super) fn acknowledged(&self, end: &End) -> Result<(), Problem> {
        state::remove(&self.end_file(&end.id()))?;
        self.ends.lock().remove(&end.id());
        Ok(())
    }

    /// Progress of what runs.
    pub(super) fn progress(&self) -> Vec<(AttemptId, ProgressCounts)> {
        let running = self.running.lock().clone();
        let started = running
            .values()
            .filter_map(|running| Some((&running.ticket, running.moving.as_ref()?)));
        started
            .map(|(ticket, moving)| (id_of(ticket), moving.progress()))
            .collect()
    }

    /// Starts what a ticket allows. `fetch` brings a list of the attempt to a file.
    pub(super) async fn start<F: Future<Output = Result<(), Problem>>>(
        self: &Arc<Self>,
        start: proto::Start,
        roots: &Roots,
        fetch: impl Fn(AttemptId, proto::List, PathBuf) -> F,
    ) -> Result<(), Problem> {
        let ticket = self.verify(&start.ticket, roots)?;
        let share = share_of(&start.share)?;
        let wishes = wishes_in(start.tuning)?;
        let meet = meet(&ticket, start.dial, start.peer_addresses)?;
        let id = id_of(&ticket);
        self.reserve(&ticket).await?;
        let order = self.order(ticket, roots, meet, fetch).await;
        let started = match order {
            Ok(order) => {
                let order = Order {
                    share,
                    wishes,
                    ..order
                };
                let mover = Arc::clone(&self.mover);
                blocking(move || mover.start(order)).await.flatten()
            }
            Err(problem) => Err(problem),
        };
        match started {
            Ok(moving) => {
                self.watch(&id, &moving);
                Ok(())
            }
            Err(problem) => {
                // Those of another attempt are fetched anew.
                if let Err(problem) = self.remove_lists(&id.transfer) {
                    tracing::warn!("the lists of an attempt that did not begin stay: {problem}");
                }
                self.remove(&id.transfer);
                Err(problem)
            }
        }
    }

    /// Whether a transfer that has its place and is not under way may begin: nobody told it to stop.
    fn may_begin(&self, transfer: &Id) -> Result<(), Failure> {
        let running = self.running.lock();
        let told = running
            .get(transfer)
            .and_then(|running| running.stop.as_ref());
        let Some(cause) = told else { return Ok(()) };
        let message = match cause {
            StopCause::Requested(reason) | StopCause::RootMissing(reason) => reason.as_str(),
            StopCause::Revoked => "the permission was withdrawn before it began",
            StopCause::Shutdown => "the node shuts down before it began",
        };
        Err(Failure::new(Code::Stopped, message))
    }

    /// Gives an answer only when a transfer that has its place may not begin any more.
    async fn not_to_begin(&self, transfer: &Id) -> Problem {
        let mut count = self.count.subscribe();
        loop {
            if let Err(failure) = self.may_begin(transfer) {
                return Problem::new(ControlCode::Stopped, failure.message);
            }
            // The sender lives as long as this.
            let _ = count.changed().await;
        }
    }

    /// Takes a renewed ticket.
    pub(super) fn renew(&self, text: &str, roots: &Roots) -> Result<(), Problem> {
        let ticket = self.verify(text, roots)?;
        let mut running = self.running.lock();
        let Some(known) = running.get_mut(&ticket.ticket().transfer) else {
            return self.untold(&id_of(&ticket));
        };
        let ticket = ticket.renewing(&known.ticket).ok_or_else(|| {
            let message =
                "the ticket is not a renewal: it is of another attempt or says something else";
            Problem::new(ControlCode::TicketNoRenewal, message)
        })?;
        known.ticket = ticket.clone();
        if let Some(moving) = &known.moving {
            moving.renew(ticket);
        }
        Ok(())
    }

    /// Changes a rate, never above the ticket's ceiling.
    pub(super) fn set_rate(&self, transfer: &str, rate_bps: Option<u64>) -> Result<(), Problem> {
        let (ticket, moving) = self.moving(transfer)?;
        let ceiling = ticket.ticket().rate_ceiling_bps();
        moving.set_rate(rate_bps.into_iter().chain(ceiling).min());
        Ok(())
    }

    /// Changes the share of links of an attempt.
    pub(super) fn set_share(&self, transfer: &str, text: &str) -> Result<(), Problem> {
        let share = share_of(text)?;
        self.moving(transfer)?.1.set_share(share);
        Ok(())
    }

    /// Takes the links that this node schedules.
    pub(super) fn set_links(&self, text: &str) -> Result<(), Problem> {
        let links = Links::parse(text)?;
        tracing::info!(links = links.0.len(), "the links of this node were told");
        self.mover.set_links(&links);
        Ok(())
    }

    pub(super) fn stop(&self, transfer: &str, cause: StopCause) -> Result<(), Problem> {
        let transfer: Id = transfer.parse().map_err(violation)?;
        let mut running = self.running.lock();
        running
            .get_mut(&transfer)
            .ok_or_else(|| unknown(&transfer))?
            .stop(cause);
        self.tell_waiting();
        Ok(())
    }

    /// Stops what runs on roots that have vanished; each with the reason.
    pub(super) fn stop_on(&self, vanished: &[(String, String)]) {
        for running in self.running.lock().values_mut() {
            let ticket = &running.ticket;
            let roots = match ticket.part() {
                Part::Source => vec![&ticket.ticket().execution.source.root],
                Part::Destination => vec![&ticket.ticket().execution.destination.root],
                Part::Both => vec![
                    &ticket.ticket().execution.source.root,
                    &ticket.ticket().execution.destination.root,
                ],
            };
            let gone = vanished
                .iter()
                .find(|(gone, _)| roots.iter().any(|root| root.as_str() == gone));
            if let Some((_, reason)) = gone {
                running.stop(StopCause::RootMissing(reason.clone()));
            }
        }
        self.tell_waiting();
    }

    /// Lets those look again who wait for what is said to a transfer.
    fn tell_waiting(&self) {
        self.count.send_modify(|_| ());
    }

    /// A ticket that this node obeys. A root that it knows and can't open now is said to be missing.
    fn verify(&self, text: &str, roots: &Roots) -> Result<VerifiedTicket, Problem> {
        let now = (self.clock)();
        let verified = VerifiedTicket::verify(text, &roots.grants, self.key.public(), now);
        verified.map_err(|error| {
            let DocumentError::RootUnknown { root } = &error else {
                return error.into();
            };
            roots.why_missing(root).map_or_else(
                || Problem::from(error.clone()),
                |reason| Problem::new(ControlCode::RootMissing, reason),
            )
        })
    }

    /// Nothing is to be done for an attempt that has ended and whose end is on its way to the hub.
    fn untold(&self, id: &AttemptId) -> Result<(), Problem> {
        if self.ends.lock().contains_key(id) {
            Ok(())
        } else {
            Err(unknown(&id.transfer))
        }
    }

    /// What is told of an end whose lists are gone: that nobody can say how it ended.
    pub(super) fn told_as(end: End) -> End {
        let lists = [&end.files_list, &end.failed_list];
        let gone = lists
            .into_iter()
            .flatten()
            .find(|list| matches!(list.try_exists(), Ok(false)));
        let Some(gone) = gone else { return end };
        let message = format!(
            "`{}`, the list of what the attempt did, is gone from the node: another attempt makes it anew",
            gone.display()
        );
        let problem = Problem::new(ControlCode::StateFailed, message);
        End {
            outcome: Outcome::Failed,
            problem: Some((
                problem.code.into_owned(),
                problem.message,
                problem.retryable,
            )),
            statements: Vec::new(),
            files_list: None,
            failed_list: None,
            ..end
        }
    }

    /// Waits until nothing runs and every end is kept.
    pub(super) async fn idle(&self) {
        // The sender lives as long as this.
        let _ = self.count.subscribe().wait_for(|count| *count == 0).await;
    }

    pub(super) fn stop_all(&self, cause: &StopCause) {
        for running in self.running.lock().values_mut() {
            running.stop(cause.clone());
        }
        self.tell_waiting();
    }

    /// Removes what was kept for a transfer. An attempt that was told to stop is waited for.
    pub(super) async fn forget(
        self: &Arc<Self>,
        transfer: &str,
        roots: Roots,
    ) -> Result<(), Problem> {
        let transfer: Id = transfer.parse().map_err(violation)?;
        let still_runs = || {
            let message = format!("transfer {transfer} is running: stop it first");
            Problem::new(ControlCode::AlreadyRunning, message)
        };
        self.once_free(|| match self.running.lock().get(&transfer) {
            Some(running) if running.stop.is_none() => Err(still_runs()),
            running => Ok(running.is_none()),
        })
        .await
        .unwrap_or_else(|| Err(still_runs()))?;
        let this = Arc::clone(self);
        blocking(move || this.mover.forget(&transfer, &roots)).await?
    }

    fn moving(&self, transfer: &str) -> Result<(VerifiedTicket, Arc<dyn Moving>), Problem> {
        let transfer: Id = transfer.parse().map_err(violation)?;
        let running = self.running.lock();
        let found = running
            .get(&transfer)
            .and_then(|running| Some((running.ticket.clone(), running.moving.clone()?)));
        found.ok_or_else(|| unknown(&transfer))
    }

    /// Takes the place of a transfer's attempt, so that a second start is refused at once. An earlier attempt, or one
    /// that was told to stop, is waited for.
    async fn reserve(&self, ticket: &VerifiedTicket) -> Result<(), Problem> {
        self.once_free(|| self.try_reserve(ticket))
            .await
            .unwrap_or_else(|| Err(running_already(&ticket.ticket().transfer)))
    }

    /// Asks `free` whenever an attempt has begun or ended, until it says yes or fails; nothing after `LEAVE_TIMEOUT`.
    async fn once_free(
        &self,
        free: impl Fn() -> Result<bool, Problem>,
    ) -> Option<Result<(), Problem>> {
        let mut count = self.count.subscribe();
        let freed = timeout(LEAVE_TIMEOUT, async {
            while !free()? {
                // The sender lives as long as this.
                let _ = count.changed().await;
            }
            Ok(())
        });
        freed.await.ok()
    }

    /// Whether the place was free; who holds it is told to leave when this attempt comes after it.
    fn try_reserve(&self, ticket: &VerifiedTicket) -> Result<bool, Problem> {
        let mut running = self.running.lock();
        let transfer = &ticket.ticket().transfer;
        if let Some(earlier) = running.get_mut(transfer) {
            if earlier.ticket.ticket().attempt < ticket.ticket().attempt {
                let cause = StopCause::Requested("a later attempt starts".to_owned());
                if earlier.stop(cause) {
                    self.tell_waiting();
                }
            }
            return if earlier.stop.is_some() {
                Ok(false)
            } else {
                Err(running_already(transfer))
            };
        }
        if running.len() >= MAX_RUNNING {
            let message =
                format!("{MAX_RUNNING} attempts are running on this node: wait for one to end");
            return Err(Problem::new(ControlCode::NodeBusy, message));
        }
        running.insert(
            transfer.clone(),
            Running {
                ticket: ticket.clone(),
                moving: None,
                stop: None,
            },
        );
        self.count.send_replace(running.len());
        Ok(true)
    }

    async fn order<F: Future<Output = Result<(), Problem>>>(
        self: &Arc<Self>,
        ticket: VerifiedTicket,
        roots: &Roots,
        meet: Meet,
        fetch: impl Fn(AttemptId, proto::List, PathBuf) -> F,
    ) -> Result<Order, Problem> {
        let id = id_of(&ticket);
        let execution = &ticket.ticket().execution;
        let (first, second) = open_roots(&ticket, roots.clone()).await?;
        let mut lists = Vec::new();
        for (list, name, sealed) in [
            (proto::List::Overwrites, "overwrites", execution.overwrites),
            (proto::List::Deletes, "deletes", execution.deletes),
        ] {
            let needed = sealed.count > 0 && ticket.part() != Part::Source;
            let path = needed.then(|| self.list_file(&id.transfer, name));
            if let Some(path) = &path {
                tokio::select! {
                    fetched = fetch(id.clone(), list, path.clone()) => fetched?,
                    problem = self.not_to_begin(&id.transfer) => return Err(problem),
                }
            }
            lists.push(ListFile { path, sealed });
        }
        let deletes = lists.pop().ok_or_else(|| violation("no lists"))?;
        let overwrites = lists.pop().ok_or_else(|| violation("no lists"))?;
        Ok(Order {
            ticket,
            root: first,
            second_root: second,
            meet,
            overwrites,
            deletes,
            share: None,
            wishes: Wishes::default(),
            permitted: {
                let (this, transfer) = (Arc::downgrade(self), id.transfer);
                Arc::new(move || {
                    let this = this.upgrade();
                    this.map_or(Ok(()), |this| this.may_begin(&transfer))
                })
            },
        })
    }

    /// Looks after a started attempt until its end is on disk.
    fn watch(self: &Arc<Self>, id: &AttemptId, moving: &Arc<dyn Moving>) {
        if let Some(running) = self.running.lock().get_mut(&id.transfer) {
            if let Some(cause) = &running.stop {
                moving.stop(cause.clone());
            }
            running.moving = Some(Arc::clone(moving));
        }
        // A thread of its own: it may wait for days, and must not hold up the end of the runtime.
        let (ended, waiting) = oneshot::channel();
        let waiter = Arc::clone(moving);
        let spawned = std::thread::Builder::new()
            .name("attempt".to_owned())
            .spawn(move || {
                // When the node is gone, the end is told by nobody.
                let _ = ended.send(waiter.wait());
            });
        if let Err(error) = spawned {
            tracing::error!("no thread for an attempt: {error}");
        }
        let (this, id, moving) = (Arc::clone(self), id.clone(), Arc::clone(moving));
        tokio::spawn(async move {
            let end = waiting.await;
            let end = end.unwrap_or_else(|error| MoveEnd {
                outcome: Outcome::Failed,
                problem: Some(Problem::new(
                    ControlCode::Internal,
                    format!("the attempt broke off: {error}"),
                )),
                statements: Vec::new(),
                files_list: None,
                failed_list: None,
            });
            let kept = tokio::task::spawn_blocking(move || this.keep(&id, end, moving.progress()));
            let kept = kept.await;
            if let Ok(Err(problem)) = kept {
                tracing::error!("the end of an attempt could not be kept: {problem}");
            }
        });
    }

    /// Signs and keeps an end, then forgets that the attempt runs.
    fn keep(&self, id: &AttemptId, end: MoveEnd, progress: ProgressCounts) -> Result<(), Problem> {
        let kept = self.sealed(id, end, progress);
        let json = serde_json::to_vec(&kept).map_err(violation)?;
        // Should the disk fail, the end can still be told while this process lives.
        let kept_on_disk = state::write_durably(&self.end_file(id), &json);
        self.ends.lock().insert(id.clone(), kept);
        // The next attempt has lists of these names, and may fetch them as soon as the place is free.
        let removed = self.remove_lists(&id.transfer);
        self.remove(&id.transfer);
        self.ended.notify_one();
        self.over.notify_one();
        kept_on_disk.and(removed)
    }

    fn remove_lists(&self, transfer: &Id) -> Result<(), Problem> {
        let removed =
            ["overwrites", "deletes"].map(|name| state::remove(&self.list_file(transfer, name)));
        removed.into_iter().collect()
    }

    /// Note what the hub can do: statements hold nothing that it would refuse.
    pub(super) fn hub_can(&self, features: u64) {
        self.hub_features.store(features, Ordering::Relaxed);
    }

    fn sealed(&self, id: &AttemptId, end: MoveEnd, progress: ProgressCounts) -> End {
        let hub = self.hub_features.load(Ordering::Relaxed);
        let (reads_kept, reads_trash) = (hub & READS_KEPT_SOURCES != 0, hub & TRASH != 0);
        let seal = |statement: &Statement| {
            let mut said = statement.clone();
            said.sources_kept = said.sources_kept.filter(|_| reads_kept);
            said.trash = said.trash.filter(|_| reads_trash);
            said.seal(&self.key).map(|document| document.text())
        };
        let statements = end.statements.iter().map(seal).collect::<Result<_, _>>();
        let (mut outcome, mut problem, statements) = match statements {
            Ok(statements) => (end.outcome, end.problem, statements),
            Err(error) => (Outcome::Failed, Some(Problem::from(error)), Vec::new()),
        };
        let asked = self
            .running
            .lock()
            .get(&id.transfer)
            .and_then(|running| running.stop.clone());
        match (outcome, &mut problem, asked) {
            (Outcome::Stopped, Some(problem), Some(StopCause::Requested(reason))) => {
                problem.message = reason;
            }
            (Outcome::Stopped, Some(problem), Some(StopCause::RootMissing(reason))) => {
                // So that the other node is told to stop, too.
                outcome = Outcome::Failed;
                *problem = Problem::new(ControlCode::RootMissing, reason);
            }
            _ => {}
        }
        End {
            transfer: id.transfer.clone(),
            attempt: id.attempt,
            outcome,
            problem: problem.map(|problem| {
                (
                    problem.code.into_owned(),
                    problem.message,
                    problem.retryable,
                )
            }),
            statements,
            files_list: end.files_list,
            failed_list: end.failed_list,
            progress: Some(progress),
        }
    }

    fn remove(&self, transfer: &Id) {
        let mut running = self.running.lock();
        running.remove(transfer);
        self.count.send_replace(running.len());
    }

    fn list_file(&self, transfer: &Id, name: &str) -> PathBuf {
        self.lists_dir.join(format!("{transfer}-{name}.jsonl"))
    }

    fn end_file(&self, id: &AttemptId) -> PathBuf {
        self.ends_dir
            .join(format!("{}-{}.json", id.transfer, id.attempt))
    }
}

fn read_ends(folder: &Path) -> Result<BTreeMap<AttemptId, End>, Problem> {
    let mut ends = BTreeMap::new();
    for file in std::fs::read_dir(folder).map_err(|error| Problem::state("read", folder, &error))? {
        let path = file
            .map_err(|error| Problem::state("read", folder, &error))?
            .path();
        if path.extension().is_none_or(|end| end != "json") {
            continue;
        }
        let bytes = state::read_bounded(&path, MAX_END_BYTES)
            .map_err(|error| Problem::state("read", &path, &error))?;
        match serde_json::from_slice::<End>(&bytes) {
            Ok(end) => drop(ends.insert(end.id(), end)),
            Err(error) => tracing::error!("`{}` is damaged and left out: {error}", path.display()),
        }
    }
    Ok(ends)
}

/// How the ends meet, checked against the part that the ticket gives this node.
fn meet(ticket: &VerifiedTicket, dial: i32, addresses: Vec<String>) -> Result<Meet, Problem> {
    let dial = Dial::try_from(dial).map_err(violation)?;
    match (dial, ticket.part()) {
        (Dial::Local, Part::Both) => Ok(Meet::Local),
        (Dial::In, Part::Source | Part::Destination) => Ok(Meet::Await),
        (Dial::Out, Part::Source | Part::Destination)
            if (1..=proto::MAX_ADDRESSES).contains(&addresses.len()) =>
        {
            Ok(Meet::Dial(addresses))
        }
        _ => Err(violation("the way to the peer does not fit the ticket")),
    }
}

/// The roots of this node's part, each as the one who asked has it; the destination's second when both ends are here.
async fn open_roots(
    ticket: &VerifiedTicket,
    roots: Roots,
) -> Result<(Arc<Root>, Option<Arc<Root>>), Problem> {
    let (asker, part) = (ticket.ticket().asker(), ticket.part());
    let Execution {
        source,
        destination,
        ..
    } = &ticket.ticket().execution;
    let (from, to) = (source.root.clone(), destination.root.clone());
    // Whom an account belongs to may be asked of another machine, and its folders may be on one.
    blocking(move || {
        let open = |name: &Label| roots.open_for(name.as_str(), &asker);
        match part {
            Part::Source => Ok((open(&from)?, None)),
            Part::Destination => Ok((open(&to)?, None)),
            Part::Both => Ok((open(&from)?, Some(open(&to)?))),
        }
    })
    .await?
}

/// A share as it was told; nothing of an empty text.
fn share_of(text: &str) -> Result<Option<TransferShare>, Problem> {
    let told = Some(text).filter(|text| !text.is_empty());
    Ok(told.map(TransferShare::parse).transpose()?)
}

fn id_of(ticket: &VerifiedTicket) -> AttemptId {
    AttemptId {
        transfer: ticket.ticket().transfer.clone(),
        attempt: ticket.ticket().attempt,
    }
}

fn running_already(transfer: &Id) -> Problem {
    let message = format!("an attempt of transfer {transfer} is running on this node");
    Problem::new(ControlCode::AlreadyRunning, message)
}

fn unknown(transfer: &Id) -> Problem {
    Problem::new(
        ControlCode::AttemptUnknown,
        format!("no attempt of transfer {transfer} is running on this node"),
    )
}

#[cfg(test)]
mod tests {
    use headrace_core::value::Timestamp;

    use super::*;

    struct Nobody;

    impl Mover for Nobody {
        fn data_address(&self) -> Option<std::net::SocketAddr> {
            None
        }

        fn start(&self, _order: Order) -> Result<Arc<dyn Moving>, Problem> {
            Err(Problem::new(ControlCode::Internal, "nothing moves here"))
        }

        fn set_links(&self, _links: &Links) {}

        fn forget(&self, _transfer: &Id, _roots: &Roots) -> Result<(), Problem> {
            Ok(())
        }
    }

    #[test]
    fn the_lists_of_an_attempt_are_gone_before_the_next_may_fetch_its_own() {
        let folder = tempfile::tempdir().expect("a folder");
        let state = StateDir::open(folder.path()).expect("a state folder");
        let clock: Clock = Arc::new(|| Timestamp::from(std::time::SystemTime::now()));
        let key = SigningKey::from_seed(&[1; 32]);
        let attempts = Attempts::open(&state, key, clock, Arc::new(Nobody)).expect("attempts");
        let transfer: Id = "tr_1".parse().expect("an id");
        // A thread that sees the free place at once, as often as it takes to meet the moment between two steps.
        for attempt in 1..=100 {
            let list = attempts.list_file(&transfer, "deletes");
            std::fs::write(&list, b"").expect("a list");
            attempts.count.send_replace(1);
            let mut count = attempts.count.subscribe();
            let end = MoveEnd {
                outcome: Outcome::Stopped,
                problem: None,
                statements: Vec::new(),
                files_list: None,
                failed_list: None,
            };
            let id = AttemptId {
                transfer: transfer.clone(),
                attempt,
            };
            std::thread::scope(|scope| {
                let next = scope.spawn(|| {
                    while *count.borrow_and_update() > 0 {
                        std::hint::spin_loop();
                    }
                    list.exists()
                });
                let kept = attempts.keep(&id, end, ProgressCounts::default());
                kept.expect("kept");
                assert!(!next.join().expect("no panic"), "attempt {attempt}");
            });
        }
    }
}
