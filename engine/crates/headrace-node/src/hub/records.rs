//! What the hub knows of attempts, kept on disk so that a restart of the service loses none.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::time::Instant;

use headrace_core::sealed::{Document, DocumentType, PublicKey};
use headrace_core::ticket::{Part, Ticket};
use headrace_core::value::{Digest, Id, Timestamp};
use serde::{Deserialize, Serialize};

use super::events::AttemptEnded;
use super::journal::Journal;
use crate::convert::{AttemptId, Outcome, ProgressCounts};
use crate::problem::{ControlCode, Problem};

/// Most transfers that run, or ended and are not stored by the service yet.
const MAX_RECORDS: usize = 10_000;

/// The latest attempt of one transfer.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Record {
    pub(super) transfer: Id,
    pub(super) attempt: u64,
    /// The latest ticket of the attempt.
    pub(super) ticket: String,
    pub(super) plan_digest: Digest,
    pub(super) source: PublicKey,
    pub(super) destination: PublicKey,
    pub(super) expires: Timestamp,
    pub(super) lists_dir: PathBuf,
    pub(super) result_dir: PathBuf,
    pub(super) ends: Vec<End>,
    /// Why the attempt was asked to stop, if it was.
    pub(super) stop: Option<String>,
    /// Whether it is decided how the attempt ended; the service is told until it has stored that, and the record is gone
    /// then.
    #[serde(alias = "reported")]
    pub(super) over: bool,
    /// When the first end came in, in this process.
    #[serde(skip)]
    pub(super) first_end: Option<Instant>,
}

/// One node's end of an attempt.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct End {
    pub(super) part: Part,
    pub(super) outcome: Outcome,
    pub(super) problem: Option<SavedProblem>,
    pub(super) statements: Vec<String>,
    pub(super) files_list: bool,
    pub(super) failed_list: bool,
    /// What the node had counted; `None` of a node that was lost.
    #[serde(default)]
    pub(super) progress: Option<ProgressCounts>,
}

#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct SavedProblem {
    code: String,
    message: String,
    retryable: bool,
}

impl From<Problem> for SavedProblem {
    fn from(problem: Problem) -> Self {
        Self {
            code: problem.code.into_owned(),
            message: problem.message,
            retryable: problem.retryable,
        }
    }
}

impl From<SavedProblem> for Problem {
    fn from(saved: SavedProblem) -> Self {
        Self {
            code: saved.code.into(),
            message: saved.message,
            retryable: saved.retryable,
        }
    }
}

impl End {
    /// That of a node which can't speak for itself any more.
    pub(super) fn lost(part: Part, problem: Problem) -> Self {
        Self {
            part,
            outcome: Outcome::Failed,
            problem: Some(problem.into()),
            statements: Vec::new(),
            files_list: false,
            failed_list: false,
            progress: None,
        }
    }
}

/// A ticket's text and what it claims; the nodes verify it, the hub only carries it.
pub(super) fn claims(text: &str) -> Result<Ticket, Problem> {
    Ok(Document::parse(text, DocumentType::Ticket)?.claims()?)
}

impl Record {
    pub(super) fn new(text: &str, ticket: &Ticket, lists_dir: &Path, result_dir: &Path) -> Self {
        Self {
            transfer: ticket.transfer.clone(),
            attempt: ticket.attempt,
            ticket: text.to_owned(),
            plan_digest: ticket.plan_digest,
            source: ticket.source_node,
            destination: ticket.destination_node,
            expires: ticket.expires,
            lists_dir: lists_dir.to_owned(),
            result_dir: result_dir.to_owned(),
            ends: Vec::new(),
            stop: None,
            over: false,
            first_end: None,
        }
    }

    pub(super) fn id(&self) -> AttemptId {
        AttemptId {
            transfer: self.transfer.clone(),
            attempt: self.attempt,
        }
    }

    /// Which end this node is, if it is one.
    pub(super) fn part(&self, node: PublicKey) -> Option<Part> {
        match (self.source == node, self.destination == node) {
            (true, true) => Some(Part::Both),
            (true, false) => Some(Part::Source),
            (false, true) => Some(Part::Destination),
            (false, false) => None,
        }
    }

    /// Its nodes, each once, the destination first.
    pub(super) fn nodes(&self) -> Vec<PublicKey> {
        let mut nodes = vec![self.destination, self.source];
        nodes.dedup();
        nodes
    }

    /// Why its nodes are to stop, when they are: somebody asked for it, or one of them has failed.
    pub(super) fn why_stop(&self) -> Option<String> {
        let failed = self.ends.iter().find(|end| end.outcome == Outcome::Failed);
        self.stop
            .clone()
            .or_else(|| failed.map(|end| self.why_failed(end)))
    }

    /// Why one node is to stop when the other has failed: which one, and by which code. Its message may name what is of no concern elsewhere.
    fn why_failed(&self, end: &End) -> String {
        let node = match end.part {
            Part::Source => self.source,
            Part::Destination | Part::Both => self.destination,
        };
        match &end.problem {
            Some(problem) => format!("node {node} failed: {}", problem.code),
            None => format!("node {node} failed"),
        }
    }

    pub(super) fn ended(&self, part: Part) -> bool {
        self.ends.iter().any(|end| end.part == part)
    }

    /// Whether every node has said how it ended.
    pub(super) fn complete(&self) -> bool {
        self.ended(Part::Both) || (self.ended(Part::Source) && self.ended(Part::Destination))
    }

    /// Takes in one node's end; with the last one the attempt is over, in the same change.
    pub(super) fn take_end(&mut self, end: End) {
        self.ends.push(end);
        self.first_end.get_or_insert_with(Instant::now);
        self.over = self.complete();
    }

    /// The destination's end, once it is there.
    pub(super) fn destination_end(&self) -> Option<&End> {
        let of = |part| self.ends.iter().find(move |end| end.part == part);
        of(Part::Both).or_else(|| of(Part::Destination))
    }

    /// Whether the destination has everything it was to get and the source's end, with its signed statement, is not there.
    pub(super) fn lacks_source(&self) -> bool {
        self.achieved() && !self.ended(Part::Source) && !self.ended(Part::Both)
    }

    /// Whether the destination has signed that it got everything, or all but what failed.
    fn achieved(&self) -> bool {
        self.destination_end()
            .is_some_and(|end| matches!(end.outcome, Outcome::Complete | Outcome::Partial))
    }

    /// Why the destination's word alone ends nothing: a receipt needs the statement of the source, too.
    fn without_source(&self) -> Option<Problem> {
        let source = self.ends.iter().find(|end| end.part == Part::Source);
        let signed = source.is_some_and(|end| !end.statements.is_empty());
        if self.source == self.destination || !self.achieved() || signed {
            return None;
        }
        let why = source
            .and_then(|end| end.problem.clone())
            .map(Problem::from);
        Some(why.unwrap_or_else(|| {
            let message = format!(
                "everything has arrived, but node {} has not sent its signed statement about it: another attempt asks it again",
                self.source
            );
            Problem::new(ControlCode::NodeLost, message)
        }))
    }

    /// What the destination had counted when it ended, with what the source knew then.
    pub(super) fn last_progress(&self) -> Option<ProgressCounts> {
        let source = self.ends.iter().find(|end| end.part == Part::Source);
        let at_source = source.and_then(|end| end.progress.clone());
        let counts = self.destination_end()?.progress.clone()?;
        Some(ProgressCounts {
            source: at_source.map(|counts| counts.own).unwrap_or_default(),
            ..counts
        })
    }

    /// Whether the source's problem is the one to tell. Whoever was told to stop because somebody asked for it has nothing to explain.
    fn tells_more(&self, source: &Problem, destination: &Problem) -> bool {
        let (source, destination) = (tells(source), tells(destination));
        source > destination && (self.stop.is_none() || source > 1)
    }

    /// What the service is told: the destination's word, and the source's where the destination has none or only
    /// knows that the source was gone.
    pub(super) fn result(&self) -> AttemptEnded {
        let destination = self.destination_end();
        let source = self.ends.iter().find(|end| end.part == Part::Source);
        let lost = || {
            let message = format!(
                "node {} did not come back before its ticket expired",
                self.destination
            );
            End::lost(
                Part::Destination,
                Problem::new(ControlCode::NodeLost, message),
            )
        };
        let mut counts = destination.cloned().unwrap_or_else(lost);
        let mut node = self.destination;
        if let Some(problem) = self.without_source() {
            (counts.outcome, counts.problem) = (Outcome::Failed, Some(problem.into()));
            node = self.source;
        }
        let mut problem = counts.problem.map(Problem::from);
        let source_problem = source
            .and_then(|end| end.problem.clone())
            .map(Problem::from);
        if counts.outcome == Outcome::Failed
            && let (Some(own), Some(other)) = (&problem, source_problem)
            && self.tells_more(&other, own)
        {
            problem = Some(other);
            node = self.source;
        }
        let path_of = |there: bool, name: &str| there.then(|| self.result_dir.join(name));
        AttemptEnded {
            id: self.id(),
            outcome: counts.outcome,
            node: problem.is_some().then_some(node),
            problem,
            statements: [
                counts.statements,
                source.map(|end| end.statements.clone()).unwrap_or_default(),
            ]
            .concat(),
            files_list: path_of(counts.files_list, super::results::FILES),
            failed_list: path_of(counts.failed_list, super::results::FAILED),
        }
    }
}

/// How much a problem tells: a node that was told to stop knows of the other's failure only, and one that noticed that the other was gone
/// knows no reason.
fn tells(problem: &Problem) -> u8 {
    match &*problem.code {
        "peer_stopped" | "stopped" => 0,
        "peer_unreachable" | "peer_lost" => 1,
        _ => 2,
    }
}

/// The records of a hub, by transfer.
#[derive(Debug)]
pub(super) struct Records {
    journal: Journal,
    by_transfer: HashMap<Id, Record>,
}

impl Records {
    /// Reads the records in the folder.
    pub(super) fn open(folder: &Path) -> Result<Self, Problem> {
        let (journal, mut by_transfer) = Journal::open(folder)?;
        for record in by_transfer.values_mut() {
            // The wait for the second end begins anew.
            record.first_end = (!record.ends.is_empty()).then(Instant::now);
        }
        Ok(Self {
            journal,
            by_transfer,
        })
    }

    pub(super) fn get(&self, transfer: &Id) -> Option<&Record> {
        self.by_transfer.get(transfer)
    }

    /// Those that run, as far as the hub knows.
    pub(super) fn running(&self) -> impl Iterator<Item = &Record> {
        self.by_transfer.values().filter(|record| !record.over)
    }

    /// Those that ended and whose end the service may not have stored.
    pub(super) fn unstored(&self) -> impl Iterator<Item = &Record> {
        self.by_transfer.values().filter(|record| record.over)
    }

    /// Writes the record of a new attempt; gives that of the transfer's earlier one, whose place it takes. One that still
    /// runs is stopped by the nodes first.
    pub(super) fn begin(&mut self, record: Record) -> Result<Option<Record>, Problem> {
        if self
            .get(&record.transfer)
            .is_some_and(|known| !known.over && known.attempt >= record.attempt)
        {
            let message = format!("an attempt of transfer {} is running", record.transfer);
            return Err(Problem::new(ControlCode::AlreadyRunning, message));
        }
        if self.by_transfer.len() >= MAX_RECORDS && !self.by_transfer.contains_key(&record.transfer)
        {
            return Err(Problem::new(
                ControlCode::HubBusy,
                format!("{MAX_RECORDS} transfers are running, or ended and are not stored yet"),
            ));
        }
        self.save(&record)?;
        Ok(self.by_transfer.insert(record.transfer.clone(), record))
    }

    /// Takes back what [`Self::begin`] wrote, and puts the earlier record in its place again; gives what was taken back.
    pub(super) fn undo_begin(
        &mut self,
        id: &AttemptId,
        earlier: Option<Record>,
    ) -> Result<Option<Record>, Problem> {
        let begun = self.get(&id.transfer);
        let Some(begun) = begun.filter(|record| record.attempt == id.attempt).cloned() else {
            return Ok(None);
        };
        // One that ran was given up with the start of the later one; the nodes are told to stop what runs.
        match earlier.filter(|earlier| earlier.over) {
            Some(earlier) => {
                self.save(&earlier)?;
                self.by_transfer.insert(id.transfer.clone(), earlier);
            }
            None => self.remove(&id.transfer),
        }
        Ok(Some(begun))
    }

    /// Notes in memory why a running attempt is to stop; [`Records::keep`] writes it. The latest reason counts.
    pub(super) fn ask_stop(&mut self, transfer: &Id, reason: String) -> Option<Record> {
        let record = self.by_transfer.get_mut(transfer)?;
        if record.over {
            return None;
        }
        record.stop = Some(reason);
        Some(record.clone())
    }

    /// Notes in memory the renewed ticket of the attempt that runs; [`Records::keep`] writes it.
    pub(super) fn note_renewal(
        &mut self,
        id: &AttemptId,
        plan: Digest,
        ticket: String,
        expires: Timestamp,
    ) -> Result<Record, Problem> {
        let running = self.by_transfer.get_mut(&id.transfer);
        let record = running
            .filter(|record| !record.over)
            .ok_or_else(|| unknown(&id.transfer))?;
        if record.attempt != id.attempt || record.plan_digest != plan {
            return Err(Problem::new(
                ControlCode::TicketNoRenewal,
                "the ticket is of another attempt than the one that runs",
            ));
        }
        record.ticket = ticket;
        record.expires = record.expires.max(expires);
        Ok(record.clone())
    }

    /// Writes a record as it is now.
    pub(super) fn keep(&mut self, transfer: &Id) -> Result<(), Problem> {
        let record = self.get(transfer).cloned();
        record.map_or(Ok(()), |record| self.save(&record))
    }

    /// Changes a record, durably. `None` when there is no such transfer.
    pub(super) fn change<T>(
        &mut self,
        transfer: &Id,
        change: impl FnOnce(&mut Record) -> T,
    ) -> Result<Option<T>, Problem> {
        let Some(known) = self.by_transfer.get(transfer) else {
            return Ok(None);
        };
        let mut record = known.clone();
        let result = change(&mut record);
        self.save(&record)?;
        self.by_transfer.insert(transfer.clone(), record);
        Ok(Some(result))
    }

    /// Forgets a transfer. Not waited for on disk: when the hub ends before [`Records::write_removed`], its end is told once
    /// more, and storing it twice changes nothing.
    pub(super) fn remove(&mut self, transfer: &Id) {
        if self.by_transfer.remove(transfer).is_some() {
            self.journal.note_removed(transfer.clone());
        }
    }

    /// Writes what was forgotten.
    pub(super) fn write_removed(&mut self) -> Result<(), Problem> {
        if self.journal.lags() {
            self.journal.append(None)?;
        }
        Ok(())
    }

    fn save(&mut self, record: &Record) -> Result<(), Problem> {
        if self.journal.is_long()
            && let Err(problem) = self.journal.rewrite(self.by_transfer.values())
        {
            tracing::warn!("the journal of attempts grows, as it can't be written anew: {problem}");
        }
        self.journal.append(Some(record))
    }
}

pub(super) fn unknown(transfer: &Id) -> Problem {
    Problem::new(
        ControlCode::AttemptUnknown,
        format!("no attempt of transfer {transfer} is known here"),
    )
}

#[cfg(test)]
mod tests {
    use super::super::results::tests::record;
    use super::*;

    fn failed(part: Part, code: &'static str) -> End {
        let problem = Problem {
            code: code.into(),
            message: format!("as `{code}` says"),
            retryable: true,
        };
        End::lost(part, problem)
    }

    /// What is told of an attempt that failed so at its destination and at its source, and whether at the source.
    fn told(destination: &'static str, source: &'static str, stop: Option<&str>) -> (String, bool) {
        let mut record = record();
        record.stop = stop.map(str::to_owned);
        record.take_end(failed(Part::Source, source));
        record.take_end(failed(Part::Destination, destination));
        let result = record.result();
        let code = result.problem.expect("a problem").code.into_owned();
        (code, result.node == Some(record.source))
    }

    #[test]
    fn of_two_failures_the_one_that_knows_a_reason_is_told_and_a_stop_last() {
        let at = |code: &str, source: bool| (code.to_owned(), source);
        for (destination, source, expected) in [
            ("stopped", "peer_unreachable", at("peer_unreachable", true)),
            ("peer_unreachable", "stopped", at("peer_unreachable", false)),
            (
                "peer_unreachable",
                "source_unreadable",
                at("source_unreadable", true),
            ),
            ("no_space", "source_unreadable", at("no_space", false)),
            (
                "peer_unreachable",
                "peer_lost",
                at("peer_unreachable", false),
            ),
        ] {
            assert_eq!(told(destination, source, None), expected);
        }
        let asked = Some("somebody paused it");
        assert_eq!(
            told("stopped", "peer_unreachable", asked),
            at("stopped", false)
        );
    }

    #[test]
    fn a_node_is_told_which_other_node_failed_and_by_which_code() {
        let mut record = record();
        assert_eq!(record.why_stop(), None);
        record.take_end(failed(Part::Source, "source_unreadable"));
        let said = format!("node {} failed: source_unreadable", record.source);
        assert_eq!(record.why_stop(), Some(said));
    }
}
