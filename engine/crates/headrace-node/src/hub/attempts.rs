//! Attempts as the hub sees them: starting, steering, and putting both ends together.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr, UdpSocket};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use headrace_core::sealed::PublicKey;
use headrace_core::shares::TransferShare;
use headrace_core::ticket::Part;
use headrace_core::value::Id;
use headrace_core::wishes::Wishes;
use tokio::task::JoinHandle;

use super::link::Link;
use super::records::{End, Record, Records, claims, unknown};
use super::{Hub, Shared};
use crate::convert::{AttemptId, Outcome, tuning_out};
use crate::problem::{ControlCode, Problem};
use crate::proto::{self, Dial, to_node};

/// How long the hub waits for the other node's end after the first.
const SECOND_END_WAIT: Duration = Duration::from_secs(30);
/// How long it waits for the source's signed statement when the destination has everything.
const STATEMENT_WAIT: Duration = Duration::from_mins(10);
/// How long after its ticket's end an attempt without news is given up, in milliseconds.
const LOST_AFTER_MS: i64 = 60_000;
/// How often records are looked through.
const KEEP_INTERVAL: Duration = Duration::from_secs(1);

impl Hub {
    /// Sends a ticket to its nodes. `lists_dir` holds its lists, results are written into `result_dir`; `share` is its share of links
    /// (JSON), which is empty where it takes part in none; `wishes` is what was set for it instead of what its nodes choose.
    ///
    /// # Errors
    /// What a node says, `node_unreachable`, `no_data_path`, `already_running`; nothing runs then.
    pub async fn start_attempt(
        &self,
        ticket: &str,
        (lists_dir, result_dir): (&Path, &Path),
        share: &str,
        wishes: Wishes,
    ) -> Result<(), Problem> {
        self.shared
            .start(ticket, (lists_dir, result_dir), share, wishes)
            .await
    }

    /// Hands a renewed ticket to the nodes of its attempt.
    ///
    /// # Errors
    /// `attempt_unknown`, and when that is because it has ended its end is told again; what a node says, or that it can't be
    /// reached: it gets the ticket when it is back.
    pub async fn renew(&self, ticket: &str) -> Result<(), Problem> {
        let claims = claims(ticket)?;
        let (text, expires) = (ticket.to_owned(), claims.expires);
        let id = AttemptId {
            transfer: claims.transfer,
            attempt: claims.attempt,
        };
        let transfer = id.transfer.clone();
        let record = self
            .shared
            .records(move |records| records.note_renewal(&id, claims.plan_digest, text, expires));
        let record = self.shared.known_end(&transfer, record.await?).await?;
        // The nodes are told first, whatever the disk says: without a renewal they stop.
        let renew = to_node::Message::Renew(ticket.to_owned());
        let told = self.shared.tell_running(&record, &renew).await;
        let kept = self.shared.records(move |records| records.keep(&transfer));
        told.and(kept.await?)
    }

    /// Changes the rate of a running attempt; `None` is what its ticket says, which is never exceeded.
    ///
    /// # Errors
    /// `attempt_unknown`, what a node says, or that it can't be reached.
    pub async fn set_rate(&self, transfer: &Id, rate_bps: Option<u64>) -> Result<(), Problem> {
        let running = self.shared.running(transfer).await;
        let record = self.shared.known_end(transfer, running).await?;
        let message = proto::SetRate {
            transfer: transfer.to_string(),
            rate_bps,
        };
        self.shared
            .tell_running(&record, &to_node::Message::SetRate(message))
            .await
    }

    /// Changes the share of links of a running attempt (JSON); an empty text takes it away. A node that schedules no links is not told.
    ///
    /// # Errors
    /// `attempt_unknown`, `shares_invalid`, what a node says, or that it can't be reached.
    pub async fn set_share(&self, transfer: &Id, share: &str) -> Result<(), Problem> {
        if !share.is_empty() {
            TransferShare::parse(share)?;
        }
        let running = self.shared.running(transfer).await;
        let record = self.shared.known_end(transfer, running).await?;
        let message = proto::SetShare {
            transfer: transfer.to_string(),
            share: share.to_owned(),
        };
        self.shared
            .tell_running(&record, &to_node::Message::SetShare(message))
            .await
    }

    /// Stops a running attempt at its next unit or batch; its journal stays. A node that can't be reached now stops
    /// when it is back, or when its ticket expires.
    ///
    /// # Errors
    /// `attempt_unknown`, or what a node says.
    pub async fn stop_attempt(&self, transfer: &Id, reason: &str) -> Result<(), Problem> {
        let stopped = self.shared.stop(transfer, reason).await;
        self.shared.known_end(transfer, stopped).await
    }

    /// The service has stored how this attempt ended: it is not told again, and nothing is kept of it. Of another attempt than
    /// the latest nothing is kept anyway.
    ///
    /// # Errors
    /// `state_failed`: it will be told again.
    pub async fn acknowledge(&self, attempt: &AttemptId) -> Result<(), Problem> {
        let AttemptId { transfer, attempt } = attempt.clone();
        let stored = self.shared.records(move |records| {
            let ended = |record: &Record| record.attempt == attempt && record.over;
            if records.get(&transfer).is_some_and(ended) {
                records.remove(&transfer);
            }
        });
        stored.await
    }

    /// Tells the nodes that no attempt of this transfer will follow: they remove temporaries and journal. `nodes` are the
    /// transfer's own as the service knows them, for when the hub has no record of it (any more).
    ///
    /// # Errors
    /// `already_running` while an attempt runs, or that a node can't be reached: try again later.
    pub async fn forget(&self, transfer: &Id, nodes: &[PublicKey]) -> Result<(), Problem> {
        let id = transfer.clone();
        let known = self
            .shared
            .records(move |records| records.get(&id).cloned())
            .await?;
        if known.as_ref().is_some_and(|record| !record.over) {
            let message = format!("transfer {transfer} is running: stop it first");
            return Err(Problem::new(ControlCode::AlreadyRunning, message));
        }
        for node in known.map_or_else(|| nodes.to_vec(), |record| record.nodes()) {
            let message = proto::Forget {
                transfer: transfer.to_string(),
            };
            self.shared
                .link(node)?
                .command(to_node::Message::Forget(message))
                .await?;
        }
        let id = transfer.clone();
        self.shared
            .records(move |records| records.remove(&id))
            .await
    }
}

/// Names the node that can't use its own state folder: of two nodes, nobody else knows which one it is.
fn of_node(node: PublicKey, problem: Problem) -> Problem {
    if !problem.is(ControlCode::StateFailed) {
        return problem;
    }
    Problem {
        message: format!("node {node}: {}", problem.message),
        ..problem
    }
}

impl Shared {
    async fn start(
        self: &Arc<Self>,
        text: &str,
        (lists_dir, result_dir): (&Path, &Path),
        share: &str,
        wishes: Wishes,
    ) -> Result<(), Problem> {
        let ticket = claims(text)?;
        let source = self.link(ticket.source_node)?;
        let destination = self.link(ticket.destination_node)?;
        if ticket.leg.is_some() {
            source.require_probes()?;
            destination.require_probes()?;
        }
        if ticket.execution.trash.is_some() {
            source.require_trash()?;
            destination.require_trash()?;
        }
        let orders = dial(&source, &destination, ticket.attempt)?;
        let record = Record::new(text, &ticket, lists_dir, result_dir);
        let id = record.id();
        let (source, destination) = (record.source, record.destination);
        let earlier = self.records(move |records| records.begin(record)).await??;
        self.events.begin(&id, source, destination);
        for (link, dial, addresses) in orders {
            let start = proto::Start {
                ticket: text.to_owned(),
                dial: dial.into(),
                peer_addresses: addresses,
                share: share.to_owned(),
                tuning: Some(tuning_out(wishes)),
            };
            if let Err(problem) = link.command(to_node::Message::Start(start)).await {
                self.undo_start(&id, earlier).await;
                return Err(of_node(link.node, problem));
            }
        }
        Ok(())
    }

    /// The attempt did not start everywhere, so it runs nowhere; the service learns that from its call. What is known of
    /// the transfer's earlier attempt stays known.
    async fn undo_start(&self, id: &AttemptId, earlier: Option<Record>) {
        let this = id.clone();
        let known = self.records(move |records| records.undo_begin(&this, earlier));
        self.events.close_attempt(id);
        if let Ok(Ok(Some(record))) = known.await {
            self.stop_nodes(&record, "the attempt could not be started on both nodes")
                .await;
        }
    }

    /// The nodes are told first, whatever the disk says.
    async fn stop(&self, transfer: &Id, reason: &str) -> Result<(), Problem> {
        let (id, why) = (transfer.clone(), reason.to_owned());
        let asked = self.records(move |records| records.ask_stop(&id, why));
        let record = asked.await?.ok_or_else(|| unknown(transfer))?;
        self.stop_nodes(&record, reason).await;
        let id = transfer.clone();
        self.records(move |records| records.keep(&id)).await?
    }

    async fn stop_nodes(&self, record: &Record, reason: &str) {
        if let Err(problem) = self.tell_stop(record, reason).await {
            tracing::info!(transfer = %record.transfer, "not every node could be told to stop: {problem}");
        }
    }

    async fn tell_stop(&self, record: &Record, reason: &str) -> Result<(), Problem> {
        let stop = to_node::Message::Stop(proto::Stop {
            transfer: record.transfer.to_string(),
            reason: reason.to_owned(),
        });
        self.tell_running(record, &stop).await
    }

    /// Commands every node of an attempt that has not ended, so that none waits for another; the first problem is given after all
    /// were tried.
    async fn tell_running(
        &self,
        record: &Record,
        message: &to_node::Message,
    ) -> Result<(), Problem> {
        let (source, destination) = (record.source, record.destination);
        if source == destination {
            return self.tell_one(record, source, message).await;
        }
        let (first, second) = tokio::join!(
            self.tell_one(record, destination, message),
            self.tell_one(record, source, message)
        );
        first.and(second)
    }

    /// Commands one node of an attempt, if it has not ended there.
    async fn tell_one(
        &self,
        record: &Record,
        node: PublicKey,
        message: &to_node::Message,
    ) -> Result<(), Problem> {
        if record.part(node).is_some_and(|part| record.ended(part)) {
            return Ok(());
        }
        let told = match self.link(node) {
            Ok(link) if !link.knows(message) => Ok(()),
            Ok(link) => link.command(message.clone()).await,
            Err(problem) => Err(problem),
        };
        let is_unknown = |problem: &Problem| problem.is(ControlCode::AttemptUnknown);
        if told.as_ref().is_err_and(is_unknown) && self.has_ended(record, node).await {
            // Meanwhile, and the node knows that we have its end.
            return Ok(());
        }
        told
    }

    /// Whether this attempt has ended at a node, as far as is known now.
    async fn has_ended(&self, attempt: &Record, node: PublicKey) -> bool {
        let (transfer, number) = (attempt.transfer.clone(), attempt.attempt);
        let ended = self.records(move |records| {
            records.get(&transfer).is_some_and(|record| {
                let part = record.part(node);
                record.attempt == number && part.is_some_and(|part| record.ended(part))
            })
        });
        ended.await.unwrap_or(false)
    }

    async fn running(&self, transfer: &Id) -> Result<Record, Problem> {
        let id = transfer.clone();
        let known = self.records(move |records| records.get(&id).cloned());
        let running = known.await?.filter(|record| !record.over);
        running.ok_or_else(|| unknown(transfer))
    }

    async fn change_running(
        &self,
        transfer: &Id,
        change: impl FnOnce(&mut Record) -> Result<(), Problem> + Send + 'static,
    ) -> Result<Record, Problem> {
        let (id, missing) = (transfer.clone(), unknown(transfer));
        let changed = self.records(move |records| {
            if records.get(&id).is_none_or(|record| record.over) {
                return Err(missing);
            }
            let change = |record: &mut Record| change(record).map(|()| record.clone());
            records.change(&id, change)?.ok_or(missing)?
        });
        changed.await?
    }

    /// Attempts that a node should know of, as far as the hub knows.
    pub(super) async fn expected_of(&self, node: PublicKey) -> Vec<(Part, Record)> {
        let running = self.records(move |records| {
            let mine = records
                .running()
                .filter_map(|record| Some((record.part(node)?, record)));
            let open = mine.filter(|(part, record)| !record.ended(*part));
            open.map(|(part, record)| (part, record.clone())).collect()
        });
        running.await.unwrap_or_default()
    }

    /// Brings what the hub expected of a node that has just attached and what the node knows together.
    pub(super) async fn reconcile(
        self: Arc<Self>,
        link: Arc<Link>,
        expected: Vec<(Part, Record)>,
        attempts: Vec<AttemptId>,
    ) {
        let node = link.node;
        for (part, record) in expected {
            let id = record.id();
            let done = if !attempts.contains(&id) {
                let message = format!("node {node} restarted and lost the attempt");
                self.ended(
                    &id,
                    End::lost(part, Problem::new(ControlCode::NodeRestarted, message)),
                )
                .await
            } else if let Some(reason) = record.stop {
                let stop = proto::Stop {
                    transfer: id.transfer.to_string(),
                    reason,
                };
                link.command(to_node::Message::Stop(stop)).await
            } else {
                link.command(to_node::Message::Renew(record.ticket)).await
            };
            if let Err(problem) = done {
                tracing::warn!(%node, transfer = %id.transfer, "can't take up an attempt again: {problem}");
            }
        }
        // What the hub does not know (any more) runs for nobody.
        for id in attempts {
            if self.running(&id.transfer).await.is_err() {
                let reason = "the service does not know this attempt".to_owned();
                let stop = proto::Stop {
                    transfer: id.transfer.to_string(),
                    reason,
                };
                let _ = link.command(to_node::Message::Stop(stop)).await;
            }
        }
    }

    /// Records the end of one node; tells the service when it is the last, the other node to stop when it failed.
    pub(super) async fn ended(self: &Arc<Self>, id: &AttemptId, end: End) -> Result<(), Problem> {
        let failed = end.outcome == Outcome::Failed;
        let attempt = id.attempt;
        let record = self.change_running(&id.transfer, move |record| {
            if record.attempt == attempt && !record.ended(end.part) {
                record.take_end(end);
            }
            Ok(())
        });
        let record = record.await?;
        if record.attempt != attempt {
            // A later attempt has taken its place and goes on.
            return Ok(());
        }
        if record.over {
            self.tell_end(&record).await;
        } else if let Some(reason) = record.why_stop().filter(|_| failed) {
            // Beside this, because it waits for answers that the caller may have to read.
            let shared = Arc::clone(self);
            tokio::spawn(async move { shared.stop_nodes(&record, &reason).await });
        }
        Ok(())
    }

    /// Ends an attempt with what is known of it. One that has ended meanwhile, or has been replaced, is left as it is.
    async fn report(&self, record: &Record) -> Result<(), Problem> {
        let (attempt, replaced) = (record.attempt, unknown(&record.transfer));
        let over = self.change_running(&record.transfer, move |record| {
            if record.attempt != attempt {
                return Err(replaced);
            }
            record.over = true;
            Ok(())
        });
        match over.await {
            Ok(record) => self.tell_end(&record).await,
            Err(problem) if problem.is(ControlCode::AttemptUnknown) => {}
            Err(problem) => return Err(problem),
        }
        Ok(())
    }

    /// Tells the service how an attempt ended. That it was told is no proof that it is stored: see [`Hub::acknowledge`].
    async fn tell_end(&self, record: &Record) {
        self.events
            .end(record.last_progress(), record.result())
            .await;
    }

    /// Passes a result on; when the attempt is unknown because it has ended, and the service has not stored that, tells it again.
    async fn known_end<T>(&self, transfer: &Id, result: Result<T, Problem>) -> Result<T, Problem> {
        if let Err(problem) = &result
            && problem.is(ControlCode::AttemptUnknown)
        {
            let id = transfer.clone();
            let known = self.records(move |records| records.get(&id).cloned());
            if let Some(record) = known.await?.filter(|record| record.over) {
                self.tell_end(&record).await;
            }
        }
        result
    }

    /// Tells what an earlier process of the service was told and has not stored.
    async fn tell_unstored(&self) {
        let unstored = self.records(|records| records.unstored().cloned().collect::<Vec<_>>());
        for record in unstored.await.unwrap_or_default() {
            self.tell_end(&record).await;
        }
    }

    /// Reports attempts whose second end, or any end, does not come, and repeats stops until the end is there.
    pub(super) async fn keep_records(self: Arc<Self>) {
        let mut closing = self.closing.subscribe();
        tokio::select! {
            () = self.tell_unstored() => {}
            _ = closing.wait_for(|closing| *closing) => return,
        }
        let mut interval = tokio::time::interval(KEEP_INTERVAL);
        let mut stopping = HashMap::new();
        loop {
            tokio::select! {
                _ = interval.tick() => {}
                _ = closing.wait_for(|closing| *closing) => return,
            }
            self.give_up_lost().await;
            self.write_removed().await;
            self.repeat_stops(&mut stopping).await;
        }
    }

    /// A node may have been busy, away for a moment, or not told to start yet, when it was told to stop. Beside the loop and one at a time of each
    /// attempt, because a node that hangs is waited for.
    async fn repeat_stops(self: &Arc<Self>, stopping: &mut HashMap<Id, JoinHandle<()>>) {
        stopping.retain(|_, telling| !telling.is_finished());
        let stopped = self.records(|records| {
            let with_reason = |record: &Record| Some((record.clone(), record.why_stop()?));
            records
                .running()
                .filter_map(with_reason)
                .collect::<Vec<_>>()
        });
        for (record, reason) in stopped.await.unwrap_or_default() {
            stopping.entry(record.transfer.clone()).or_insert_with(|| {
                let shared = Arc::clone(self);
                tokio::spawn(async move {
                    if let Err(problem) = shared.tell_stop(&record, &reason).await {
                        tracing::debug!(transfer = %record.transfer, "a stop is repeated: {problem}");
                    }
                })
            });
        }
    }

    async fn write_removed(&self) {
        let written = self.records(Records::write_removed).await;
        if let Err(problem) = written.and_then(|written| written) {
            tracing::warn!("what the service has stored would be told again: {problem}");
        }
    }

    async fn give_up_lost(&self) {
        let now = (self.clock)();
        let lost = move |record: &&Record| {
            let longest = if record.lacks_source() {
                STATEMENT_WAIT
            } else {
                SECOND_END_WAIT
            };
            let waited = record
                .first_end
                .is_some_and(|first| first.elapsed() > longest);
            let decided = record.complete() || (waited && record.destination_end().is_some());
            decided || record.expires.plus_ms(LOST_AFTER_MS) < now
        };
        let lost = self
            .records(move |records| records.running().filter(lost).cloned().collect::<Vec<_>>());
        for record in lost.await.unwrap_or_default() {
            if let Err(problem) = self.report(&record).await {
                tracing::error!(transfer = %record.transfer, "can't record an end: {problem}");
            }
        }
    }

    /// Refuses a node from now on and ends its stream; says why.
    pub(super) fn refuse(&self, node: PublicKey) -> Problem {
        self.enrolled.lock().remove(&node);
        let problem = Problem::new(ControlCode::NodeRevoked, format!("node {node} was revoked"));
        if let Some(link) = self.links.lock().get(&node) {
            link.close(problem.clone());
        }
        problem
    }

    /// Ends what a node takes part in, whatever it says.
    pub(super) async fn end_attempts_of(self: &Arc<Self>, node: PublicKey, why: Problem) {
        for (part, record) in self.expected_of(node).await {
            let id = record.id();
            if let Err(problem) = self.ended(&id, End::lost(part, why.clone())).await {
                tracing::error!(transfer = %id.transfer, "can't record an end: {problem}");
            }
        }
    }
}

/// A node, whether it dials, and whom.
type DialOrder = (Arc<Link>, Dial, Vec<String>);

/// Who dials whom, in the order in which the nodes are told: who waits first. Where both accept connections, the next attempt tries the other
/// way: an address may be reachable from one side only.
fn dial(
    source: &Arc<Link>,
    destination: &Arc<Link>,
    attempt: u64,
) -> Result<Vec<DialOrder>, Problem> {
    let (from, to) = (Arc::clone(source), Arc::clone(destination));
    if source.node == destination.node {
        return Ok(vec![(to, Dial::Local, Vec::new())]);
    }
    let (at_source, at_destination) = reachable(
        (source.reach().addresses, destination.reach().addresses),
        attempt,
        are_apart(source.from, destination.from),
    );
    let other_way = attempt.is_multiple_of(2) && !at_destination.is_empty();
    if !at_source.is_empty() && !other_way {
        return Ok(vec![
            (from, Dial::In, Vec::new()),
            (to, Dial::Out, at_source),
        ]);
    }
    if !at_destination.is_empty() {
        return Ok(vec![
            (to, Dial::In, Vec::new()),
            (from, Dial::Out, at_destination),
        ]);
    }
    let message = format!(
        "neither node {} nor node {} accepts data connections: give one of them `--data-listen`",
        source.node, destination.node
    );
    Err(Problem::new(ControlCode::NoDataPath, message))
}

/// From this attempt of a transfer on, every address is tried, whatever it seems to lead to.
const ALL_ADDRESSES_FROM: u64 = 3;

/// The addresses of source and destination that the other one may dial. What a host has for itself alone leads elsewhere on another host, so it
/// is named to a node there only where nothing else is left: a tunnel of the site's may end there.
fn reachable(
    (source, destination): (Vec<String>, Vec<String>),
    attempt: u64,
    apart: bool,
) -> (Vec<String>, Vec<String>) {
    let others = |addresses: &[String]| -> Vec<String> {
        let others = addresses.iter().filter(|address| !is_loopback(address));
        others.cloned().collect()
    };
    let (at_source, at_destination) = (others(&source), others(&destination));
    if !apart
        || attempt >= ALL_ADDRESSES_FROM
        || (at_source.is_empty() && at_destination.is_empty())
    {
        return (source, destination);
    }
    (at_source, at_destination)
}

fn is_loopback(address: &str) -> bool {
    let host = address.rsplit_once(':').map_or(address, |(host, _)| host);
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host.parse::<IpAddr>()
        .map_or(host == "localhost", |ip| ip.is_loopback())
}

/// Whether two nodes are on two hosts, as far as the addresses tell from which they came. One that is not known may be anywhere.
fn are_apart(one: Option<SocketAddr>, other: Option<SocketAddr>) -> bool {
    let (Some(one), Some(other)) = (one, other) else {
        return false;
    };
    one.ip() != other.ip() && !(is_here(one.ip()) && is_here(other.ip()))
}

/// Whether this host has the address: it lets programs use its own only.
fn is_here(ip: IpAddr) -> bool {
    ip.is_loopback() || UdpSocket::bind((ip, 0)).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(addresses: &[&str]) -> Vec<String> {
        addresses.iter().map(|one| (*one).to_owned()).collect()
    }

    #[test]
    fn an_address_of_the_host_itself_is_named_to_no_node_elsewhere_while_another_is_left() {
        let own = ["127.0.0.1:8472", "localhost:1", "[::1]:8472"];
        let with_own = all(&[own[0], own[1], own[2], "192.0.2.1:8472"]);
        let far = all(&["192.0.2.2:8472"]);
        let named = reachable((with_own.clone(), far.clone()), 1, true);
        assert_eq!(named, (all(&["192.0.2.1:8472"]), far.clone()));
        assert_eq!(
            reachable((all(&own), far.clone()), 1, true),
            (all(&[]), far.clone())
        );
        assert_eq!(
            reachable((far.clone(), all(&own)), 2, true),
            (far.clone(), all(&[]))
        );
        // On one host it is as good as any other, and where nothing else is left it may lead into a tunnel.
        let here = (all(&own), far);
        assert_eq!(reachable(here.clone(), 1, false), here);
        assert_eq!(reachable(here.clone(), 3, true), here);
        let tunnels = (all(&own), all(&own[..1]));
        assert_eq!(reachable(tunnels.clone(), 1, true), tunnels);
    }

    #[test]
    fn nodes_are_apart_when_they_come_from_two_addresses_that_are_not_both_of_this_host() {
        let at = |text: &str| Some(text.parse().expect("an address"));
        let (here, also_here) = (at("127.0.0.1:1"), at("127.0.0.2:2"));
        assert!(!are_apart(here, also_here));
        assert!(!are_apart(at("192.0.2.1:1"), at("192.0.2.1:2")));
        assert!(are_apart(here, at("192.0.2.1:1")));
        assert!(are_apart(at("192.0.2.2:1"), at("192.0.2.1:1")));
        assert!(!are_apart(None, at("192.0.2.1:1")));
    }
}
