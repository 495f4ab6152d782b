//! Takes in the end of an attempt: statements, and the lists that go with them.

use std::fs;
use std::path::{Path, PathBuf};

use headrace_core::list::MAX_LINE_BYTES;
use headrace_core::sealed::PublicKey;
use headrace_core::statement::{Achieved, Role, Statement};
use headrace_core::ticket::{Execution, Part, Shard};
use sha2::{Digest as _, Sha256};
use tokio::fs::File;
use tokio::io::{AsyncWriteExt as _, BufWriter};
use tokio::time::timeout;
use tonic::Streaming;

use super::link::CALL_TIMEOUT;
use super::records::{End, Record, claims};
use crate::blocking::blocking;
use crate::convert::{Outcome, counts_in, outcome_in, violation};
use crate::problem::{ControlCode, Problem};
use crate::proto::{Ended, FinishPart, finish_part};
use crate::state;

/// Names of the lists in the folder of results.
pub(super) const FILES: &str = "files.jsonl";
pub(super) const FAILED: &str = "failed.jsonl";
/// Largest list that is taken in: tens of millions of lines.
const MAX_LIST_BYTES: u64 = 16 << 30;

/// Takes in what follows the first message of a `Finish` call and gives the end as it is to be recorded. A statement
/// or list that does not fit, or a list longer than one of the plan can be, makes it a failed end with `result_mismatch`.
///
/// # Errors
/// When the connection breaks or the folder of results can't be written: the node tries again.
pub(super) async fn receive(
    record: &Record,
    node: PublicKey,
    part: Part,
    ended: Ended,
    stream: &mut Streaming<FinishPart>,
) -> Result<End, Problem> {
    let outcome = outcome_in(ended.outcome)?;
    let problem = ended.problem.map(Problem::from);
    let mismatch = |detail: String| {
        let message = format!("node {node} reported an end that can't be: {detail}");
        Ok(End::lost(
            part,
            Problem::new(ControlCode::ResultMismatch, message),
        ))
    };
    let ticket = claims(&record.ticket)?;
    let said = (part, outcome, &ended.statements[..]);
    let statements = match check_statements(record, ticket.shard, node, said) {
        Ok(statements) => statements,
        Err(detail) => return mismatch(detail),
    };
    let longest = longest_list(&ticket.execution);
    let mut lists = Lists::new(&record.result_dir, longest);
    while let Some(next) = timeout(CALL_TIMEOUT, stream.message())
        .await
        .map_err(|_| slow(node))??
    {
        match next.part {
            Some(finish_part::Part::Files(bytes)) => lists.files.write(&bytes).await?,
            Some(finish_part::Part::Failed(bytes)) => lists.failed.write(&bytes).await?,
            _ => return Err(violation("a second end")),
        }
        if lists.are_too_long() {
            // It would come as long again, so this is the end.
            lists.discard().await?;
            return mismatch(format!(
                "a list is longer than the {longest} bytes that one of its plan can have"
            ));
        }
    }
    // The destination's lists count; the source has none.
    let word = statements
        .iter()
        .find(|statement| statement.role == Role::Destination);
    let digest = lists.files.digest();
    if word.is_some_and(|word| word.list_digest.0 != digest) {
        return mismatch("its list of files is not the one in its statement".to_owned());
    }
    let keep = word.is_some();
    let (files_list, failed_list) = lists.finish(keep).await?;
    Ok(End {
        part,
        outcome,
        problem: problem.map(Into::into),
        statements: ended.statements,
        files_list,
        failed_list,
        progress: ended.progress.map(counts_in),
    })
}

/// Checks who speaks, and of what. The error says what does not fit.
fn check_statements(
    record: &Record,
    shard: Shard,
    node: PublicKey,
    (part, outcome, texts): (Part, Outcome, &[String]),
) -> Result<Vec<Statement>, String> {
    let achieved = match outcome {
        Outcome::Complete => Achieved::Complete,
        Outcome::Partial => Achieved::Partial,
        Outcome::Failed | Outcome::Stopped if texts.is_empty() => return Ok(Vec::new()),
        Outcome::Failed | Outcome::Stopped => {
            return Err("it states what it did not finish".to_owned());
        }
    };
    let roles: &[Role] = match part {
        Part::Source => &[Role::Source],
        Part::Destination => &[Role::Destination],
        Part::Both => &[Role::Destination, Role::Source],
    };
    if texts.len() != roles.len() {
        return Err("a statement is missing".to_owned());
    }
    let check = |(text, role): (&String, &Role)| {
        let statement = Statement::verify(text, node).map_err(|error| error.to_string())?;
        let Statement {
            transfer,
            attempt,
            plan_digest,
            ..
        } = &statement;
        let same = (transfer, *attempt, *plan_digest, statement.shard)
            == (&record.transfer, record.attempt, record.plan_digest, shard);
        if !same
            || statement.role != *role
            || (*role == Role::Destination && statement.outcome != achieved)
        {
            return Err("its statement is of something else".to_owned());
        }
        Ok(statement)
    };
    texts.iter().zip(roles).map(check).collect()
}

struct Lists {
    files: ListFile,
    failed: ListFile,
}

impl Lists {
    fn new(folder: &Path, max_bytes: u64) -> Self {
        Self {
            files: ListFile::new(folder.join(FILES), max_bytes),
            failed: ListFile::new(folder.join(FAILED), max_bytes),
        }
    }

    fn are_too_long(&self) -> bool {
        [&self.files, &self.failed]
            .iter()
            .any(|list| list.bytes > list.max_bytes)
    }

    async fn discard(self) -> Result<(), Problem> {
        self.finish(false).await.map(|_| ())
    }

    /// Gives the lists their names, or removes them; says which are there. A list of failed files without lines is not.
    async fn finish(self, keep: bool) -> Result<(bool, bool), Problem> {
        let Self { files, failed } = self;
        let named = files.path.clone();
        let (files, failed) = (files.written(keep).await?, failed.written(keep).await?);
        // In one go, as a list is most often short: each change of threads would take as long as what is done in it.
        blocking(move || {
            let there = (
                files.finish(keep)?,
                failed.file.is_some() && failed.finish(keep)?,
            );
            if keep {
                // The node may forget its copy once this is answered: the names have to outlive a power loss.
                state::sync_parent(&named)
                    .map_err(|error| Problem::state("write", &named, &error))?;
            }
            Ok(there)
        })
        .await?
    }
}

/// The most bytes that a list of an attempt under this ticket can have: a longest line for each name that may come and each that is
/// deleted.
fn longest_list(execution: &Execution) -> u64 {
    let Execution {
        max_entries,
        deletes,
        ..
    } = execution;
    max_entries
        .saturating_add(deletes.count)
        .saturating_mul(MAX_LINE_BYTES as u64)
        .min(MAX_LIST_BYTES)
}

/// A list that is made under another name until it is whole.
struct ListFile {
    path: PathBuf,
    file: Option<BufWriter<File>>,
    hash: Sha256,
    bytes: u64,
    max_bytes: u64,
}

impl ListFile {
    fn new(path: PathBuf, max_bytes: u64) -> Self {
        Self {
            path,
            file: None,
            hash: Sha256::new(),
            bytes: 0,
            max_bytes,
        }
    }

    async fn write(&mut self, bytes: &[u8]) -> Result<(), Problem> {
        self.bytes += bytes.len() as u64;
        if self.bytes > self.max_bytes {
            return Ok(());
        }
        self.hash.update(bytes);
        let written = async {
            if self.file.is_none() {
                self.file = Some(BufWriter::new(
                    File::create(self.path.with_extension("part")).await?,
                ));
            }
            match &mut self.file {
                Some(file) => file.write_all(bytes).await,
                None => Ok(()),
            }
        };
        written
            .await
            .map_err(|error| Problem::state("write", &self.path, &error))
    }

    fn digest(&self) -> [u8; 32] {
        self.hash.clone().finalize().into()
    }

    /// The list as it is on its way to the disk; of one that is thrown away the rest is not written.
    async fn written(self, keep: bool) -> Result<Written, Problem> {
        let Self { path, file, .. } = self;
        let written = async {
            let Some(mut file) = file else {
                return Ok(None);
            };
            if keep {
                file.flush().await?;
            }
            Ok(Some(file.into_inner().into_std().await))
        };
        let file = written
            .await
            .map_err(|error| Problem::state("write", &path, &error))?;
        Ok(Written { path, file })
    }
}

/// A list that came whole and has no name yet.
struct Written {
    path: PathBuf,
    /// A list without lines was never written to.
    file: Option<std::fs::File>,
}

impl Written {
    /// Gives the list its name, or removes it; says whether it is there.
    fn finish(self, keep: bool) -> Result<bool, Problem> {
        let Self { path, file } = self;
        let part = path.with_extension("part");
        let finished = || {
            if !keep {
                if file.is_some() {
                    fs::remove_file(&part)?;
                }
                return Ok(false);
            }
            match file {
                Some(file) => file.sync_all()?,
                None => drop(fs::File::create(&part)?),
            }
            fs::rename(&part, &path)?;
            Ok(true)
        };
        finished().map_err(|error| Problem::state("write", &path, &error))
    }
}

fn slow(node: PublicKey) -> Problem {
    let message = format!(
        "node {node} sent nothing of its results for {} s",
        CALL_TIMEOUT.as_secs()
    );
    Problem::new(ControlCode::NodeTimeout, message)
}

#[cfg(test)]
pub(super) mod tests {
    use headrace_core::sealed::SigningKey;
    use headrace_core::ticket::Verify;
    use headrace_core::value::{Digest, Timestamp};

    use super::*;

    fn node(seed: u8) -> SigningKey {
        SigningKey::from_seed(&[seed; 32])
    }

    pub(in crate::hub) fn record() -> Record {
        Record {
            transfer: "tr_1".parse().expect("an id"),
            attempt: 2,
            ticket: String::new(),
            plan_digest: Digest([9; 32]),
            source: node(1).public(),
            destination: node(2).public(),
            expires: Timestamp::from(std::time::SystemTime::UNIX_EPOCH),
            lists_dir: "lists".into(),
            result_dir: "results".into(),
            ends: vec![],
            stop: None,
            over: false,
            first_end: None,
        }
    }

    /// The word of node 2, as it has to be.
    fn word() -> Statement {
        let moment = Timestamp::from(std::time::SystemTime::UNIX_EPOCH);
        Statement {
            role: Role::Destination,
            node: node(2).public(),
            plan_digest: Digest([9; 32]),
            transfer: "tr_1".parse().expect("an id"),
            attempt: 2,
            shard: Shard::WHOLE,
            outcome: Achieved::Complete,
            files: 1,
            bytes: 5,
            identical: 0,
            failed: 0,
            deleted: 0,
            resent_bytes: 0,
            list_digest: Digest([1; 32]),
            root: Digest([2; 32]),
            verified: Verify::InTransit,
            encrypted: false,
            cipher: "".parse().expect("a label"),
            started: moment,
            ended: moment,
            changed: vec![],
            sources_kept: None,
            trash: None,
        }
    }

    fn checked(statement: &Statement, signer: u8) -> Result<(), String> {
        let text = statement.seal(&node(signer)).expect("small").text();
        let complete = Outcome::Complete;
        let me = node(2).public();
        let said = (Part::Destination, complete, &[text][..]);
        check_statements(&record(), Shard::WHOLE, me, said).map(drop)
    }

    #[tokio::test]
    async fn a_list_longer_than_one_of_its_plan_can_be_is_neither_kept_nor_taken_to_its_end() {
        let folder = tempfile::tempdir().expect("a folder");
        let mut lists = Lists::new(folder.path(), 10);
        lists.failed.write(b"0123456789").await.expect("written");
        assert!(!lists.are_too_long());
        for _ in 0..2 {
            lists
                .failed
                .write("x".repeat(1 << 16).as_bytes())
                .await
                .expect("left out");
            assert!(lists.are_too_long());
        }
        let file = lists.failed.file.as_mut().expect("a file");
        file.flush().await.expect("flushed");
        let part = folder.path().join(FAILED).with_extension("part");
        assert_eq!(std::fs::read(&part).expect("readable"), b"0123456789");
        lists.discard().await.expect("removed");
        assert!(!part.exists());
    }

    #[test]
    fn how_long_a_list_may_be_follows_from_the_names_and_deletes_of_the_plan() {
        let mut execution = crate::session::tests_support::execution();
        (execution.max_entries, execution.deletes.count) = (3, 2);
        assert_eq!(longest_list(&execution), 5 * MAX_LINE_BYTES as u64);
        execution.max_entries = u64::MAX;
        assert_eq!(longest_list(&execution), MAX_LIST_BYTES);
    }

    #[test]
    fn a_statement_of_anything_else_is_no_end_of_this_attempt() {
        assert_eq!(checked(&word(), 2), Ok(()));
        let changes: [fn(&mut Statement); 6] = [
            |word| word.shard.fence += 1,
            |word| word.transfer = "tr_2".parse().expect("an id"),
            |word| word.attempt = 1,
            |word| word.plan_digest = Digest([8; 32]),
            |word| word.role = Role::Source,
            |word| word.outcome = Achieved::Partial,
        ];
        for change in changes {
            let mut foreign = word();
            change(&mut foreign);
            let said = checked(&foreign, 2).expect_err("refused");
            assert_eq!(said, "its statement is of something else");
        }
    }

    #[test]
    fn a_statement_that_another_node_signed_or_speaks_in_is_refused() {
        assert!(checked(&word(), 1).is_err());
        let mut foreign = word();
        foreign.node = node(1).public();
        assert!(checked(&foreign, 2).is_err());
    }

    #[test]
    fn an_end_without_its_statement_or_with_one_too_many_is_refused() {
        let text = word().seal(&node(2)).expect("small").text();
        let check = |outcome, texts: &[String]| {
            let said = (Part::Destination, outcome, texts);
            check_statements(&record(), Shard::WHOLE, node(2).public(), said)
        };
        assert!(check(Outcome::Complete, &[]).is_err());
        assert!(check(Outcome::Complete, &[text.clone(), text.clone()]).is_err());
        assert!(check(Outcome::Stopped, &[text]).is_err());
        assert!(check(Outcome::Stopped, &[]).is_ok());
    }

    #[test]
    fn the_last_end_and_that_the_attempt_is_over_are_one_change() {
        let end = |part| End::lost(part, Problem::new(ControlCode::NodeRestarted, ""));
        let mut two = record();
        two.take_end(end(Part::Source));
        assert!(!two.over);
        two.take_end(end(Part::Destination));
        assert!(two.over);
        let mut one = record();
        one.take_end(end(Part::Both));
        assert!(one.over);
    }
}
