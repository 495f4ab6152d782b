//! Between messages of the control protocol and the types of the core; what comes in is checked here.

use headrace_core::access::Access;
use headrace_core::entry::{Entry, Kind};
use headrace_core::message::MAX_STREAMS;
use headrace_core::name::RelPath;
use headrace_core::statement::MAX_COUNT;
use headrace_core::value::Id;
use headrace_core::version::Version;
use headrace_core::wishes::Wishes;
use headrace_io::flow::Flow;
use headrace_io::socket_memory::{Limits, Rises, SocketMemory};

use crate::problem::{ControlCode, Problem};
use crate::proto;
use crate::session::{Side, StageTimes};

/// An attempt of a transfer.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AttemptId {
    /// `tr_…`.
    pub transfer: Id,
    /// From 1, rising.
    pub attempt: u64,
}

/// A root as its node declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootInfo {
    /// Its name.
    pub name: String,
    /// What may be done there at most.
    pub access: Access,
    /// Bytes that may still be written.
    pub free_bytes: u64,
    /// Size of its file system.
    pub total_bytes: u64,
}

/// What is free below a root, as its node measured it last.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RootSpace {
    /// Its name.
    pub name: String,
    /// Bytes that may still be written.
    pub free_bytes: u64,
    /// Size of its file system.
    pub total_bytes: u64,
}

/// A root that its node declares and can't open now.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRoot {
    /// Its name.
    pub name: String,
    /// Why, for people.
    pub reason: String,
}

/// How far an attempt has come.
#[derive(Debug, Clone, PartialEq, Eq, Default, serde::Serialize, serde::Deserialize)]
#[allow(
    missing_docs,
    reason = "the names say it; the Python stub documents them"
)]
pub struct ProgressCounts {
    pub files_total: u64,
    pub files_done: u64,
    pub files_failed: u64,
    pub bytes_total: u64,
    pub bytes_received: u64,
    pub bytes_durable: u64,
    pub resent_bytes: u64,
    pub rate_bps: u64,
    pub streams: u32,
    pub limiter: String,
    /// Of the durable bytes, those of files that are whole: what stays when no attempt follows. Nodes before this do not say.
    #[serde(default)]
    pub bytes_whole: Option<u64>,
    /// Whether the totals are whole; nodes before this do not say.
    #[serde(default)]
    pub listed: Option<bool>,
    /// What the node knows that counted this.
    #[serde(default)]
    pub own: Side,
    /// What the source knows; added by the hub, which hears of both.
    #[serde(default)]
    pub source: Side,
}

/// How an attempt ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Every file arrived.
    Complete,
    /// Some files did not arrive; the failed list names them.
    Partial,
    /// The attempt as a whole failed.
    Failed,
    /// It was stopped on request.
    Stopped,
}

impl Outcome {
    /// The word used in events.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Complete => "complete",
            Self::Partial => "partial",
            Self::Failed => "failed",
            Self::Stopped => "stopped",
        }
    }
}

pub(crate) fn violation(detail: impl std::fmt::Display) -> Problem {
    Problem::new(
        ControlCode::ProtocolViolation,
        format!("a message can't be understood: {detail}"),
    )
}

/// Read what was set for an attempt; what is out of its limits is a violation.
pub(crate) fn wishes_in(told: Option<proto::Tuning>) -> Result<Wishes, Problem> {
    let told = told.unwrap_or_default();
    Wishes::new(told.streams, told.unit_bytes).map_err(violation)
}

pub(crate) fn tuning_out(wishes: Wishes) -> proto::Tuning {
    proto::Tuning {
        streams: wishes.streams().map(u32::from),
        unit_bytes: wishes.unit_bytes(),
    }
}

pub(crate) fn path_in(bytes: &[u8]) -> Result<RelPath, Problem> {
    RelPath::from_bytes(bytes).map_err(violation)
}

pub(crate) fn kind_in(kind: i32) -> Result<Option<Kind>, Problem> {
    Ok(match proto::Kind::try_from(kind).map_err(violation)? {
        proto::Kind::Unspecified => None,
        proto::Kind::File => Some(Kind::File),
        proto::Kind::Dir => Some(Kind::Dir),
        proto::Kind::Symlink => Some(Kind::Symlink),
        proto::Kind::Other => Some(Kind::Other),
    })
}

pub(crate) fn kind_out(kind: Option<Kind>) -> i32 {
    i32::from(match kind {
        None => proto::Kind::Unspecified,
        Some(Kind::File) => proto::Kind::File,
        Some(Kind::Dir) => proto::Kind::Dir,
        Some(Kind::Symlink) => proto::Kind::Symlink,
        Some(Kind::Other) => proto::Kind::Other,
    })
}

/// An entry as the control plane tells it: its mode stays on the node.
pub(crate) fn entry_in(entry: proto::Entry) -> Result<Entry, Problem> {
    const MAX_TARGET_BYTES: usize = 4096;
    let kind = kind_in(entry.kind)?.ok_or_else(|| violation("an entry without a kind"))?;
    if entry.mtime_ns >= 1_000_000_000 || entry.target.len() > MAX_TARGET_BYTES {
        return Err(violation("an entry outside its limits"));
    }
    Ok(Entry {
        path: path_in(&entry.path)?,
        kind,
        size: entry.size,
        mtime_ns: i128::from(entry.mtime_s) * 1_000_000_000 + i128::from(entry.mtime_ns),
        version: Version::new(&entry.version)
            .ok_or_else(|| violation("a version that is too long"))?,
        mode: 0,
        target: (kind == Kind::Symlink).then(|| entry.target.into()),
    })
}

pub(crate) fn entry_out(entry: &Entry) -> proto::Entry {
    const NS: i128 = 1_000_000_000;
    let seconds = entry.mtime_ns.div_euclid(NS);
    proto::Entry {
        path: entry.path.as_bytes().to_vec(),
        kind: kind_out(Some(entry.kind)),
        size: entry.size,
        mtime_s: i64::try_from(seconds).unwrap_or(if seconds < 0 { i64::MIN } else { i64::MAX }),
        mtime_ns: u32::try_from(entry.mtime_ns.rem_euclid(NS)).unwrap_or(0),
        target: entry.target.as_deref().unwrap_or_default().to_vec(),
        version: entry.version.as_bytes().to_vec(),
    }
}

pub(crate) fn attempt_in(attempt: Option<proto::Attempt>) -> Result<AttemptId, Problem> {
    let attempt = attempt.ok_or_else(|| violation("an attempt is missing"))?;
    let transfer = attempt.transfer.parse().map_err(violation)?;
    Ok(AttemptId {
        transfer,
        attempt: attempt.attempt,
    })
}

impl From<&AttemptId> for proto::Attempt {
    fn from(id: &AttemptId) -> Self {
        Self {
            transfer: id.transfer.to_string(),
            attempt: id.attempt,
        }
    }
}

pub(crate) fn roots_in(roots: Vec<proto::Root>) -> Result<Vec<RootInfo>, Problem> {
    if roots.len() > proto::MAX_ROOTS {
        return Err(violation("too many roots"));
    }
    let root_in = |root: proto::Root| {
        let access = match proto::Access::try_from(root.access).map_err(violation)? {
            proto::Access::Unspecified => return Err(violation("a root without access")),
            proto::Access::Read => Access::Read,
            proto::Access::Write => Access::Write,
            proto::Access::Delete => Access::Delete,
        };
        let name = short_text(root.name)?;
        Ok(RootInfo {
            name,
            access,
            free_bytes: root.free_bytes,
            total_bytes: root.total_bytes,
        })
    };
    roots.into_iter().map(root_in).collect()
}

pub(crate) fn spaces_in(spaces: proto::Spaces) -> Result<Vec<RootSpace>, Problem> {
    if spaces.roots.len() > proto::MAX_ROOTS {
        return Err(violation("too many roots"));
    }
    let space_in = |space: proto::Space| {
        Ok(RootSpace {
            name: short_text(space.name)?,
            free_bytes: space.free_bytes.min(MAX_COUNT),
            total_bytes: space.total_bytes.min(MAX_COUNT),
        })
    };
    spaces.roots.into_iter().map(space_in).collect()
}

pub(crate) fn spaces_out(spaces: Vec<RootSpace>) -> proto::Spaces {
    let space_out = |space: RootSpace| proto::Space {
        name: space.name,
        free_bytes: space.free_bytes,
        total_bytes: space.total_bytes,
    };
    proto::Spaces {
        roots: spaces.into_iter().map(space_out).collect(),
    }
}

pub(crate) fn missing_in(missing: Vec<proto::MissingRoot>) -> Result<Vec<MissingRoot>, Problem> {
    if missing.len() > proto::MAX_ROOTS {
        return Err(violation("too many roots"));
    }
    let missing_in = |root: proto::MissingRoot| {
        Ok(MissingRoot {
            name: short_text(root.name)?,
            reason: short_text(root.reason)?,
        })
    };
    missing.into_iter().map(missing_in).collect()
}

pub(crate) fn missing_out(root: MissingRoot) -> proto::MissingRoot {
    let shown = |c: char| if c.is_control() { ' ' } else { c };
    let mut reason: String = root.reason.chars().map(shown).collect();
    reason.truncate(reason.floor_char_boundary(MAX_SHORT_BYTES));
    proto::MissingRoot {
        name: root.name,
        reason,
    }
}

pub(crate) fn root_out(root: &RootInfo) -> proto::Root {
    let access = match root.access {
        Access::Read => proto::Access::Read,
        Access::Write => proto::Access::Write,
        Access::Delete => proto::Access::Delete,
    };
    proto::Root {
        name: root.name.clone(),
        access: access.into(),
        free_bytes: root.free_bytes,
        total_bytes: root.total_bytes,
    }
}

const MAX_SHORT_BYTES: usize = 256;
const TCP_MEM_FIGURES: usize = 3;

/// A name, version or address: at most 256 bytes without control characters.
pub(crate) fn short_text(text: String) -> Result<String, Problem> {
    if text.len() > MAX_SHORT_BYTES || text.chars().any(char::is_control) {
        return Err(violation("a text outside its limits"));
    }
    Ok(text)
}

pub(crate) fn progress_in(
    progress: proto::Progress,
) -> Result<(AttemptId, ProgressCounts), Problem> {
    let id = attempt_in(progress.attempt.clone())?;
    Ok((id, counts_in(progress)))
}

/// Counts as they can be kept: a node may say anything.
pub(crate) fn counts_in(progress: proto::Progress) -> ProgressCounts {
    ProgressCounts {
        files_total: progress.files_total.min(MAX_COUNT),
        files_done: progress.files_done.min(MAX_COUNT),
        files_failed: progress.files_failed.min(MAX_COUNT),
        bytes_total: progress.bytes_total.min(MAX_COUNT),
        bytes_received: progress.bytes_received.min(MAX_COUNT),
        bytes_durable: progress.bytes_durable.min(MAX_COUNT),
        bytes_whole: progress.bytes_whole.map(|bytes| bytes.min(MAX_COUNT)),
        resent_bytes: progress.resent_bytes.min(MAX_COUNT),
        rate_bps: progress.rate_bps.min(MAX_COUNT),
        streams: progress.streams,
        limiter: short_text(progress.limiter).unwrap_or_default(),
        listed: progress.listed,
        own: progress.own.map(side_in).unwrap_or_default(),
        source: Side::default(),
    }
}

fn side_in(side: proto::Side) -> Side {
    let mut flows = side.flows;
    flows.truncate(MAX_STREAMS.into());
    let stages = side.stages.unwrap_or_default();
    let kept = |count: u64| count.min(MAX_COUNT);
    Side {
        flows: flows.into_iter().map(flow_in).collect(),
        stages: StageTimes {
            read_us: kept(stages.read_us),
            hash_us: kept(stages.hash_us),
            send_us: kept(stages.send_us),
            receive_us: kept(stages.receive_us),
            verify_us: kept(stages.verify_us),
            write_us: kept(stages.write_us),
            commit_us: kept(stages.commit_us),
            ceiling_us: kept(stages.ceiling_us),
            share_us: kept(stages.share_us),
            delete_us: kept(stages.delete_us),
        },
        deleted: kept(side.deleted),
        looked_at: kept(side.looked_at),
        durable_steps: kept(side.durable_steps),
        socket_memory: side.socket_memory.map(socket_memory_in),
        device_written_bytes: side.device_written_bytes.map(kept),
    }
}

fn side_out(side: Side) -> proto::Side {
    let stages = side.stages;
    proto::Side {
        flows: side.flows.into_iter().map(flow_out).collect(),
        stages: Some(proto::StageTimes {
            read_us: stages.read_us,
            hash_us: stages.hash_us,
            send_us: stages.send_us,
            receive_us: stages.receive_us,
            verify_us: stages.verify_us,
            write_us: stages.write_us,
            commit_us: stages.commit_us,
            ceiling_us: stages.ceiling_us,
            share_us: stages.share_us,
            delete_us: stages.delete_us,
        }),
        deleted: side.deleted,
        looked_at: side.looked_at,
        durable_steps: side.durable_steps,
        socket_memory: side.socket_memory.map(socket_memory_out),
        device_written_bytes: side.device_written_bytes,
    }
}

fn socket_memory_in(told: proto::SocketMemory) -> SocketMemory {
    let kept = |count: Option<u64>| count.map(|count| count.min(MAX_COUNT));
    let mut tcp_mem_pages = told.tcp_mem_pages;
    if tcp_mem_pages.len() != TCP_MEM_FIGURES {
        tcp_mem_pages.clear();
    }
    for pages in &mut tcp_mem_pages {
        *pages = (*pages).min(MAX_COUNT);
    }
    SocketMemory {
        rises: Rises {
            prune_called: kept(told.prune_called),
            receive_pruned: kept(told.receive_pruned),
            early_pruned: kept(told.early_pruned),
            receive_collapsed: kept(told.receive_collapsed),
            receive_queue_drops: kept(told.receive_queue_drops),
            memory_pressures: kept(told.memory_pressures),
            aborts_on_memory: kept(told.aborts_on_memory),
            zero_window_drops: kept(told.zero_window_drops),
            backlog_drops: kept(told.backlog_drops),
        },
        limits: Limits {
            tcp_mem_pages,
            tcp_held_pages: kept(told.tcp_held_pages),
            page_bytes: kept(told.page_bytes),
            group_limit_bytes: kept(told.group_limit_bytes),
            group_held_bytes: kept(told.group_held_bytes),
            group_setting: short_text(told.group_setting).unwrap_or_default(),
        },
    }
}

fn socket_memory_out(told: SocketMemory) -> proto::SocketMemory {
    let SocketMemory { rises, limits } = told;
    proto::SocketMemory {
        prune_called: rises.prune_called,
        receive_pruned: rises.receive_pruned,
        early_pruned: rises.early_pruned,
        receive_collapsed: rises.receive_collapsed,
        receive_queue_drops: rises.receive_queue_drops,
        memory_pressures: rises.memory_pressures,
        aborts_on_memory: rises.aborts_on_memory,
        zero_window_drops: rises.zero_window_drops,
        backlog_drops: rises.backlog_drops,
        tcp_mem_pages: limits.tcp_mem_pages,
        tcp_held_pages: limits.tcp_held_pages,
        page_bytes: limits.page_bytes,
        group_limit_bytes: limits.group_limit_bytes,
        group_held_bytes: limits.group_held_bytes,
        group_setting: limits.group_setting,
    }
}

fn flow_in(flow: proto::Flow) -> Flow {
    let kept = |count: u64| count.min(MAX_COUNT);
    Flow {
        congestion_control: short_text(flow.congestion_control).unwrap_or_default(),
        stream: kept(flow.stream),
        age_us: kept(flow.age_us),
        rtt_us: kept(flow.rtt_us),
        min_rtt_us: kept(flow.min_rtt_us),
        receive_rtt_us: kept(flow.receive_rtt_us),
        cwnd_packets: kept(flow.cwnd_packets),
        mss_bytes: kept(flow.mss_bytes),
        delivery_rate_bps: kept(flow.delivery_rate_bps),
        pacing_rate_bps: kept(flow.pacing_rate_bps),
        sent_packets: kept(flow.sent_packets),
        retransmits: kept(flow.retransmits),
        reorderings: kept(flow.reorderings),
        busy_us: kept(flow.busy_us),
        rwnd_limited_us: kept(flow.rwnd_limited_us),
        sndbuf_limited_us: kept(flow.sndbuf_limited_us),
        app_limited_us: kept(flow.app_limited_us),
        unsent_bytes: kept(flow.unsent_bytes),
        send_window_bytes: kept(flow.send_window_bytes),
        receive_window_bytes: kept(flow.receive_window_bytes),
        acknowledged_bytes: kept(flow.acknowledged_bytes),
        received_bytes: kept(flow.received_bytes),
        cpu_us: kept(flow.cpu_us),
        cpu_wait_us: kept(flow.cpu_wait_us),
    }
}

fn flow_out(flow: Flow) -> proto::Flow {
    proto::Flow {
        congestion_control: flow.congestion_control,
        stream: flow.stream,
        age_us: flow.age_us,
        rtt_us: flow.rtt_us,
        min_rtt_us: flow.min_rtt_us,
        receive_rtt_us: flow.receive_rtt_us,
        cwnd_packets: flow.cwnd_packets,
        mss_bytes: flow.mss_bytes,
        delivery_rate_bps: flow.delivery_rate_bps,
        pacing_rate_bps: flow.pacing_rate_bps,
        sent_packets: flow.sent_packets,
        retransmits: flow.retransmits,
        reorderings: flow.reorderings,
        busy_us: flow.busy_us,
        rwnd_limited_us: flow.rwnd_limited_us,
        sndbuf_limited_us: flow.sndbuf_limited_us,
        app_limited_us: flow.app_limited_us,
        unsent_bytes: flow.unsent_bytes,
        send_window_bytes: flow.send_window_bytes,
        receive_window_bytes: flow.receive_window_bytes,
        acknowledged_bytes: flow.acknowledged_bytes,
        received_bytes: flow.received_bytes,
        cpu_us: flow.cpu_us,
        cpu_wait_us: flow.cpu_wait_us,
    }
}

pub(crate) fn progress_out(id: &AttemptId, counts: ProgressCounts) -> proto::Progress {
    proto::Progress {
        attempt: Some(id.into()),
        files_total: counts.files_total,
        files_done: counts.files_done,
        files_failed: counts.files_failed,
        bytes_total: counts.bytes_total,
        bytes_received: counts.bytes_received,
        bytes_durable: counts.bytes_durable,
        bytes_whole: counts.bytes_whole,
        resent_bytes: counts.resent_bytes,
        rate_bps: counts.rate_bps,
        streams: counts.streams,
        limiter: counts.limiter,
        listed: counts.listed,
        own: Some(side_out(counts.own)),
    }
}

pub(crate) fn outcome_in(outcome: i32) -> Result<Outcome, Problem> {
    match proto::Outcome::try_from(outcome).map_err(violation)? {
        proto::Outcome::Unspecified => Err(violation("an end without an outcome")),
        proto::Outcome::Complete => Ok(Outcome::Complete),
        proto::Outcome::Partial => Ok(Outcome::Partial),
        proto::Outcome::Failed => Ok(Outcome::Failed),
        proto::Outcome::Stopped => Ok(Outcome::Stopped),
    }
}

pub(crate) fn outcome_out(outcome: Outcome) -> i32 {
    i32::from(match outcome {
        Outcome::Complete => proto::Outcome::Complete,
        Outcome::Partial => proto::Outcome::Partial,
        Outcome::Failed => proto::Outcome::Failed,
        Outcome::Stopped => proto::Outcome::Stopped,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_node_of_the_version_before_does_not_say_stays_unsaid() {
        let counts = counts_in(proto::Progress {
            own: Some(proto::Side::default()),
            ..proto::Progress::default()
        });
        assert_eq!((counts.listed, counts.own), (None, Side::default()));
    }

    #[test]
    fn what_is_said_of_names_arrives_as_it_is() {
        let id = AttemptId {
            transfer: "tr_1".parse().expect("an id"),
            attempt: 1,
        };
        let own = Side {
            deleted: 3,
            looked_at: 7,
            durable_steps: 2,
            device_written_bytes: Some(6),
            socket_memory: Some(SocketMemory {
                rises: Rises {
                    prune_called: Some(4),
                    ..Rises::default()
                },
                limits: Limits {
                    tcp_mem_pages: vec![1, 2, 3],
                    group_limit_bytes: Some(5),
                    group_setting: "memory.max".to_owned(),
                    ..Limits::default()
                },
            }),
            stages: StageTimes {
                delete_us: 5,
                ..StageTimes::default()
            },
            ..Side::default()
        };
        for listed in [None, Some(false), Some(true)] {
            let own = own.clone();
            let said = ProgressCounts {
                listed,
                bytes_whole: listed.map(u64::from),
                own,
                ..ProgressCounts::default()
            };
            assert_eq!(counts_in(progress_out(&id, said.clone())), said);
        }
    }

    #[test]
    fn what_is_free_arrives_as_it_is_within_limits() {
        let space = |name: &str, free_bytes| RootSpace {
            name: name.to_owned(),
            free_bytes,
            total_bytes: free_bytes,
        };
        let said = vec![space("data", 3), space("other", 0)];
        assert_eq!(spaces_in(spaces_out(said.clone())), Ok(said));
        let most = spaces_in(spaces_out(vec![space("data", u64::MAX)]));
        assert_eq!(most, Ok(vec![space("data", MAX_COUNT)]));
        let many = vec![space("data", 1); proto::MAX_ROOTS + 1];
        for refused in [many, vec![space("da\nta", 1)]] {
            let code = spaces_in(spaces_out(refused)).expect_err("refused").code;
            assert_eq!(code, "protocol_violation");
        }
    }

    #[test]
    fn a_setting_that_has_other_than_three_figures_is_none() {
        for figures in [0, 1, 4, 1000] {
            let told = proto::SocketMemory {
                tcp_mem_pages: vec![7; figures],
                ..proto::SocketMemory::default()
            };
            assert_eq!(socket_memory_in(told), SocketMemory::default());
        }
    }

    #[test]
    fn progress_never_counts_more_than_can_be_kept() {
        let most = u64::MAX;
        let said = proto::Progress {
            files_total: most,
            files_done: most,
            files_failed: most,
            bytes_total: most,
            bytes_received: most,
            bytes_durable: most,
            bytes_whole: Some(most),
            resent_bytes: most,
            rate_bps: most,
            own: Some(proto::Side {
                flows: vec![
                    proto::Flow {
                        rtt_us: most,
                        congestion_control: "\u{1b}[31m".to_owned(),
                        ..proto::Flow::default()
                    };
                    1000
                ],
                stages: Some(proto::StageTimes {
                    send_us: most,
                    ..proto::StageTimes::default()
                }),
                deleted: most,
                looked_at: most,
                durable_steps: most,
                device_written_bytes: Some(most),
                socket_memory: Some(proto::SocketMemory {
                    receive_queue_drops: Some(most),
                    tcp_mem_pages: vec![most; 3],
                    group_limit_bytes: Some(most),
                    group_setting: "\u{1b}[31m".to_owned(),
                    ..proto::SocketMemory::default()
                }),
            }),
            ..proto::Progress::default()
        };
        let ProgressCounts {
            files_total,
            files_done,
            files_failed,
            bytes_total,
            bytes_received,
            bytes_durable,
            bytes_whole,
            resent_bytes,
            rate_bps,
            own,
            ..
        } = counts_in(said);
        let files = [files_total, files_done, files_failed];
        let bytes = [bytes_total, bytes_received, bytes_durable, resent_bytes];
        let names = [own.deleted, own.looked_at, own.durable_steps];
        let kept = |count: &u64| i64::try_from(*count).is_ok();
        assert!(
            files
                .iter()
                .chain(&bytes)
                .chain(&names)
                .chain(&[rate_bps])
                .chain(&bytes_whole)
                .all(kept)
        );
        let memory = own.socket_memory.expect("it was told");
        let told = [
            memory.rises.receive_queue_drops,
            memory.limits.group_limit_bytes,
        ];
        assert!(
            memory
                .limits
                .tcp_mem_pages
                .iter()
                .chain(told.iter().flatten())
                .all(kept)
        );
        assert_eq!(
            (
                memory.limits.group_setting.as_str(),
                memory.rises.prune_called
            ),
            ("", None)
        );
        assert!(own.device_written_bytes.as_ref().is_some_and(kept));
        assert_eq!(own.flows.len(), usize::from(MAX_STREAMS));
        assert!(kept(&own.flows[0].rtt_us) && kept(&own.stages.send_us));
        assert_eq!(own.flows[0].congestion_control, "");
    }
}
