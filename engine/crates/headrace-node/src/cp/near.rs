//! The program that a person runs: survey, plan, ticket, attempt, and what came of it.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use headrace_core::text::byte_size;
use headrace_core::ticket::Execution;
use headrace_core::value::{Digest, Id};
use headrace_core::wishes::Wishes;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::Instant as Moment;

use super::job::{Job, Plan, Planned};
use super::meet::{Ends, meet};
use super::outcome::{Copied, destination_word, read_failed, write_receipt};
use super::show::{list, names, note, progress, so_far};
use super::{Copying, sign};
use crate::convert::{AttemptId, Outcome};
use crate::hub::{AttemptEnded, HubEvent, Surveyed};
use crate::problem::{ControlCode, Problem};

/// How often a ticket is renewed; it is good for 15 minutes.
const RENEW_INTERVAL: Duration = Duration::from_mins(5);
/// How long the nodes may take to stop.
const STOP_TIMEOUT: Duration = Duration::from_secs(15);
/// How far a source may have grown since it was surveyed: a twentieth.
const GROWTH: u64 = 20;
/// What makes an earlier plan useless: a new one is made then.
const OUTDATED: [&str; 4] = [
    "ceiling_exceeded",
    "destination_changed",
    "source_missing",
    "ticket_foreign",
];

/// Copies, or goes on with what an earlier command began; ends early when `stop` becomes true.
///
/// # Errors
/// Why nothing was copied, or not everything: what has arrived is kept, and the same call goes on from there.
pub(crate) async fn run(
    copying: &Copying,
    mut stop: watch::Receiver<bool>,
) -> Result<Copied, Problem> {
    let id = job_id(copying)?;
    let job = Job::open(copying.state.dir("cp")?.join(id.as_str())).await?;
    let interrupt = stop.clone();
    let met = tokio::select! {
        met = meet(copying, &job, &id) => met,
        () = stopped(&mut stop) => Err(interrupted()),
    };
    let copied = match met {
        Ok(mut ends) => {
            let work = Copier {
                copying,
                job: &job,
                ends: &mut ends,
                stop,
            };
            let copied = work.run().await;
            ends.close().await;
            copied
        }
        Err(problem) => Err(problem),
    };
    if !job.has_plan() {
        job.remove();
    }
    // The terminal interrupts ssh, too: its end is not the reason then.
    copied.map_err(|problem| {
        if *interrupt.borrow() {
            interrupted()
        } else {
            problem
        }
    })
}

struct Copier<'a> {
    copying: &'a Copying,
    job: &'a Job,
    ends: &'a mut Ends,
    stop: watch::Receiver<bool>,
}

impl Copier<'_> {
    async fn run(mut self) -> Result<Copied, Problem> {
        if let Some(mut plan) = self.earlier().await? {
            match self.attempt(&mut plan).await {
                Err(problem) if OUTDATED.contains(&&*problem.code) => {
                    note(&format!(
                        "the earlier plan does not fit any more ({problem}): making a new one"
                    ));
                    self.forget(&plan).await?;
                }
                result => return result,
            }
        }
        let mut stop = self.stop.clone();
        let mut plan = tokio::select! {
            plan = self.plan() => plan?,
            () = stopped(&mut stop) => return Err(interrupted()),
        };
        self.attempt(&mut plan).await
    }

    /// The plan of an earlier command, if it is of these very ends and under the same rules.
    async fn earlier(&mut self) -> Result<Option<Plan>, Problem> {
        let Some(plan) = self.job.plan(&self.copying.signer.key)? else {
            return Ok(None);
        };
        let Execution {
            max_files,
            max_bytes,
            max_entries,
            overwrites,
            ..
        } = plan.planned.execution.clone();
        let asked = Execution {
            max_files,
            max_bytes,
            max_entries,
            overwrites,
            ..self.draft()?
        };
        if plan.planned.execution == asked {
            return Ok(Some(plan));
        }
        self.forget(&plan).await?;
        Ok(None)
    }

    fn draft(&self) -> Result<Execution, Problem> {
        let (source, destination) = (self.ends.source.clone(), self.ends.destination.clone());
        sign::draft(source, destination, &self.copying.rules)
    }

    /// Lets the nodes remove what they kept under a plan that is of no use any more.
    async fn forget(&mut self, plan: &Plan) -> Result<(), Problem> {
        let mut nodes = vec![self.ends.destination.node, self.ends.source.node];
        nodes.dedup();
        let forgotten = self.ends.hub.forget(&plan.planned.transfer, &nodes).await;
        if let Err(problem) = forgotten {
            tracing::debug!(
                "what was kept of {} may stay: {problem}",
                plan.planned.transfer
            );
        }
        self.job.drop_plan()
    }

    /// Surveys both ends and seals what is to be done.
    async fn plan(&mut self) -> Result<Plan, Problem> {
        let Copying {
            source,
            destination,
            signer,
            ..
        } = self.copying;
        let mut execution = self.draft()?;
        let permits = (
            signer.permit(&execution.source)?,
            signer.permit(&execution.destination)?,
        );
        let lists = self.job.state.dir("lists")?;
        let surveyed = self
            .ends
            .hub
            .survey(&permits.0, &permits.1, &execution, &lists)
            .await?;
        self.check(&surveyed)?;
        let counts = &surveyed.survey.counts;
        execution.max_files = counts.files + counts.files / GROWTH;
        execution.max_bytes = counts.bytes.saturating_add(counts.bytes / GROWTH);
        // The folder itself is a name, too.
        execution.max_entries = 1 + counts.source_entries + counts.source_entries / GROWTH;
        execution.overwrites = surveyed.survey.overwrites;
        let planned = Planned {
            transfer: sign::id("tr")?,
            source: source.to_string(),
            destination: destination.to_string(),
            execution,
        };
        Plan::seal(planned, &signer.key)
    }

    /// Refuses what would replace anything that was not asked for, and says what will be replaced.
    fn check(&self, surveyed: &Surveyed) -> Result<(), Problem> {
        let destination = &self.copying.destination;
        let counts = &surveyed.survey.counts;
        if !self.copying.rules.overwrite && counts.conflicts > 0 {
            let message = format!(
                "{} at `{destination}` differ from the source and would have to be replaced: {}. Nothing was copied; \
                 `--overwrite` replaces them",
                names(counts.conflicts),
                list(&counts.conflicts_sample, counts.conflicts),
            );
            return Err(Problem::new(ControlCode::DestinationExists, message));
        }
        if counts.bytes > surveyed.destination_free_bytes {
            let message = format!(
                "`{destination}` has room for {}, {} are to be copied",
                byte_size(surveyed.destination_free_bytes),
                byte_size(counts.bytes),
            );
            return Err(Problem::new(ControlCode::NoSpace, message));
        }
        let replaced = surveyed.survey.overwrites.count;
        if replaced > 0 {
            let sample = list(&counts.overwrites_sample, replaced);
            note(&format!("{} will be replaced: {sample}", names(replaced)));
        }
        Ok(())
    }

    /// Runs the next attempt of a plan to its end.
    async fn attempt(&mut self, plan: &mut Plan) -> Result<Copied, Problem> {
        let resumed = plan.attempt > 0;
        plan.attempt += 1;
        self.job.keep(plan)?;
        let (lists, results) = (self.job.state.dir("lists")?, self.job.state.dir("results")?);
        let ticket = self.ticket(plan)?;
        let started = Instant::now();
        self.ends
            .hub
            .start_attempt(&ticket, (&lists, &results), "", Wishes::default())
            .await?;
        let ended = self.follow(plan).await?;
        let seconds = started.elapsed().as_secs_f64();
        match ended.outcome {
            Outcome::Complete | Outcome::Partial => {}
            Outcome::Stopped if *self.stop.borrow() => return Err(interrupted()),
            Outcome::Failed | Outcome::Stopped => return Err(early(ended.problem)),
        }
        let statement = destination_word(plan, &ended)?;
        write_receipt(self.copying, plan, &ended)?;
        if ended.outcome == Outcome::Complete {
            self.forget(plan).await?;
        }
        Ok(Copied {
            transfer: plan.planned.transfer.clone(),
            attempt: plan.attempt,
            statement,
            seconds,
            way: self.ends.way,
            resumed,
            failed: read_failed(ended.failed_list.as_deref())?,
        })
    }

    fn ticket(&self, plan: &Plan) -> Result<String, Problem> {
        self.copying
            .signer
            .ticket(plan, self.copying.rate_ceiling_bps)
    }

    /// Shows how far it is and renews its ticket until the attempt is over.
    async fn follow(&mut self, plan: &Plan) -> Result<AttemptEnded, Problem> {
        let transfer = plan.planned.transfer.clone();
        let mine = AttemptId {
            transfer,
            attempt: plan.attempt,
        };
        let mut renewal = tokio::time::interval_at(Moment::now() + RENEW_INTERVAL, RENEW_INTERVAL);
        let mut stopping = None;
        let ended = loop {
            let deadline = stopping.unwrap_or_else(|| Moment::now() + RENEW_INTERVAL);
            tokio::select! {
                event = self.ends.hub.next_event() => match event {
                    Some(HubEvent::Progress(id, counts)) if id == mine => progress(&so_far(&counts)),
                    Some(HubEvent::Ended(ended)) if ended.id == mine => break Ok(ended),
                    Some(HubEvent::NodeDetached { reason, .. }) => break Err(kept(self.ends.lost(&reason).await)),
                    Some(_) => {}
                    None => break Err(Problem::new(ControlCode::HubClosed, "the hub ended")),
                },
                () = stopped(&mut self.stop), if stopping.is_none() => {
                    stopping = Some(Moment::now() + STOP_TIMEOUT);
                    self.ends.hub.stop_attempt(&mine.transfer, "interrupted").await?;
                }
                _ = renewal.tick(), if stopping.is_none() => {
                    let ticket = self.ticket(plan)?;
                    self.ends.hub.renew(&ticket).await?;
                }
                () = tokio::time::sleep_until(deadline), if stopping.is_some() => break Err(interrupted()),
            }
        };
        progress("");
        ended
    }
}

/// The same places are the same copy.
fn job_id(copying: &Copying) -> Result<Id, Problem> {
    let Copying {
        source,
        destination,
        signer,
        pin,
        ..
    } = copying;
    let places = (source.to_string(), destination.to_string());
    let identity = json!([signer.key.public(), places, pin]).to_string();
    let digest = Digest::of(identity.as_bytes()).to_string();
    let id = format!("cp_{}", &digest[..32]).parse();
    id.map_err(|_| Problem::new(ControlCode::Internal, "an id"))
}

async fn stopped(stop: &mut watch::Receiver<bool>) {
    if stop.wait_for(|stop| *stop).await.is_err() {
        // Nobody is there to stop us.
        std::future::pending::<()>().await;
    }
}

fn interrupted() -> Problem {
    let message = "interrupted: what has arrived is kept, and the same command goes on from there";
    Problem::new(ControlCode::Stopped, message)
}

/// An attempt that ended by itself before everything was done.
fn early(problem: Option<Problem>) -> Problem {
    kept(problem.unwrap_or_else(|| {
        Problem::new(ControlCode::Internal, "the attempt ended without a reason")
    }))
}

fn kept(mut problem: Problem) -> Problem {
    let _ = write!(
        problem.message,
        ". What has arrived is kept: the same command goes on from there"
    );
    problem
}
