//! The calls that nodes make, and the life of a node's stream.

use std::sync::Arc;
use std::time::Duration;

use headrace_core::sealed::{MAX_CLOCK_SKEW_MS, PublicKey};
use headrace_core::ticket::Part;
use tokio::io::AsyncReadExt as _;
use tokio::sync::mpsc;
use tokio::time::timeout;
use tokio_stream::wrappers::ReceiverStream;
use tonic::{Request, Response, Status, Streaming};

use super::link::{Link, Reach};
use super::records::Record;
use super::{HubEvent, Shared, results, survey};
use crate::convert::{
    AttemptId, attempt_in, missing_in, progress_in, roots_in, short_text, spaces_in, violation,
};
use crate::problem::{ControlCode, Problem};
use crate::proto::control_server::Control;
use crate::proto::{
    Chunk, Empty, FinishPart, FromNode, Hello, JoinReply, JoinRequest, List, ListRequest,
    ListingPart, MAX_ADDRESSES, MAX_ATTEMPTS, ToNode, VERSIONS, Versions, Welcome, finish_part,
    from_node, to_node,
};
use crate::transport::Peer;

const HELLO_TIMEOUT: Duration = Duration::from_secs(10);
/// Messages that wait to be sent to one node.
const OUT_MESSAGES: usize = 64;
/// Chunks of a list that wait to be sent.
const OUT_CHUNKS: usize = 4;

/// The service as tonic sees it.
#[derive(Clone)]
pub(super) struct Server(pub(super) Arc<Shared>);

#[tonic::async_trait]
impl Control for Server {
    type AttachStream = ReceiverStream<Result<ToNode, Status>>;
    type FetchListStream = ReceiverStream<Result<Chunk, Status>>;

    async fn join(&self, request: Request<JoinRequest>) -> Result<Response<JoinReply>, Status> {
        let Peer { key: node, from } = other_end(&request)?;
        let JoinRequest {
            secret,
            name,
            version,
            roots,
            versions,
        } = request.into_inner();
        let (secret, name, version) =
            (short_text(secret)?, short_text(name)?, short_text(version)?);
        common_version(versions)
            .inspect_err(|problem| self.0.refused(Some(node), from, problem))?;
        let roots = roots_in(roots)?;
        let authority = self.0.ask_join(node, secret, name, version, roots).await?;
        Ok(Response::new(JoinReply { authority }))
    }

    async fn attach(
        &self,
        request: Request<Streaming<FromNode>>,
    ) -> Result<Response<Self::AttachStream>, Status> {
        let peer = other_end(&request)?;
        let (out, stream) = mpsc::channel(OUT_MESSAGES);
        tokio::spawn(Arc::clone(&self.0).serve_node(peer, request.into_inner(), out));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn send_listing(
        &self,
        request: Request<Streaming<ListingPart>>,
    ) -> Result<Response<Empty>, Status> {
        let node = peer(&request)?;
        let link = self.0.link(node)?;
        let mut parts = request.into_inner();
        let mut listing = None;
        while let Ok(Some(part)) = timeout(survey::PART_TIMEOUT, parts.message())
            .await
            .map_err(|_| late())?
        {
            let listing = match &mut listing {
                Some(listing) => listing,
                None => listing.insert(
                    link.take_listing(part.call)
                        .ok_or_else(|| violation("an unasked listing"))?,
                ),
            };
            if listing.send(part).await.is_err() {
                // Nobody merges it any more.
                break;
            }
        }
        Ok(Response::new(Empty {}))
    }

    async fn fetch_list(
        &self,
        request: Request<ListRequest>,
    ) -> Result<Response<Self::FetchListStream>, Status> {
        let node = peer(&request)?;
        self.0.enrolled(node)?;
        let ListRequest { attempt, list } = request.into_inner();
        let id = attempt_in(attempt)?;
        let name = match List::try_from(list).map_err(violation)? {
            List::Overwrites => survey::OVERWRITES,
            List::Deletes => survey::DELETES,
            List::Unspecified => return Err(violation("an unnamed list").into()),
        };
        let known = self
            .0
            .records(move |records| records.get(&id.transfer).cloned())
            .await?;
        // The lists are the destination's: they name what is there.
        let gets = |record: &Record| {
            let part = record.part(node);
            let receives = part.is_some_and(|part| part != Part::Source);
            record.attempt == id.attempt && !record.over && receives
        };
        let record = known.filter(gets);
        let path = record.ok_or_else(|| unknown(node))?.lists_dir.join(name);
        let file = tokio::fs::File::open(&path)
            .await
            .map_err(|error| Problem::state("read", &path, &error))?;
        let (out, stream) = mpsc::channel(OUT_CHUNKS);
        tokio::spawn(send_file(file, out));
        Ok(Response::new(ReceiverStream::new(stream)))
    }

    async fn finish(
        &self,
        request: Request<Streaming<FinishPart>>,
    ) -> Result<Response<Empty>, Status> {
        let node = peer(&request)?;
        self.0.enrolled(node)?;
        let mut parts = request.into_inner();
        let first = timeout(HELLO_TIMEOUT, parts.message())
            .await
            .map_err(|_| late())??;
        let Some(finish_part::Part::Ended(ended)) = first.and_then(|part| part.part) else {
            return Err(violation("an end without a beginning").into());
        };
        let id = attempt_in(ended.attempt.clone())?;
        let transfer = id.transfer.clone();
        let known = self
            .0
            .records(move |records| records.get(&transfer).cloned())
            .await?;
        let Some(record) = known.filter(|record| record.attempt == id.attempt && !record.over)
        else {
            tracing::info!(%node, transfer = %id.transfer, attempt = id.attempt, "a node ended an attempt that is over here");
            return Ok(Response::new(Empty {}));
        };
        let part = record.part(node).ok_or_else(|| unknown(node))?;
        if !record.ended(part) {
            let end = results::receive(&record, node, part, ended, &mut parts).await?;
            self.0.ended(&id, end).await?;
        }
        Ok(Response::new(Empty {}))
    }
}

impl Shared {
    /// Lives as long as the node's stream.
    async fn serve_node(
        self: Arc<Self>,
        peer: Peer,
        mut messages: Streaming<FromNode>,
        out: mpsc::Sender<Result<ToNode, Status>>,
    ) {
        let node = peer.key;
        let first = timeout(HELLO_TIMEOUT, messages.message()).await;
        let Ok(Ok(Some(FromNode {
            message: Some(from_node::Message::Hello(hello)),
            ..
        }))) = first
        else {
            return;
        };
        // Looked up before the node can be given anything new.
        let expected = self.expected_of(node).await;
        let (link, welcome, event, attempts) = match self.admit(peer, hello, &out) {
            Ok(admitted) => admitted,
            Err(problem) => {
                self.refused(Some(node), peer.from, &problem);
                let goodbye = to_node::Message::Goodbye(problem.into());
                let _ = out
                    .send(Ok(ToNode {
                        call: 0,
                        message: Some(goodbye),
                    }))
                    .await;
                return;
            }
        };
        if link.tell(to_node::Message::Welcome(welcome)).await.is_ok() {
            tracing::info!(%node, "node attached");
            self.events.push(event).await;
            self.tell_links(&link).await;
            let why = tokio::select! {
                why = Arc::clone(&self).read_node(&link, messages, expected, attempts) => why,
                why = link.closed() => why.to_string(),
            };
            link.over();
            if self.remove_link(&link) {
                tracing::info!(%node, "node detached: {why}");
                self.events
                    .push(HubEvent::NodeDetached { node, reason: why })
                    .await;
            }
        } else {
            link.over();
            self.remove_link(&link);
        }
    }

    /// Checks a hello and registers the stream.
    #[allow(clippy::type_complexity, reason = "taken apart at the only caller")]
    fn admit(
        &self,
        Peer { key: node, from }: Peer,
        hello: Hello,
        out: &mpsc::Sender<Result<ToNode, Status>>,
    ) -> Result<(Arc<Link>, Welcome, HubEvent, Vec<AttemptId>), Problem> {
        self.enrolled(node)?;
        let features = hello.versions.unwrap_or_default().features;
        let version = common_version(hello.versions)?;
        let now = (self.clock)();
        let skew = hello.clock_unix_ms.saturating_sub(now.unix_ms());
        if skew.saturating_abs() > MAX_CLOCK_SKEW_MS {
            let message = format!(
                "the clocks of node {node} and of the service differ by {} s, at most {} s are allowed: set both by NTP",
                skew / 1000,
                MAX_CLOCK_SKEW_MS / 1000
            );
            return Err(Problem::new(ControlCode::ClockSkew, message));
        }
        if hello.attempts.len() > MAX_ATTEMPTS {
            return Err(violation("too many attempts"));
        }
        let attempts = hello
            .attempts
            .iter()
            .cloned()
            .map(|attempt| attempt_in(Some(attempt)))
            .collect::<Result<_, _>>()?;
        let event = attached(node, hello, skew)?;
        let HubEvent::NodeAttached { data_addresses, .. } = &event else {
            return Err(violation("no addresses"));
        };
        let reach = Reach {
            addresses: data_addresses.clone(),
        };
        let link = Arc::new(Link::new(
            (node, from, features),
            reach,
            (event.clone(), skew),
            out.clone(),
        ));
        self.add_link(&link)?;
        let (successions, hub_succession) = self.announced.lock().clone();
        let welcome = Welcome {
            version,
            features: VERSIONS.features,
            clock_unix_ms: now.unix_ms(),
            successions,
            hub_succession: match self.keys.succession(now) {
                Some(_) => hub_succession,
                None => String::new(),
            },
        };
        Ok((link, welcome, event, attempts))
    }

    /// Reads what a node says until its stream ends; gives the reason.
    async fn read_node(
        self: Arc<Self>,
        link: &Arc<Link>,
        mut messages: Streaming<FromNode>,
        expected: Vec<(Part, Record)>,
        attempts: Vec<AttemptId>,
    ) -> String {
        // Beside the loop, because it waits for answers that the loop reads.
        tokio::spawn(Arc::clone(&self).reconcile(Arc::clone(link), expected, attempts));
        loop {
            let message = match messages.message().await {
                Ok(Some(message)) => message,
                Ok(None) => return "the node closed its connection".to_owned(),
                Err(status) => return format!("the connection broke: {}", status.message()),
            };
            if let Err(problem) = self.take_message(link, message).await {
                return problem.to_string();
            }
        }
    }

    async fn take_message(&self, link: &Link, message: FromNode) -> Result<(), Problem> {
        match message.message {
            Some(from_node::Message::Progress(progress)) => {
                let (id, counts) = progress_in(progress)?;
                self.events.progress(link.node, id, counts);
            }
            Some(from_node::Message::Changed(hello)) => {
                let skew = hello.clock_unix_ms.saturating_sub((self.clock)().unix_ms());
                let event = attached(link.node, hello, skew)?;
                if let HubEvent::NodeAttached { data_addresses, .. } = &event {
                    link.set_reach(Reach {
                        addresses: data_addresses.clone(),
                    });
                }
                link.announce(event.clone(), skew);
                self.events.push(event).await;
            }
            Some(from_node::Message::ClockUnixMs(node_ms)) => {
                let skew = node_ms.saturating_sub((self.clock)().unix_ms());
                if let Some(event) = link.clock(skew) {
                    tracing::info!(node = %link.node, skew_ms = skew, "the clock of a node has changed against ours");
                    self.events.push(event).await;
                }
            }
            Some(from_node::Message::Spaces(spaces)) => {
                let spaces = spaces_in(spaces)?;
                link.measured(&spaces);
                self.events.space(link.node, spaces);
            }
            Some(from_node::Message::Goodbye(problem)) => {
                let problem = link.said(problem);
                self.refused(Some(link.node), link.from, &problem);
                return Err(problem);
            }
            Some(_) => link.answered(message)?,
            // A message of a later version: not for us.
            None => {}
        }
        Ok(())
    }
}

fn attached(node: PublicKey, hello: Hello, clock_skew_ms: i64) -> Result<HubEvent, Problem> {
    if hello.data_addresses.len() > MAX_ADDRESSES {
        return Err(violation("too many addresses"));
    }
    Ok(HubEvent::NodeAttached {
        node,
        version: short_text(hello.version)?,
        roots: roots_in(hello.roots)?,
        missing_roots: missing_in(hello.missing_roots)?,
        data_addresses: hello
            .data_addresses
            .into_iter()
            .map(short_text)
            .collect::<Result<_, _>>()?,
        clock_skew_ms,
    })
}

/// The highest version both sides speak.
fn common_version(versions: Option<Versions>) -> Result<u32, Problem> {
    let Versions {
        lowest, highest, ..
    } = versions.unwrap_or_default();
    let version = highest.min(VERSIONS.highest);
    if version < lowest.max(VERSIONS.lowest) {
        let message = format!(
            "the node speaks versions {lowest} to {highest} of the control protocol, the service {} to {}: bring both to \
             neighbouring releases",
            VERSIONS.lowest, VERSIONS.highest
        );
        return Err(Problem::new(ControlCode::VersionUnsupported, message));
    }
    Ok(version)
}

async fn send_file(mut file: tokio::fs::File, out: mpsc::Sender<Result<Chunk, Status>>) {
    loop {
        let mut bytes = vec![0; crate::proto::CHUNK_BYTES];
        let chunk = match file.read(&mut bytes).await {
            Ok(0) => return,
            Ok(length) => {
                bytes.truncate(length);
                Ok(Chunk {
                    bytes: bytes.into(),
                })
            }
            Err(error) => Err(Status::internal(error.to_string())),
        };
        if out.send(chunk).await.is_err() {
            return;
        }
    }
}

fn peer<T>(request: &Request<T>) -> Result<PublicKey, Status> {
    other_end(request).map(|peer| peer.key)
}

fn other_end<T>(request: &Request<T>) -> Result<Peer, Status> {
    let peer = request.extensions().get::<Peer>().copied();
    peer.ok_or_else(|| Status::unauthenticated("the connection shows no key"))
}

fn late() -> Problem {
    Problem::new(
        ControlCode::NodeTimeout,
        "a message of the node came too late",
    )
}

fn unknown(node: PublicKey) -> Problem {
    Problem::new(
        ControlCode::AttemptUnknown,
        format!("node {node} has no part in this attempt"),
    )
}

#[cfg(test)]
mod tests {
    use std::time::SystemTime;

    use headrace_core::sealed::SigningKey;
    use headrace_core::value::{Digest, Timestamp};

    use super::*;
    use crate::hub::{Hub, HubOptions};
    use crate::proto::control_client::ControlClient;

    fn key(seed: u8) -> PublicKey {
        SigningKey::from_seed(&[seed; 32]).public()
    }

    /// What a node that asks for the list of overwrites gets: its bytes, or the code of the refusal.
    async fn list_for(hub: &Hub, node: PublicKey) -> String {
        let (theirs, ours) = tokio::io::duplex(64 << 10);
        hub.adopt(Box::new(theirs), node).await.expect("open");
        let wire = crate::transport::channel(Box::new(ours)).await;
        let mut client = ControlClient::new(wire.expect("a channel"));
        let id = AttemptId {
            transfer: "tr_1".parse().expect("an id"),
            attempt: 2,
        };
        let request = ListRequest {
            attempt: Some((&id).into()),
            list: List::Overwrites.into(),
        };
        let mut chunks = match client.fetch_list(request).await {
            Ok(chunks) => chunks.into_inner(),
            Err(status) => return Problem::from(status).code.into_owned(),
        };
        let mut bytes = Vec::new();
        while let Some(chunk) = chunks.message().await.expect("whole") {
            bytes.extend_from_slice(&chunk.bytes);
        }
        String::from_utf8(bytes).expect("text")
    }

    #[tokio::test]
    async fn a_list_is_for_the_enrolled_destination_of_the_running_attempt() {
        let folder = tempfile::tempdir().expect("a folder");
        let options = HubOptions {
            state_dir: folder.path().join("hub"),
            listen: None,
            max_nodes: 8,
            enrolled: std::collections::HashSet::new(),
            clock: crate::transport::system_clock(),
        };
        let hub = Hub::start(options).await.expect("a hub");
        let (source, destination, other) = (key(1), key(2), key(3));
        for node in [source, destination, other] {
            hub.enroll(node);
        }
        std::fs::write(folder.path().join(survey::OVERWRITES), "names").expect("a list");
        let record = Record {
            transfer: "tr_1".parse().expect("an id"),
            attempt: 2,
            ticket: String::new(),
            plan_digest: Digest([9; 32]),
            source,
            destination,
            expires: Timestamp::from(SystemTime::now()).plus_ms(900_000),
            lists_dir: folder.path().to_owned(),
            result_dir: folder.path().to_owned(),
            ends: vec![],
            stop: None,
            over: false,
            first_end: None,
        };
        let running = record.clone();
        let begun = hub.shared.records(move |records| records.begin(running));
        begun.await.expect("no panic").expect("begun");
        assert_eq!(list_for(&hub, destination).await, "names");
        assert_eq!(list_for(&hub, source).await, "attempt_unknown");
        assert_eq!(list_for(&hub, other).await, "attempt_unknown");

        hub.shared.refuse(destination);
        assert_eq!(list_for(&hub, destination).await, "not_enrolled");

        hub.enroll(destination);
        assert_eq!(list_for(&hub, destination).await, "names");
        let over = |records: &mut crate::hub::records::Records| {
            records.change(&"tr_1".parse().expect("an id"), |record| record.over = true)
        };
        let over = hub.shared.records(over).await;
        assert!(over.expect("no panic").expect("written").is_some());
        assert_eq!(list_for(&hub, destination).await, "attempt_unknown");
    }
}
